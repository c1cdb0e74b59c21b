"""What the page of the workspace shows: the newest snapshot of each series, runs, and open questions."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import DatasetError, InvalidInput
from airflow_provider_connect_offsets.report.pages.positions import SeenPosition, left_to_read, seen_positions
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS
from airflow_provider_connect_offsets.workspace.series import SnapshotSeries, read_record
from airflow_provider_connect_offsets.workspace.snapshots import SERIES, SnapshotDirectory, SnapshotRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SeenConnector:
    """A connector as a snapshot found it.

    Attributes:
        name: its name
        family: its family
        state: its state
        tasks: number of its tasks
        failed: number of its tasks that have failed
        partitions: number of its source partitions with an offset
        lag: offsets up to the log ends, of partitions whose logs were observed; None if none was
    """

    name: str
    family: str
    state: str
    tasks: int
    failed: int
    partitions: int
    lag: int | None


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """The newest snapshot of a series.

    Attributes:
        dag_id: the DAG that takes the series
        name: the connection that it is taken by, and the pattern of its connectors if it has not all
        series: the directory of the series, in the DAG's own
        uri: the snapshot
        record: what is in it
        connectors: its connectors; failed ones first, then those that lag most
    """

    dag_id: str
    name: str
    series: str
    uri: str
    record: SnapshotRecord
    connectors: tuple[SeenConnector, ...]

    @property
    def failed(self) -> int:
        """How many connectors have failed, or have a task that has."""
        return sum(_has_failed(one) for one in self.connectors)


@dataclass(frozen=True, slots=True)
class SeenRun:
    """A run of a DAG that has used the workspace.

    Attributes:
        dag_id: its DAG
        run_id: its id
        state: its state in Airflow
        started_at: when it started; None: not yet
        url: its address in Airflow
        report: address of its report; None if it has none
    """

    dag_id: str
    run_id: str
    state: str
    started_at: datetime | None
    url: str
    report: str | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A question that nobody has answered.

    Attributes:
        dag_id: the DAG
        subject: the question
        asked_at: when it was asked
        approvers: who may answer; empty: everyone who may edit the run
        url: where it is answered
    """

    dag_id: str
    subject: str
    asked_at: datetime
    approvers: tuple[str, ...]
    url: str


def dags_of(workspace: str, dag_ids: Collection[str]) -> list[str]:
    """Return which of these DAGs have a directory in a workspace, in order; the workspace is listed once."""
    present = set(files.list_names(workspace))
    return sorted(dag_id for dag_id in dag_ids if unique_segment(dag_id) in present)


def seen_clusters(workspace: str, dag_id: str) -> Iterator[SeenCluster]:
    """Yield the newest snapshot of each series that a DAG keeps; one that can't be read is left out, and logged."""
    root = join(workspace, unique_segment(dag_id), SERIES)
    for series in files.list_names(root):
        uri = SnapshotSeries(join(root, series)).find_newest()
        if uri is None:
            continue
        try:
            snapshot = SnapshotDirectory(uri)
            record = read_record(snapshot)
            shown = series.removeprefix(f"{unique_segment(record.connect_cluster)}-")
            yield SeenCluster(dag_id, shown, series, uri, record, tuple(_connectors(snapshot, record)))
        except (DatasetError, InvalidInput):  # pruned since, or damaged: the others are shown all the same
            log.warning("The snapshot %s is not shown.", uri, exc_info=True)


def find_series(workspace: str, dag_id: str, series: str) -> SnapshotSeries | None:
    """Return a series that a DAG keeps; None if it keeps none of that name."""
    root = join(workspace, unique_segment(dag_id), SERIES)
    return SnapshotSeries(join(root, series)) if series in files.list_names(root) else None


def _connectors(snapshot: SnapshotDirectory, record: SnapshotRecord) -> list[SeenConnector]:
    positions = seen_positions(snapshot, record)
    seen = [_connector(row, positions[row["connector"]]) for row in read_dataset(snapshot.connectors, CONNECTORS)]
    return sorted(seen, key=lambda one: (not _has_failed(one), -(one.lag or 0), one.name))


def _connector(row: Mapping[str, Any], positions: Collection[SeenPosition]) -> SeenConnector:
    states = [task["state"] for task in json.loads(row["tasks"])]
    return SeenConnector(
        name=row["connector"],
        family=row["family"],
        state=row["state"],
        tasks=len(states),
        failed=states.count("FAILED"),
        partitions=sum(one.offset is not None for one in positions),
        lag=left_to_read(positions),
    )


def _has_failed(one: SeenConnector) -> bool:
    return one.state == "FAILED" or one.failed > 0
