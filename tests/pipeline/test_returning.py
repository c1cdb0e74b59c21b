"""Positions of a replica that are placed in its source, against histories of which all is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

import pytest
from frames import frame_of
from hypothesis import given
from mirror_frames import digests_of, partitions_of, syncs_of
from mirror_history import AT_ONCE, SEEDS, SOME, Ending, History, Kind, history
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.pipeline.returning import MARGIN, returned, worth_reading


@dataclass(frozen=True)
class Home:
    """What is answered for one position of a replica."""

    history: History
    position: int
    place: int
    exact: bool
    max_rereads: int
    method: str

    @property
    def is_true(self) -> bool:
        """Whether nothing is passed, and no more is read again than it says."""
        again = self.history.read_again_at_home(self.position, self.place)
        bound = 0 if self.exact else self.max_rereads
        return not self.history.lost_at_home(self.position, self.place) and again <= bound

    def told(self) -> str:
        told = f"{self.place}, {self.exact}, {self.max_rereads}, {self.method}"
        return f"{self.position} -> {told} in {self.history}"


def made_up(seed: int, *, kinds: Sequence[Kind] = tuple(Kind)) -> list[History]:
    """Histories that end with all replicated, or stopped before that."""
    random = Random(seed)
    endings = (Ending.DRAINED, Ending.STOPPED)
    return [history(random, ending=random.choice(endings), kind=random.choice(kinds)) for _ in range(AT_ONCE)]


def asked_of(spark: SparkSession, made: Sequence[History]) -> DataFrame:
    """Every position of every replica."""
    rows = [(str(number), 0, place) for number, one in enumerate(made) for place in range(len(one.replica) + 1)]
    return frame_of(spark, rows, "topic string, kafka_partition int, position long")


def answered(
    spark: SparkSession, made: Sequence[History], partitions: DataFrame, digests: DataFrame | None
) -> Iterator[Home]:
    """Every position that has an answer."""
    found = returned(asked_of(spark, made), partitions, syncs=syncs_of(spark, made), digests=digests)
    for row in found.collect():
        if row["downstream"] is not None:
            told = (row["downstream"], row["exact"], row["max_rereads"], row["method"])
            yield Home(made[int(row["topic"])], row["position"], *told)


def shortest(wrong: Iterable[Home]) -> str:
    """The simplest of those that are wrong."""
    return min((answer.told() for answer in wrong), key=len, default="")


def plain(found: Iterable[Home]) -> list[Home]:
    """Those of histories without gaps, in which all records can be told apart."""
    return [one for one in found if one.history.kind is Kind.PLAIN and one.history.same > one.history.end]


@given(seed=SEEDS)
@SOME
def test_with_all_records_read(spark: SparkSession, seed: int) -> None:
    """Gaps of any kind on either side, restarts, rewinds and equal records: exact is true, the rest within bounds."""
    made = made_up(seed)
    everywhere = dict.fromkeys(range(AT_ONCE), 0)

    found = list(
        answered(spark, made, partitions_of(spark, made, everywhere), digests_of(spark, made, everywhere, everywhere))
    )

    assert not shortest(one for one in found if not one.is_true)
    assert len(found) == sum(len(one.replica) + 1 for one in made)
    assert sum(one.exact for one in plain(found)) > 0.97 * len(plain(found))


@given(seed=SEEDS)
@SOME
def test_by_pairs_alone(spark: SparkSession, seed: int) -> None:
    """Nothing was read: exact is true where no gap can hide, and most positions have an answer."""
    made = made_up(seed)

    found = list(answered(spark, made, partitions_of(spark, made), None))

    assert not shortest(one for one in found if not one.is_true)
    assert {one.method for one in found} == {"bracket", "sync", "end"}
    assert sum(one.exact for one in plain(found)) > 0.5 * len(plain(found))


@given(seed=SEEDS)
@SOME
def test_with_the_records_read_that_are_worth_it(spark: SparkSession, seed: int) -> None:
    """As a run reads them: the end of the replica, and of the source what may stand there."""
    made = made_up(seed)
    random = Random(seed)
    partitions, syncs = partitions_of(spark, made), syncs_of(spark, made)
    lowest = [(str(number), 0, random.randint(0, len(one.replica)) + MARGIN) for number, one in enumerate(made)]
    asked = frame_of(spark, lowest, "topic string, kafka_partition int, position long")
    rows = worth_reading(asked, partitions, syncs=syncs, compared=1000).collect()
    target_from: Mapping[int, int] = {int(row["topic"]): row["target_from"] for row in rows}
    # Not between two equal records, which nobody could tell apart then.
    source_from = {int(row["topic"]): row["source_from"] // 5 * 5 for row in rows}

    found = list(
        answered(
            spark, made, partitions_of(spark, made, target_from), digests_of(spark, made, source_from, target_from)
        )
    )

    assert not shortest(one for one in found if not one.is_true)
    assert {one.method for one in found} == {"bracket", "record", "sync", "end"}


@pytest.mark.parametrize("read", [True, False])
def test_a_record_that_was_replicated_before_a_rewind_is_not_read_again(spark: SparkSession, read: bool) -> None:  # noqa: FBT001
    """0 to 9, then 5 to 9 once more: who stands in the second copy has read all ten."""
    one = History(Kind.PLAIN, list(range(12)), 12, ending=Ending.STOPPED)
    one.replica = one.written = [*range(10), *range(5, 10)]
    one.syncs = [(0, 0), (9, 9), (5, 10)]
    one.stored = 9
    places = {0: 0} if read else {}
    digests = digests_of(spark, [one], places, places) if read else None

    found = {
        home.position: (home.place, home.exact)
        for home in answered(spark, [one], partitions_of(spark, [one], places), digests)
    }

    assert found == {**{place: (place, True) for place in range(11)}, **dict.fromkeys(range(11, 16), (10, True))}
