"""Snapshots of a Connect cluster made up for a test, and the job that compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline.snapshots import changes_job
from airflow_provider_connect_offsets.pipeline.snapshots.changes import OffsetChange
from airflow_provider_connect_offsets.report import SnapshotChanges
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.files import write_json
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
    OFFSET_CHANGES,
    VERDICTS,
)
from airflow_provider_connect_offsets.workspace.snapshots import (
    FORMAT,
    ComparisonDirectory,
    KeptSnapshot,
    SnapshotDirectory,
    SnapshotRecord,
    series_root,
)

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
SINK = "sink"


class At(NamedTuple):
    """A sink's position in the partition of that number of topic ``orders``; None: nothing is stored."""

    partition: int
    position: int | None
    connector: str = SINK


@dataclass(frozen=True)
class Taken:
    """A snapshot: positions, and the log ends of partitions 0, 1 and so on."""

    offsets: Sequence[At]
    ends: Sequence[int] = ()
    states: Mapping[str, str] = field(default_factory=lambda: {SINK: "RUNNING"})
    unread: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)
    at: datetime = NOW
    connections: Mapping[str, str] = field(default_factory=dict)

    def write(self, path: Path) -> str:
        directory = SnapshotDirectory(path.as_uri())
        write_dataset(directory.connectors, CONNECTORS, (connector_row(*one) for one in self.states.items()))
        rows = [*(_sink_row(at) for at in self.offsets), *(_file_row(*one) for one in self.files.items())]
        write_dataset(directory.connector_offsets, CONNECTOR_OFFSETS, rows)
        bounds = ({"kafka_cluster": "k:9092", "topic": "orders", "log_start": 0} for _ in self.ends)
        numbered = ({**row, "kafka_partition": n, "log_end": self.ends[n]} for n, row in enumerate(bounds))
        write_dataset(directory.log_bounds, LOG_BOUNDS, numbered)
        record = SnapshotRecord(
            format=FORMAT,
            observed_at=self.at,
            connect_cluster="c",
            run="dag/run",
            connectors=len(self.states),
            offsets=len(rows),
            unread=self.unread,
            logs={"sink": "k:9092"},
            unread_logs={},
            connections=self.connections,
        )
        write_json(directory.record, record.as_json())
        return directory.uri


def keep_snapshot(workspace: str, dag_id: str, taken: Taken, *, at: str = "2026-01-31T120000.000000Z") -> str:
    """Keep a snapshot in a DAG's only series; returns its URI."""
    root = series_root(workspace, dag_id=dag_id, cluster="c", connect_conn_id="kafka_connect_default", connectors=".*")
    path = Path(f"{root}/{at}".removeprefix("file://"))
    path.mkdir(parents=True)
    return taken.write(path)


def connector_row(name: str, state: str) -> dict[str, Any]:
    """A row of the dataset ``connectors``, of a sink."""
    fixed = {"connect_cluster": "c", "connector_type": "sink", "connector_class": "S", "family": "sink"}
    return {**fixed, "connector": name, "state": state, "tasks": "[]", "config": "{}", "observed_at": NOW}


def _sink_row(at: At) -> dict[str, Any]:
    return {
        "connect_cluster": "c",
        "connector_type": "sink",
        "family": "sink",
        "origin": "rest",
        "observed_at": NOW,
        "connector": at.connector,
        "partition": canonical_json({"kafka_topic": "orders", "kafka_partition": at.partition}),
        "offset": None if at.position is None else canonical_json({"kafka_offset": at.position}),
        "topic": "orders",
        "kafka_partition": at.partition,
        "position": at.position,
    }


def _file_row(name: str, position: int) -> dict[str, Any]:
    fixed = {"connect_cluster": "c", "connector_type": "source", "family": "file_stream_source", "origin": "rest"}
    offset = canonical_json({"position": position})
    return {**fixed, "connector": name, "partition": '{"filename":"a"}', "offset": offset, "observed_at": NOW}


class Comparison:
    """Runs the job on two snapshots made up for a test."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path
        self.directory = ComparisonDirectory((path / "run").as_uri())
        self.summary: dict[str, Any] = {}

    def run(self, earlier: Taken | None, later: Taken, *, max_jump: int = 0, fail_on: str = "") -> None:
        previous = None if earlier is None else earlier.write(self.path / "earlier")
        kept = KeptSnapshot(self.path.as_uri(), later.write(self.path / "later"), previous)
        request = SnapshotRequest.parse(connectors="", max_jump=max_jump, fail_on=fail_on)
        write_json(self.directory.request, request.as_json())
        write_json(self.directory.kept, kept.as_json())
        self.summary = changes_job.run(self.spark, self.directory)

    @property
    def changes(self) -> dict[int | str, str]:
        """Change by partition of topic ``orders``, or by connector."""
        return {_key(row): row["change"] for row in self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        return read_dataset(self.directory.offset_changes, OFFSET_CHANGES)

    @property
    def verdicts(self) -> list[tuple[str, str, str]]:
        rows = read_dataset(self.directory.verdicts, VERDICTS)
        return sorted((row["rule"], row["severity"], row["message"]) for row in rows)

    @property
    def found(self) -> set[str]:
        return {rule for rule, _, _ in self.verdicts}


def _key(row: Mapping[str, Any]) -> int | str:
    return str(row["connector"]) if row["kafka_partition"] is None else int(row["kafka_partition"])


def at(*positions: int | None) -> list[At]:
    return [At(number, position) for number, position in enumerate(positions)]


def changes_report(path: Path, *, name: str = SINK, number: int = 1) -> str:
    """The report of a comparison with a finding of each severity, for a connector of that name."""
    directory = ComparisonDirectory(path.as_uri())
    message = f"`{name}`, orders-0: moved back from position {number:,} to 0: {number:,} records are delivered again."
    found = [
        {"rule": rule, "severity": severity, "message": message, "times": number}
        for rule, severity in (("moved_back", "error"), ("stuck", "warning"), ("appeared", "info"))
    ]
    line = {"connector": name, "family": "file_stream_source", "state": None, "odd": 1, "moved_partitions": number}
    summary = {
        "request": SnapshotRequest(connectors=name).as_json(),
        **KeptSnapshot(path.as_uri(), f"{path.as_uri()}/{name}", f"{path.as_uri()}/before-{name}").as_json(),
        "observed_at": NOW.isoformat(),
        "previous_at": NOW.isoformat(),
        "connectors": number,
        "unread": number,
        "partitions": number,
        "lag": number,
        "changes": {change.value: number for change in OffsetChange},
        "verdicts": {severity.value: number for severity in Severity},
        "found": found,
        "worst": found[0],
        "connector_lines": [{**line, "partitions": number, "moved": -number, "lag": number}],
    }
    write_json(directory.summary, summary)
    return SnapshotChanges.read(directory).write()
