"""One limit of records for all partitions, and the positions whose records are read."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.failover.worth_reading import choose_nearest
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN
from tests.support.rows.frames import frame_of

_RANGES = (
    "topic string, kafka_partition int, target_topic string, forward boolean, read_as string, "
    "read_from long, read_end long, other_from long, other_end long, begins long"
)
_POSITIONS = "read_as string, kafka_partition int, upstream long, downstream long, is_open boolean"
START, END, SHIFT = 1_000, 11_000, 50
Chosen = tuple[int | None, int | None, int | None, bool, bool]


def chosen(
    spark: SparkSession,
    total: int,
    *positions: list[int],
    compared: int = 10_000,
    read_from: int = START,
    begins: int | None = None,
) -> list[Chosen]:
    """The chosen beginnings of both logs, what is left out, and whether it is too much or too far; by partition.

    ``positions``: of each partition; a negative one is proved. The remote topic is the source, ``SHIFT`` further.
    """
    ranges = [
        ("t", one, "here.t", False, "t", read_from, END, read_from + SHIFT, END + SHIFT, begins)
        for one in range(len(positions))
    ]
    listed = [("t", number, abs(at), abs(at) + SHIFT, at > 0) for number, some in enumerate(positions) for at in some]
    found = choose_nearest(
        frame_of(spark, ranges, _RANGES), frame_of(spark, listed, _POSITIONS), compared=compared, total=total
    )
    return [
        (row["read_from"], row["other_from"], row["left_out"], row["beyond_total"], row["too_far"])
        for row in found.orderBy("kafka_partition").collect()
    ]


def needed(position: int) -> int:
    """Records of both logs that prove a position."""
    return 2 * (END - position + MARGIN)


def begin(position: int) -> tuple[int, int]:
    return position - MARGIN, position - MARGIN + SHIFT


@pytest.mark.parametrize(
    ("total", "read"),
    [
        (needed(9_000) + needed(8_000) + needed(5_000), [9_000, 8_000, 5_000]),
        (needed(9_000) + needed(8_000) + needed(5_000) - 1, [9_000, 8_000, None]),
        (needed(9_000) + needed(8_000) - 1, [9_000, None, None]),
        (needed(9_000) - 1, [None, None, None]),
        (0, [None, None, None]),
    ],
)
def test_nearest_to_the_end_first(spark: SparkSession, total: int, read: list[int | None]) -> None:
    """A position gets all of its records, or none: a part of them proves nothing."""
    expected = [
        (None, None, needed(at), True, False) if chosen_one is None else (*begin(at), 0, False, False)
        for at, chosen_one in zip([9_000, 8_000, 5_000], read, strict=True)
    ]

    assert chosen(spark, total, [9_000], [8_000], [5_000]) == expected


def test_a_group_that_nobody_uses_any_more_keeps_no_other_from_being_proved(spark: SparkSession) -> None:
    """Its position is the furthest of the partition; records are counted once for both."""
    total = needed(9_000) + needed(10_000)

    assert chosen(spark, total, [2_000, 9_000], [10_000]) == [
        (*begin(9_000), needed(2_000) - needed(9_000), True, False),
        (*begin(10_000), 0, False, False),
    ]
    assert chosen(spark, needed(2_000), [2_000, 9_000]) == [(*begin(2_000), 0, False, False)]


def test_positions_near_to_each_other_are_read_or_not(spark: SparkSession) -> None:
    """The log begins a little before them, so both need the same records."""
    assert chosen(spark, needed(START + MARGIN) - 1, [START + 10, START + 20])[0][:2] == (None, None)


def test_of_proved_positions_nothing_is_told(spark: SparkSession) -> None:
    """They are read to check them, if there is room."""
    assert chosen(spark, needed(9_000), [-9_000]) == [(*begin(9_000), 0, False, False)]
    assert chosen(spark, 0, [-9_000]) == [(None, None, needed(9_000), False, False)]


def test_positions_beyond_compared(spark: SparkSession) -> None:
    """The records of a range that was cut don't prove a position before it, so they are not read for it."""
    cut = {"compared": 1_000, "read_from": END - 1_000}

    assert chosen(spark, 10**6, [9_000], **cut) == [(None, None, None, False, True)]
    assert chosen(spark, 10**6, [9_000, 10_500], **cut) == [(*begin(10_500), 0, False, True)]


def test_a_log_that_retention_has_cut_is_read_from_its_beginning(spark: SparkSession) -> None:
    """A position before it is proved by what is left."""
    assert chosen(spark, 10**6, [500], compared=10_001) == [(START, START + SHIFT, 0, False, False)]


def test_where_something_is_uncertain_reading_begins_if_there_is_room(spark: SparkSession) -> None:
    """Else the records from the positions on are read, so that fewer records are read again."""
    uncertain = {"begins": 2_000, "read_from": 2_000 - MARGIN}

    assert chosen(spark, needed(2_000), [9_000, 9_500], **uncertain) == [(*begin(2_000), 0, False, False)]
    assert chosen(spark, needed(2_000) - 1, [9_000], **uncertain) == [
        (*begin(9_000), needed(2_000) - needed(9_000), True, False)
    ]
    assert chosen(spark, needed(9_000), [9_000], begins=9_500) == [(*begin(9_000), 0, False, False)]


def test_nothing_to_be_chosen(spark: SparkSession) -> None:
    """No partition, or none that the target has."""
    assert chosen(spark, 20) == []
