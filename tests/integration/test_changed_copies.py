"""Planned failovers of flows whose copies were changed once: by a converter, or by the remote topic's timestamps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import commit_groups

pytestmark = pytest.mark.mirror

JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
# Records of either kind; each copy has the offset of its original.
CHANGED, ALL = 100, 200


@pytest.fixture
def flowing(sandbox: Sandbox) -> Iterator[Flowing]:
    """A flow of one partition that writes its values as JSON."""
    flowing = Flowing.start(sandbox, partitions=1, overrides=JSON)
    yield flowing
    flowing.close()


def translated(moving: FailingOver, *positions: int, **requested: Any) -> dict[int, dict[str, Any]]:
    """The rows of groups at these positions."""
    flowing = moving.flowing
    where = TopicPartition(flowing.topic, 0)
    named = {f"{flowing.mark}-at-{position}": position for position in positions}
    commit_groups(flowing.sandbox.source, {name: {where: position} for name, position in named.items()})
    directory, _summary = moving.translate(**requested)
    return {named[row["group"]]: row for row in rows(directory) if row["group"] in named}


def assert_doubtful_up_to_the_change(found: dict[int, dict[str, Any]]) -> None:
    """Before the change nothing is exact or skipped, and both witnesses are named; behind it all is exact."""
    for position, row in found.items():
        if position < CHANGED:
            assert (row["exact"], row["missing"], row["action"]) == (False, None, "skip")
            assert "an offset sync and the records contradict each other" in row["reason"]
            assert row["downstream"] is None or row["downstream"] <= position
        else:
            assert (row["downstream"], row["exact"], row["action"]) == (position, True, "commit")


def test_a_converter_that_was_corrected(flowing: Flowing, spark: SparkSession, tmp_path: Path) -> None:
    """100 values went through JsonConverter, 100 more as they are."""
    flowing.produce(CHANGED)
    flowing.wait_until_replicated()
    connect, name = flowing.sandbox.connect, flowing.source_connector
    config = connect.config(name)
    del config["value.converter.schemas.enable"]
    connect.stop(name)  # else a task that still runs replicates more records as JSON
    connect.update_config(name, {**config, "value.converter": config["key.converter"]})
    connect.resume(name)
    flowing.produce(ALL - CHANGED)
    flowing.wait_until_replicated()

    found = translated(FailingOver(spark, tmp_path.as_uri(), flowing), 0, 30, 60, 99, 100, 150, 200, min_coverage=0)

    assert_doubtful_up_to_the_change(found)


def test_a_converter_that_still_changes_records(flowing: Flowing, spark: SparkSession, tmp_path: Path) -> None:
    """Offset syncs are believed, and nothing is exact but that a group has read all."""
    flowing.produce(CHANGED)
    flowing.wait_until_replicated()

    found = translated(FailingOver(spark, tmp_path.as_uri(), flowing), 0, 50, 100, min_coverage=0)

    assert all(row["downstream"] is not None and row["downstream"] <= position for position, row in found.items())
    assert not any(row["exact"] for position, row in found.items() if position < CHANGED)


def test_a_remote_topic_that_set_timestamps_itself_at_first(
    sandbox: Sandbox, spark: SparkSession, tmp_path: Path
) -> None:
    """The topic has LogAppendTime for its first 100 records, and CreateTime for the others."""
    kind = "message.timestamp.type"
    flowing = Flowing.start(sandbox, partitions=1, remote_config={kind: "LogAppendTime"})
    try:
        flowing.produce(CHANGED)
        flowing.wait_until_replicated()
        sandbox.target.set_topic_config(flowing.target_topic, kind, "CreateTime")
        flowing.produce(ALL - CHANGED)
        flowing.wait_until_replicated()

        found = translated(FailingOver(spark, tmp_path.as_uri(), flowing), 0, 50, 99, 100, 150, 200, min_coverage=0)
    finally:
        flowing.close()

    assert_doubtful_up_to_the_change(found)
