"""Positions without an offset mapping: the preview leaves them to records that are read after the stop."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.pipeline.failover.failover import FURTHER
from airflow_provider_connect_offsets.pipeline.failover.worth_reading import count_to_be_found
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from tests.support.model.mirror_answered import answered
from tests.support.model.mirror_events import history
from tests.support.model.mirror_rows import ReadFrom, read_from
from tests.support.model.mirror_world import Ending
from tests.support.rows.written_failover import write_observation

HISTORIES = 100


@pytest.mark.parametrize(("limit", "found"), [({}, 1), ({"compared": 20}, 0)])
def test_whether_a_group_is_already_there(
    spark: SparkSession, tmp_path: Path, limit: dict[str, Any], found: int
) -> None:
    """It is at 10 on the target. As 20 records were copied twice, syncs only say 1 or more: 10 may be right."""
    directory = FailoverDirectory(tmp_path.as_uri())
    write_observation(directory, kept=((1, 0, 0),), again=20, groups=[("moved", 1, 10, 10)], **limit)

    summary = translate_job.run(spark, directory)

    assert (summary["covered"], summary["to_be_found"]["partitions"]) == (0, found)
    assert (summary["errors"] == []) is bool(found)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, 1),
        ({"target_before": 61}, 0),
        ({"reason": "it has members on the target: stop them first"}, 0),
        ({"by_records": None}, 0),
        ({"begins": 0}, 0),
        ({"read_from": 21}, 0),
        ({"other_from": 6}, 0),
    ],
)
def test_a_group_may_be_home_already(spark: SparkSession, changed: dict[str, Any], found: int) -> None:
    """In a failback: the position 20 of the remote topic is at home between 5 and 60, and 7 is the group's own offset.

    Not if no record can show it: that is too high, or some records that may be copies are not read.
    """
    row = {
        "source_topic": "home.orders",
        "kafka_partition": 0,
        "upstream": 20,
        "downstream": 5,
        "upper": None,
        "max_rereads": 55,
        "target_before": 7,
        "reason": f"{FURTHER}7, at most 2 records further",
        "by_records": False,
    }
    read = {"read_as": "home.orders", "kafka_partition": 0, "forward": True, "begins": None}
    read |= {"read_from": 10, "other_from": 0}
    uncovered = spark.createDataFrame(
        [{name: changed.get(name, value) for name, value in row.items()}],
        "source_topic string, kafka_partition int, upstream long, downstream long, upper long, max_rereads long, "
        "target_before long, reason string, by_records boolean",
    )
    ranges = spark.createDataFrame(
        [{name: changed.get(name, value) for name, value in read.items()}],
        "read_as string, kafka_partition int, forward boolean, begins long, read_from long, other_from long",
    )
    partitions = spark.createDataFrame([], "topic string, kafka_partition int, target_start long, target_end long")

    counts = count_to_be_found(uncovered, partitions, ranges)

    assert counts == {"partitions": found, "max_rereads": 55 * found}


def test_records_tell_each_of_them(spark: SparkSession) -> None:
    """Reading the whole remote topic is enough, whatever happened, and whatever came before the lowest position."""
    random = Random(5)
    endings = [Ending.DRAINED, Ending.STOPPED]
    worlds = [history(random, ending=random.choice(endings)) for _ in range(HISTORIES)]
    there = [world for world in worlds if not world.absent]
    begin = {id(world): read_from(world, ReadFrom.REMOTE)[0] for world in there}

    by_mappings = answered(spark, there, ReadFrom.NONE)
    by_records = answered(spark, there, ReadFrom.REMOTE)

    requested = [one for one in by_records if one.position >= (begin[id(one.world)] or 0)]
    assert any(one.lower is None for one in by_mappings)
    assert {one.lower is None for one in requested} == {False}
