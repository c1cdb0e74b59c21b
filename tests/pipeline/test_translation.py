"""Translated positions, against histories of which all is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from frames import frame_of
from hypothesis import given
from mirror_frames import asked_of, digests_of, no_checkpoints, partitions_of, syncs_of
from mirror_history import AT_ONCE, SEEDS, SOME, Ending, History, Kind, history
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.pipeline.brackets import known_pairs, overtaken, placed, stretches
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translation import answers
from airflow_provider_connect_offsets.workspace.schemas import KEPT_PAIRS


@dataclass(frozen=True)
class Answer:
    """What is answered for one position."""

    history: History
    position: int
    downstream: int
    exact: bool
    max_rereads: int
    method: str

    @property
    def is_true(self) -> bool:
        if self.exact:
            return self.history.is_exact(self.position, self.downstream)
        again = self.history.read_again(self.position, self.downstream)
        return not self.history.lost(self.position, self.downstream) and again <= self.max_rereads

    def told(self) -> str:
        told = f"{self.downstream}, {self.exact}, {self.max_rereads}, {self.method}"
        return f"{self.position} -> {told} in {self.history}"


def answered(
    spark: SparkSession, made: Sequence[History], partitions: DataFrame, digests: DataFrame | None
) -> Iterator[Answer]:
    """Every position of every history that has an answer."""
    found = answers(
        asked_of(spark, made),
        partitions,
        syncs=syncs_of(spark, made),
        checkpoints=no_checkpoints(spark),
        digests=digests,
    )
    for row in found.collect():
        if row["downstream"] is not None:
            told = (row["downstream"], row["exact"], row["max_rereads"], row["method"])
            yield Answer(made[int(row["topic"])], row["position"], *told)


def shortest(wrong: Iterable[Answer]) -> str:
    """The simplest of those that are wrong."""
    return min((answer.told() for answer in wrong), key=len, default="")


@given(seed=SEEDS)
@SOME
def test_with_all_records_read(spark: SparkSession, seed: int) -> None:
    """Gaps of any kind on either side, restarts, rewinds and equal records: exact is true, the rest within bounds."""
    random = Random(seed)
    made = [history(random, ending=Ending.DRAINED, kind=random.choice(list(Kind))) for _ in range(AT_ONCE)]
    everywhere = dict.fromkeys(range(AT_ONCE), 0)

    found = list(
        answered(spark, made, partitions_of(spark, made, everywhere), digests_of(spark, made, everywhere, everywhere))
    )

    assert not shortest(one for one in found if not one.is_true)
    assert len(found) == sum(one.end + 1 for one in made)
    told_apart = [one for one in found if one.history.kind is Kind.PLAIN and one.history.same > one.history.end]
    assert sum(one.exact for one in told_apart) > 0.97 * len(told_apart)


@given(seed=SEEDS)
@SOME
def test_with_some_records_read(spark: SparkSession, seed: int) -> None:
    """The same where only the end of a log was read, or nothing; gaps that are not seen anywhere are left out here."""
    random = Random(seed)
    made = [history(random, ending=Ending.DRAINED, kind=random.choice(list(Kind))) for _ in range(AT_ONCE)]
    # Not between two equal records, which nobody could tell apart then.
    source_from = {number: random.randint(0, one.end // 5) * 5 for number, one in enumerate(made)}
    partitions = partitions_of(spark, made)
    pairs = stretches(overtaken(known_pairs(syncs_of(spark, made), partitions), partitions))
    asked = asked_of(spark, made)
    target_from = {
        int(row["topic"]): row["lowest"]
        for row in placed(asked, pairs, no_checkpoints(spark)).collect()
        if row["lowest"] is not None and source_from.get(int(row["topic"])) == row["position"]
    }
    source_from = {number: source_from[number] for number in target_from}

    found = list(
        answered(
            spark, made, partitions_of(spark, made, target_from), digests_of(spark, made, source_from, target_from)
        )
    )

    assert not shortest(one for one in found if not one.is_true)
    assert {one.method for one in found} == {"bracket", "record", "sync", "end"}


@given(seed=SEEDS)
@SOME
def test_where_replication_broke_off(spark: SparkSession, seed: int) -> None:
    """Nothing that the replica has is missed."""
    random = Random(seed)
    made = [history(random, ending=Ending.BROKEN, kind=Kind.PLAIN) for _ in range(AT_ONCE)]

    found = list(answered(spark, made, partitions_of(spark, made), None))

    assert not shortest(one for one in found if not one.is_true)


def test_pairs_that_a_reset_has_kept(spark: SparkSession) -> None:
    """0 to 99, then 50 to 119 once more: the syncs of the first copy went with the reset, what it has kept is there."""
    replica = [*range(100), *range(50, 120)]
    one = History(Kind.PLAIN, list(range(120)), 120, list(replica), [(50, 100), (119, 169)], stored=119)
    partitions = partitions_of(spark, [one])
    kept = frame_of(spark, [("0", 0, 99, 99), ("0", 0, 50, 100)], struct_type(KEPT_PAIRS))
    told = {
        name: {
            row["position"]: (row["downstream"], row["exact"])
            for row in answers(
                asked_of(spark, [one]),
                partitions,
                syncs=syncs_of(spark, [one]),
                checkpoints=no_checkpoints(spark),
                kept=pairs,
            ).collect()
        }
        for name, pairs in {"kept": kept, "forgotten": None}.items()
    }

    assert told["kept"] == {at: (at if at < 50 else at + 50, True) for at in range(121)}
    assert {at: place for at, place in told["forgotten"].items() if at >= 50} == {
        at: (at + 50, True) for at in range(50, 121)
    }
    assert not any(told["forgotten"][at][1] for at in range(2, 50))
