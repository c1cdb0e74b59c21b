"""Directories of kept snapshots of a Connect cluster, and of a run that compares two; standard library only.

An attribute without a comment is the URI of the dataset of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.values import ALL
from airflow_provider_connect_offsets.workspace.layout import Directory, MemberPath
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

#: Version of the layout and meaning of a kept snapshot. Raise it if readers of the earlier one would be wrong.
FORMAT = 1
#: Directory of all series of a DAG, in the DAG's own.
SERIES = "_snapshots"


@dataclass(frozen=True, slots=True)
class SnapshotDirectory(Directory):
    """Directory of one kept snapshot, which is complete once it has ``snapshot.json``."""

    #: A :class:`SnapshotRecord` (JSON), written last and removed first.
    record = MemberPath("snapshot.json")
    connectors = MemberPath()
    connector_offsets = MemberPath()
    log_bounds = MemberPath()


@dataclass(frozen=True, slots=True)
class ComparisonDirectory(Directory):
    """Directory of a run that takes a snapshot and compares it with the one before."""

    #: Which snapshots: a :class:`KeptSnapshot` (JSON).
    kept = MemberPath("kept.json")
    offset_changes = MemberPath()
    verdicts = MemberPath()


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRecord(JsonRecord):
    """What is in a kept snapshot.

    Attributes:
        format: Version of the layout, :data:`FORMAT` when it was written.
        observed_at: When the connectors were listed.
        connect_cluster: Id of the Kafka cluster that the workers use.
        run: The run that took it, ``dag_id/run_id``.
        connectors: Number of connectors.
        offsets: Number of rows of dataset ``connector_offsets``.
        vanished: Connectors that were deleted while they were read; none of their offsets is in the snapshot.
        unread: Connector → why its offsets could not be read; none of them is in the snapshot.
        logs: Family → id of the Kafka cluster that its positions refer to, as in dataset ``log_bounds``.
        unread_logs: Brokers of a Kafka cluster → why its logs could not be read.
        connections: Name → value of the parameters by which the Connect cluster was reached; empty if an earlier
            version took it.
    """

    format: int
    observed_at: datetime
    connect_cluster: str
    run: str
    connectors: int
    offsets: int
    vanished: tuple[str, ...] = ()
    unread: Mapping[str, str]
    logs: Mapping[str, str]
    unread_logs: Mapping[str, str]
    connections: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptSnapshot(JsonRecord):
    """Where a run keeps its snapshot.

    Attributes:
        series: URI of the series of snapshots that it belongs to.
        uri: URI of the snapshot.
        previous: URI of the snapshot before; None if it is the first.
    """

    series: str
    uri: str
    previous: str | None = None


def series_root(workspace: str, *, dag_id: str, cluster: str, connect_conn_id: str, connectors: str) -> str:
    """Return the directory of a series of snapshots, which are compared with each other and pruned together.

    Args:
        workspace: URI of the workspace.
        dag_id: Id of the DAG that takes them.
        cluster: Id of the Kafka cluster that the workers use.
        connect_conn_id: Airflow connection of the Connect cluster; one Kafka cluster may serve several of them.
        connectors: Pattern of the connectors that are in them.
    """
    name = "-".join([cluster, connect_conn_id, *([] if connectors == ALL else [connectors])])
    return join(workspace, unique_segment(dag_id), SERIES, unique_segment(name))
