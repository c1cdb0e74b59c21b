"""Writes a snapshot of all connectors of a Connect cluster, with many requests at once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorOverview, OffsetStore
from airflow_provider_connect_offsets.exceptions import (
    ConnectOffsetsError,
    NotReady,
    StoreError,
    UnknownConnector,
    Unreachable,
)
from airflow_provider_connect_offsets.observe.clients import Logs, Origin, Reading
from airflow_provider_connect_offsets.observe.many_offsets import Reader, read_many
from airflow_provider_connect_offsets.observe.partitions import partitions_of
from airflow_provider_connect_offsets.observe.snapshot import (
    ObservedConnector,
    bounds_rows,
    connector_row,
    offset_rows,
    stored_topics,
)
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS, LOG_BOUNDS
from airflow_provider_connect_offsets.workspace.snapshots import FORMAT, SnapshotDirectory, SnapshotRecord

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotClients:
    """Clients of the Connect cluster of a snapshot, and of the Kafka clusters that its positions refer to.

    Attributes:
        control: The control over the connectors.
        offsets: The store of the offsets.
        logs: Family → the cluster that its positions refer to; for other families no log is read.
        cluster: Name of the Connect cluster, for the datasets.
        origin: Which store is read.
        connections: Name → value of the parameters by which the Connect cluster is reached.
    """

    control: ConnectorControl
    offsets: OffsetStore
    logs: Mapping[str, Logs]
    cluster: str
    origin: Origin
    connections: Mapping[str, str] = field(default_factory=dict)


def take_cluster_snapshot(
    names: Sequence[str], clients: SnapshotClients, directory: SnapshotDirectory, *, run: str
) -> SnapshotRecord:
    """Write the datasets ``connectors``, ``connector_offsets`` and ``log_bounds``, then the record; change nothing.

    A connector that is deleted meanwhile, or whose offsets can't be read, is left out, and the record names it. Log
    ends are read after the offsets, so that a position is never beyond an end that was read too early.

    Args:
        names: The connectors.
        clients: Clients of their clusters.
        directory: Where the snapshot is kept.
        run: The run, ``dag_id/run_id``.

    Raises:
        StoreError: No worker answers, or no connector could be read.
    """
    observed_at = datetime.now(tz=UTC)
    read = dict(_read_all(names, clients))
    observed = [one for one in read.values() if isinstance(one, ObservedConnector)]
    vanished = tuple(name for name, one in read.items() if isinstance(one, UnknownConnector))
    unread = {name: one for name, one in read.items() if isinstance(one, Exception) and name not in vanished}
    if unread and not observed:
        raise next(iter(unread.values()))
    logs = _read_logs(observed, clients.logs)
    write_dataset(
        directory.connectors, CONNECTORS, [connector_row(one, clients.cluster, observed_at) for one in observed]
    )
    rows = [row for one in observed for row in offset_rows(one, clients.cluster, clients.origin, observed_at)]
    write_dataset(directory.connector_offsets, CONNECTOR_OFFSETS, rows)
    write_dataset(directory.log_bounds, LOG_BOUNDS, logs.rows)
    record = SnapshotRecord(
        format=FORMAT,
        observed_at=observed_at,
        connect_cluster=clients.cluster,
        run=run,
        connectors=len(observed),
        offsets=len(rows),
        vanished=vanished,
        unread={name: str(error) for name, error in unread.items()},
        logs=logs.clusters,
        unread_logs=logs.unread,
        connections=clients.connections,
    )
    files.write_json(directory.record, record.as_json())
    return record


def _read_all(
    names: Sequence[str], clients: SnapshotClients
) -> Iterator[tuple[str, ObservedConnector | ConnectOffsetsError]]:
    """Yield each connector as read, or why it could not be read; raises :class:`Unreachable` if no worker answers."""
    listed = _list_connectors(names, clients.control)

    def observe(name: str, read: Reader) -> ObservedConnector | ConnectOffsetsError:
        one = listed[name]
        if isinstance(one, ConnectOffsetsError):
            return one
        return _or_why(lambda: ObservedConnector(one.info, one.status, read(name)))

    return read_many(clients.offsets, names, observe)


def _list_connectors(
    names: Sequence[str], control: ConnectorControl
) -> dict[str, ConnectorOverview | ConnectOffsetsError]:
    """Return type, configuration and state of each connector, or why they can't be read."""
    listed = control.overview()
    # Connect silently leaves out a connector that has no state yet.
    return {name: listed[name] if name in listed else _or_why(partial(_overview, control, name)) for name in names}


def _overview(control: ConnectorControl, name: str) -> ConnectorOverview:
    return ConnectorOverview(control.info(name), control.status(name))


def _or_why(read: Callable[[], Reading]) -> Reading | ConnectOffsetsError:
    try:
        return read()
    except ConnectOffsetsError as error:
        if isinstance(error, Unreachable) and not isinstance(error, NotReady):
            raise  # no other connector can be read then
        return error


@dataclass(frozen=True, slots=True)
class _ReadLogs:
    """Rows of dataset ``log_bounds``, each family's cluster id, and errors of brokers whose logs could not be read."""

    rows: list[dict[str, Any]]
    clusters: dict[str, str]
    unread: dict[str, str]


def _read_logs(observed: Iterable[ObservedConnector], logs: Mapping[str, Logs]) -> _ReadLogs:
    """Read the log ends of all topics with a position.

    If a log can't be read, the snapshot is written without its log end: the positions matter more.
    """
    read = _ReadLogs([], {}, {})
    by_cluster: dict[str, Logs] = {}
    for family, client in logs.items():
        with _unless_unread(client, read):
            read.clusters[family] = client.cluster_id()
            by_cluster.setdefault(read.clusters[family], client)
    topics: dict[str, set[str]] = {cluster: set() for cluster in by_cluster}
    for one in observed:
        if (cluster := read.clusters.get(one.info.family.name)) is not None:
            topics[cluster] |= stored_topics(one)
    for cluster, client in by_cluster.items():
        with _unless_unread(client, read):
            counts = client.topics()
            bounds = client.bounds(partitions_of(counts, sorted(topics[cluster])))
            read.rows.extend(bounds_rows(bounds, cluster))
            client.refuse_hidden(topics[cluster] - counts.keys())
    return read


@contextmanager
def _unless_unread(client: Logs, read: _ReadLogs) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        log.warning("%s The snapshot has positions in these logs, but not the log ends.", error)
        read.unread[client.servers] = str(error)
