"""The plan of a replay: which partitions are replayed, where the others start, and what may be gone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.operations.connector.plans import read_replay
from airflow_provider_connect_offsets.pipeline import replay_job
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import write_json
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, REPLAY_PLAN, REPLAY_RANGES, VERDICTS
from tests.support.programs.submitting import Cluster, assert_same_on_cluster
from tests.support.rows.snapshots import connector_row

HOUR_MS = 3_600_000


class Planning:
    """Plans replays of the day that ended an hour ago."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self.run = spark, ReplayDirectory(folder.as_uri())

    def plan(self, *ranges: dict[str, Any], partial: bool = False) -> dict[str, Any]:
        """Write the ranges, whose other columns have defaults, and plan."""
        now = datetime.now(tz=UTC)
        begins, ends = now - timedelta(hours=25), now - timedelta(hours=1)
        request = ReplayRequest.parse(
            connector="orders",
            run="dag/run",
            begins=begins.isoformat(),
            ends=ends.isoformat(),
            partial=partial,
            now=now,
        )
        write_json(self.run.request, request.as_json())
        write_dataset(self.run.connectors, CONNECTORS, [connector_row("orders", "RUNNING")])
        write_dataset(self.run.replay_ranges, REPLAY_RANGES, [_range(request, **one) for one in ranges])
        return replay_job.run(self._spark, self.run)

    def rows(self) -> set[tuple[str, int, str, int, int]]:
        rows = read_dataset(self.run.replay_plan, REPLAY_PLAN)
        return {(row["topic"], row["kafka_partition"], row["action"], row["begins"], row["ends"]) for row in rows}

    def verdicts(self) -> list[tuple[str, str]]:
        return sorted((row["rule"], row["severity"]) for row in read_dataset(self.run.verdicts, VERDICTS))


def _range(request: ReplayRequest, **given: Any) -> dict[str, Any]:
    number = given.get("kafka_partition", 0)
    return {
        "kafka_cluster": "kafka:9092",
        "connector": "orders",
        "clone": request.clone,
        "family": "sink",
        "partition": f'{{"kafka_partition":{number},"kafka_topic":"{given.get("topic", "orders")}"}}',
        "topic": "orders",
        "kafka_partition": 0,
        "log_start": 0,
        "log_end": 100,
        "begins": 10,
        "ends": 20,
        "first_record": 10,
        "retention_ms": 7 * 24 * HOUR_MS,
        "expiring_offset": 0,
        **given,
    }


@pytest.fixture
def planning(spark: SparkSession, tmp_path: Path) -> Planning:
    return Planning(spark, tmp_path)


def test_only_partitions_with_records_in_the_interval_are_replayed(planning: Planning) -> None:
    """Others of the same topic start at the log end; other topics are left out. The digest is that of the rows."""
    summary = planning.plan(
        {},
        {"kafka_partition": 1, "begins": 30, "ends": 30, "first_record": None},
        {"kafka_partition": 2, "first_record": 20},  # from 10 to 20 are only transaction markers
        {"topic": "others", "begins": 5, "ends": 5, "first_record": None},
    )

    assert planning.rows() == {
        ("orders", 0, "replay", 10, 20),
        ("orders", 1, "at_end", 100, 100),
        ("orders", 2, "at_end", 100, 100),
        ("others", 0, "leave_out", 100, 100),
    }
    assert planning.verdicts() == []
    assert (summary["partitions"], summary["left_out"], summary["offsets"]) == (1, 3, 10)
    assert read_replay(planning.run, digest=summary["digest"]).digest == summary["digest"]


@pytest.mark.parametrize(("partial", "severity"), [(False, "error"), (True, "warning")])
def test_an_interval_whose_start_may_be_gone_is_refused(planning: Planning, *, partial: bool, severity: str) -> None:
    """Or delivered in part, if that is allowed."""
    planning.plan({"log_start": 10}, partial=partial)

    assert planning.verdicts() == [("interval_start_gone", severity)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"log_start": 9}, []),  # an older record is left
        ({"log_start": 0, "begins": 0, "first_record": 0}, []),  # the log's first
        # An empty log: what was deleted by age is older than an interval that is younger than retention.ms.
        ({"log_start": 100, "begins": 100, "ends": 100, "first_record": None}, []),
        (
            {"log_start": 100, "begins": 100, "ends": 100, "first_record": None, "retention_ms": HOUR_MS},
            [("interval_start_gone", "error")],
        ),
        ({"expiring_offset": 11}, [("expiring", "warning")]),
        ({"expiring_offset": None, "retention_ms": None}, []),
    ],
)
def test_retention_is_judged_by_what_the_log_still_has(
    planning: Planning, given: dict[str, Any], found: list[tuple[str, str]]
) -> None:
    """A record before the interval proves that nothing of the interval was deleted."""
    planning.plan(given)

    assert planning.verdicts() == found


@pytest.mark.cluster
def test_on_a_cluster(planning: Planning, tmp_path: Path, cluster: Cluster) -> None:
    """The datasets are those that one machine gives."""
    planning.plan({}, {"kafka_partition": 1, "begins": 30, "ends": 30, "first_record": None})

    assert_same_on_cluster("replay", tmp_path, cluster)
