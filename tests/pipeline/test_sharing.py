"""One limit of records for all partitions, and the share of each."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.failover.worth_reading import shared_out
from tests.support.rows.frames import frame_of

_RANGES = "topic string, kafka_partition int, source_from long, target_from long"
_ENDS = "topic string, kafka_partition int, source_end long, target_end long"


def shared(spark: SparkSession, total: int, *lengths: tuple[int, int | None]) -> dict[int, tuple[int, int, int]]:
    """Share so many records out among partitions of these lengths (source, target; None: it lacks the partition).

    Both logs begin to be worth reading at 1,000. Gives by partition how much is read of either log, and left out.
    """
    ranges = [("t", number, 1000, None if target is None else 1000) for number, (_, target) in enumerate(lengths)]
    ends = [
        ("t", number, 1000 + source, None if target is None else 1000 + target)
        for number, (source, target) in enumerate(lengths)
    ]
    found = shared_out(frame_of(spark, ranges, _RANGES), frame_of(spark, ends, _ENDS), total=total).collect()
    assert len(found) == len(lengths)
    read_of = {}
    for row in found:
        source, target = lengths[row["kafka_partition"]]
        read = 0 if target is None else 1000 + target - row["target_from"]
        read_of[row["kafka_partition"]] = (1000 + source - row["source_from"], read, row["left_out"])
    return read_of


@pytest.mark.parametrize(
    ("total", "read"),
    [
        (1000, [(10, 10, 0), (40, 40, 0), (100, 200, 0)]),
        (400, [(10, 10, 0), (40, 40, 0), (100, 200, 0)]),
        (220, [(10, 10, 0), (40, 40, 0), (40, 80, 180)]),
        (100, [(10, 10, 0), (20, 20, 40), (13, 26, 261)]),
        (30, [(5, 5, 10), (5, 5, 70), (3, 6, 291)]),
        (0, [(0, 0, 20), (0, 0, 80), (0, 0, 300)]),
    ],
)
def test_each_gets_as_much_as_it_needs_or_as_the_others_leave(
    spark: SparkSession, total: int, read: list[tuple[int, int, int]]
) -> None:
    """Each gets some before any gets much, the same share of both logs; and never more than all of them may."""
    found = shared(spark, total, (10, 10), (40, 40), (100, 200))

    assert [found[number] for number in range(3)] == read
    assert sum(source + target for source, target, _ in found.values()) <= total


def test_a_partition_that_the_target_lacks_takes_nothing(spark: SparkSession) -> None:
    """Nothing is read of it."""
    assert shared(spark, 20, (500, None), (10, 10))[1] == (10, 10, 0)


def test_nothing_to_be_shared(spark: SparkSession) -> None:
    """No partition, or none with anything worth reading."""
    assert shared(spark, 20) == {}
    assert shared(spark, 20, (0, 0)) == {0: (0, 0, 0)}
