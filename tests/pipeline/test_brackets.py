"""Places in a replica that pairs of offsets prove, against histories of which all is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import given
from mirror_frames import asked_of, no_checkpoints, partitions_of, syncs_of
from mirror_history import AT_ONCE, SEEDS, SOME, Ending, History, Kind, history
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.brackets import known_pairs, overtaken, placed, stretches


@dataclass(frozen=True)
class Place:
    """What is told of one position."""

    history: History
    position: int
    lowest: int
    claimed: int | None
    highest: int | None

    @property
    def passed(self) -> set[int]:
        """Records that a consumer would miss."""
        missed = self.history.lost(self.position, self.lowest)
        return missed if self.claimed is None else missed | self.history.lost(self.position, self.claimed)

    def told(self) -> str:
        return f"{self.position} -> {self.lowest}, {self.claimed}, {self.highest} in {self.history}"


def places(spark: SparkSession, histories: Sequence[History]) -> Iterator[Place]:
    """Every position of every history of which something is told."""
    partitions = partitions_of(spark, histories)
    pairs = overtaken(known_pairs(syncs_of(spark, histories), partitions), partitions)
    for row in placed(asked_of(spark, histories), stretches(pairs), no_checkpoints(spark)).collect():
        if row["lowest"] is not None:
            yield Place(histories[int(row["topic"])], row["position"], row["lowest"], row["claimed"], row["highest"])


def shortest(wrong: Iterable[Place]) -> str:
    """The simplest of those that are wrong."""
    return min((place.told() for place in wrong), key=len, default="")


@given(seed=SEEDS)
@SOME
def test_no_position_is_passed(spark: SparkSession, seed: int) -> None:
    """Whatever happened: a consumer that begins at the lowest place misses no record that the replica has."""
    random = Random(seed)
    made = [history(random, ending=Ending.DRAINED, kind=random.choice(list(Kind))) for _ in range(AT_ONCE)]

    found = list(places(spark, made))

    assert not shortest(one for one in found if one.history.lost(one.position, one.lowest))
    assert len(found) > 0.5 * sum(one.end + 1 for one in made)


@given(seed=SEEDS)
@SOME
def test_what_is_claimed_is_so_where_there_are_no_gaps(spark: SparkSession, seed: int) -> None:
    """Restarts, rewinds and repetitions never make a claim false; re-reads stay within the bounds."""
    random = Random(seed)
    made = [history(random, ending=Ending.DRAINED, kind=Kind.PLAIN) for _ in range(AT_ONCE)]

    found = list(places(spark, made))

    claims = [(one, one.claimed) for one in found if one.claimed is not None]
    assert not shortest(one for one, claimed in claims if not one.history.is_exact(one.position, claimed))
    bounds = [(one, one.highest - one.lowest) for one in found if one.highest is not None]
    assert not shortest(one for one, bound in bounds if one.history.read_again(one.position, one.lowest) > bound)
    assert len(claims) > 0.6 * len(found)
    assert len(bounds) > 0.8 * len(found)


@given(seed=SEEDS)
@SOME
def test_no_position_is_passed_where_replication_broke_off(spark: SparkSession, seed: int) -> None:
    """The source is gone in the midst of anything."""
    random = Random(seed)
    made = [history(random, ending=Ending.BROKEN, kind=Kind.PLAIN) for _ in range(AT_ONCE)]

    found = list(places(spark, made))

    assert not shortest(one for one in found if one.passed)
    assert len(found) > 0.4 * sum(one.end + 1 for one in made)
