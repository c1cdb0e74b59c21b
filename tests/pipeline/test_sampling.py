"""Which claims are sampled to compare their records."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import DataFrame, SparkSession

from airflow_provider_connect_offsets.pipeline.failover.sampling import LIMIT, claims_of, claims_of_home, sampled_claims
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES, SAMPLED_CLAIMS
from tests.support.rows.frames import assert_same_rows, frame_of

COLUMNS = (
    "source_topic string, target_topic string, kafka_partition int, claimed long, downstream long, method string, "
    "by_records boolean"
)


def claims(spark: SparkSession, counts: dict[int, int]) -> DataFrame:
    """So many claims in each partition, two groups each, and as many rows that are no claims by brackets."""
    rows = [
        ("orders", "here.orders", number, at, None if method == "none" else at + 7, method, same)
        for number, count in counts.items()
        for at in range(count)
        for method, same in (("bracket", None), ("bracket", None), ("record", True), ("record", None), ("none", None))
    ]
    # In the midst of what was copied again, or behind all: no record is known to be there.
    nothing = [("orders", "here.orders", number, None, 7, "bracket", None) for number in counts]
    return frame_of(spark, [*rows, *nothing], COLUMNS)


def sample(rows: DataFrame, ranges: DataFrame | None = None, *, seed: str = "seed") -> DataFrame:
    return sampled_claims(claims_of(rows), ranges, seed=seed)


def expected(spark: SparkSession, *places: tuple[int, int]) -> DataFrame:
    """Claims of these partitions and source offsets."""
    rows = [("orders", "here.orders", number, at, at + 7) for number, at in places]
    return frame_of(spark, rows, struct_type(SAMPLED_CLAIMS))


def test_all_of_few(spark: SparkSession) -> None:
    """Each claim once, by brackets of the flow that is translated by."""
    assert_same_rows(sample(claims(spark, {0: 3, 4: 1})), expected(spark, (0, 0), (0, 1), (0, 2), (4, 0)))


def test_one_partition_cant_take_them_all(spark: SparkSession) -> None:
    """At most so many, and of the others as many as there are."""
    sampled = sample(claims(spark, {0: 1500, 1: 10, 2: 700})).collect()

    assert len(sampled) == LIMIT
    assert Counter(row["kafka_partition"] for row in sampled) == {0: 495, 1: 10, 2: 495}


def test_chance_decides_and_does_so_again(spark: SparkSession) -> None:
    """The same claims give the same sample, from all over the log; another seed gives another one."""
    rows = claims(spark, {0: 2000})
    repeated = ((2, "a"), (3, "a"), (2, "b"))
    first, again, other = (sample(rows.repartition(number), seed=seed).collect() for number, seed in repeated)

    assert first == again
    assert set(first) != set(other)
    assert sum(row["upstream"] < 1000 for row in first) == pytest.approx(LIMIT / 2, rel=0.2)


def test_what_will_be_read_anyway_is_not_picked(spark: SparkSession) -> None:
    """It takes both records; of a partition that won't be read, all are."""
    ranges = frame_of(spark, [("orders", "here.orders", 0, 3, 11, 0)], struct_type(COMPARE_RANGES))

    assert_same_rows(
        sample(claims(spark, {0: 6, 1: 2}), ranges), expected(spark, (0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1))
    )


def test_offsets_by_the_flow_from_home(spark: SparkSession) -> None:
    """They are claims of that flow, whose source is home."""
    rows = [
        ("here.orders", "orders", 0, at + 7, at, method, same)
        for at in range(2)
        for method, same in (("bracket", False), ("bracket", None), ("record", True), ("sync", False))
    ]
    again = ("here.orders", "orders", 0, None, 2, "bracket", False)  # in the midst of what was copied again

    sampled = sampled_claims(claims_of_home(frame_of(spark, [*rows, again], COLUMNS)), None, seed="seed")
    assert_same_rows(sampled, expected(spark, (0, 0), (0, 1)))
