"""What a reset changes besides offsets: topics, syncs, duplicates and checkpoints, on small frames."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.pipeline.flow import mirror_reset, mirror_reset_job
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import write_json
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
    STORED_RECORDS,
    VERDICTS,
)
from tests.support.programs.submitting import Cluster, assert_same_on_cluster
from tests.support.rows.frames import assert_same_rows, frame_of
from tests.support.rows.planning import Planner, mirror

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def text(content: str) -> bytes:
    raw = content.encode()
    return struct.pack(">h", len(raw)) + raw


def sync(topic: str, partition: int) -> tuple[bytes, bytes]:
    return text(topic) + struct.pack(">i", partition), struct.pack(">qq", 9, 9)


def checkpoint(group: str, topic: str, downstream: int) -> tuple[bytes, bytes]:
    key = text(group) + text(topic) + struct.pack(">i", 0)
    return key, struct.pack(">hqq", 0, 9, downstream) + text("")


def bounds(*logs: tuple[str, int, int, int]) -> list[dict[str, Any]]:
    names = ("topic", "kafka_partition", "log_start", "log_end")
    return [{"kafka_cluster": "k", **dict(zip(names, log, strict=True))} for log in logs]


def records(*pairs: tuple[bytes, bytes]) -> list[dict[str, Any]]:
    names = ("topic", "kafka_partition", "log_offset", "written_at", "key", "value")
    return [dict(zip(names, ("internal", 0, at, NOON, *pair), strict=True)) for at, pair in enumerate(pairs)]


@pytest.fixture
def written(tmp_path: Path) -> ResetDirectory:
    """A flow that replicates ``orders`` and ``events``; a reset of ``orders`` is requested.

    The remote topic of ``orders`` 1 holds fewer records than are replicated again, that of ``events`` was made anew.
    """
    run = ResetDirectory(tmp_path.as_uri())
    flow = mirror({("orders", 0): 100, ("orders", 1): 100, ("events", 0): 50}, topics="orders,events")
    request = Request.parse(connector="flow", to="earliest", topics="orders", now=NOON)
    reset = FlowReset(
        source_connector="flow", checkpoint_connector="check", checkpoints=False, flow=Flow(), sharing=("other",)
    )
    write_json(run.request, request.as_json())
    write_json(run.flow, reset.as_json())
    write_dataset(run.connectors, CONNECTORS, [flow.row()])
    write_dataset(run.connector_offsets, CONNECTOR_OFFSETS, flow.offset_rows())
    source = bounds(("orders", 0, 0, 120), ("orders", 1, 30, 100), ("events", 0, 0, 50), ("elsewhere", 0, 0, 9))
    write_dataset(run.log_bounds, LOG_BOUNDS, source)
    target = bounds(("source.orders", 0, 0, 200), ("source.orders", 1, 80, 100), ("source.events", 0, 0, 10))
    write_dataset(run.target_bounds, LOG_BOUNDS, target)
    syncs = [sync("orders", 0), sync("orders", 0), sync("events", 0), sync("elsewhere", 0), (b"?", b"?")]
    write_dataset(run.sync_records, STORED_RECORDS, records(*syncs))
    points = [
        checkpoint("a", "source.orders", 150),
        checkpoint("a", "source.events", 5),
        checkpoint("a", "source.events", 11),
        checkpoint("b", "source.gone", 500),
    ]
    write_dataset(run.checkpoint_records, STORED_RECORDS, records(*points))
    return run


def test_topic_by_topic(planner: Planner, written: ResetDirectory) -> None:
    """Records that come again, those of them that the remote topic has already, and whose syncs go."""
    summary = mirror_reset_job.run(planner.spark, written)

    found = {row.pop("topic"): tuple(row.values()) for row in read_dataset(written.reset_topics, RESET_TOPICS)}
    assert found == {
        "orders": ("reset", 2, 170, 120, 2, NOON),
        "events": ("kept", 0, 0, 0, 1, NOON),
        "elsewhere": ("foreign", 0, 0, 0, 1, NOON),
    }
    assert (summary["records_again"], summary["duplicates"], summary["syncs"]) == (170, 120, 4)
    assert (summary["checkpoints"], summary["stale_checkpoints"]) == (3, 1)
    assert summary["errors"] == []


def test_what_the_question_says(planner: Planner, written: ResetDirectory) -> None:
    """Whose syncs go besides those that are reset, who else works with them, and what old checkpoints do."""
    mirror_reset_job.run(planner.spark, written)

    messages = {row["rule"]: row["message"] for row in read_dataset(written.verdicts, VERDICTS)}
    assert "has 1 sync of 1 topic that this connector does not replicate: `elsewhere`." in messages["foreign_syncs"]
    assert "which also deletes 1 sync of 1 topic that are left alone: `events`." in messages["kept_syncs"]
    assert (
        "other connectors also use `mm2-offset-syncs.target.internal` and are not stopped: `other`."
        in (messages["shared_syncs"])
    )
    assert "`source.checkpoints.internal` has 1 checkpoint beyond the end" in messages["stale_checkpoints"]


def test_a_refused_plan_has_its_topics_too(planner: Planner, written: ResetDirectory) -> None:
    """A pattern that is none is an error, and the syncs are counted all the same."""
    request = Request.parse(connector="flow", to="earliest", now=NOON).as_json()
    write_json(written.request, {**request, "topics": "orders["})

    summary = mirror_reset_job.run(planner.spark, written)

    assert summary["verdicts"]["error"] == 1
    assert (summary["duplicates"], summary["syncs"]) == (0, 4)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"source.cluster.alias": "eu", "replication.policy.separator": "_"},
        {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"},
    ],
)
def test_replicas_are_called_as_the_flow_calls_them(spark: SparkSession, config: dict[str, str]) -> None:
    """Spark's expression gives the same remote topics as ``Flow.target_topic``."""
    flow, names = Flow.of(config), ["orders", "heartbeats", "a.heartbeats", "a_heartbeats", "x.y"]

    rows = frame_of(spark, [(name,) for name in names], "topic string")
    remote = rows.select("topic", mirror_reset.target_topic(F.col("topic"), flow).alias("remote"))

    expected = [(name, flow.target_topic(name)) for name in names]
    assert_same_rows(remote, frame_of(spark, expected, "topic string, remote string"))


@pytest.mark.cluster
def test_on_a_cluster(spark: SparkSession, written: ResetDirectory, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    mirror_reset_job.run(spark, written)

    assert_same_on_cluster("mirror-reset", tmp_path, cluster)
