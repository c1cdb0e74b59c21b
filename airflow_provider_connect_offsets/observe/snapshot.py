"""The snapshot that a plan is made from: request, connectors, their offsets, and the bounds of the logs."""

from __future__ import annotations

import difflib
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    InvalidDocument,
    InvalidRequest,
    StoreError,
    UnknownConnector,
    Unreachable,
    UnreadablePattern,
)
from airflow_provider_connect_offsets.observe.clients import Bounds, Clients, Logs, Origin, Retained
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.kept_config import kept_config
from airflow_provider_connect_offsets.offsets.requests.patterns import configured_pattern
from airflow_provider_connect_offsets.offsets.requests.request import Request, To
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS, LOG_BOUNDS

log = logging.getLogger(__name__)

#: How far ahead the snapshot looks for records that become older than ``retention.ms``: approval takes its time.
SOON = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was written, in numbers."""

    connector: str
    partitions: int
    observed_at: datetime


def take_snapshot(
    request: Request, clients: Clients, run: RunDirectory, *, cluster: str, also: Iterable[str] = ()
) -> Snapshot:
    """Write ``request.json`` and the datasets ``connectors``, ``connector_offsets`` and ``log_bounds``; change nothing.

    cluster: what the datasets call the Connect cluster; also: more connectors, for the record. Raises
    :class:`Unsupported` by a worker that is too old to apply any plan, :class:`UnknownConnector` with close names,
    :class:`InvalidRequest` where the offsets are positions and ``clients`` has no logs to look at, and store errors.
    """
    clients.control.require_offset_changes()
    names = [request.connector, *([request.reference] if request.to is To.CONNECTOR and request.reference else [])]
    seen = [observe_connector(clients, name) for name in dict.fromkeys([*names, *also])]
    observed_at = datetime.now(tz=UTC)
    files.write_json(run.request, request.as_json())
    write_dataset(run.connectors, CONNECTORS, [connector_row(one, cluster, observed_at) for one in seen])
    rows = [row for one in seen for row in offset_rows(one, cluster, clients.origin, observed_at)]
    write_dataset(run.connector_offsets, CONNECTOR_OFFSETS, rows)
    bounds = _bounds_of(request, seen[0], clients.logs) if seen[0].info.family.has_positions else {}
    servers = clients.logs.servers if clients.logs else ""
    retention = _retention_of(request, seen[0], clients.logs, bounds, observed_at) if clients.logs else {}
    write_dataset(run.log_bounds, LOG_BOUNDS, bounds_rows(bounds, servers, moment=request.moment, retention=retention))
    return Snapshot(request.connector, len(seen[0].offsets), observed_at)


@dataclass(frozen=True, slots=True)
class FoundConnector:
    """A connector as it was found: what it is, its state, its tasks (JSON), and its offsets."""

    info: ConnectorInfo
    state: str
    tasks: str
    offsets: Offsets


def observe_connector(clients: Clients, name: str) -> FoundConnector:
    """Look at a connector; raises :class:`UnknownConnector` with close names, and store errors."""
    try:
        info = clients.control.info(name)
    except UnknownConnector as error:
        close = difflib.get_close_matches(name, clients.control.connectors(), n=3)
        hint = f" Did you mean {', '.join(map(repr, close))}?" if close else ""
        raise UnknownConnector(f"{error}{hint}") from error
    status = clients.control.status(name)
    tasks = [{"id": task.number, "state": task.state.value, "worker": task.worker} for task in status.tasks]
    return FoundConnector(
        info, status.state.value, json.dumps(tasks, separators=(",", ":")), clients.offsets.read_offsets(name)
    )


def connector_row(seen: FoundConnector, cluster: str, observed_at: datetime) -> dict[str, Any]:
    """A row of the dataset ``connectors``; of the configuration it holds the settings of ``KEPT`` only."""
    config = kept_config(seen.info.config)
    return {
        "connect_cluster": cluster,
        "connector": seen.info.name,
        "connector_type": seen.info.type.value,
        "connector_class": seen.info.connector_class,
        "family": seen.info.family.name,
        "state": seen.state,
        "tasks": seen.tasks,
        "config": json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
        "group_id": seen.info.group_id,
        "observed_at": observed_at,
    }


def offset_rows(seen: FoundConnector, cluster: str, origin: Origin, observed_at: datetime) -> Iterator[dict[str, Any]]:
    """The rows of the dataset ``connector_offsets``."""
    family = seen.info.family
    for entry in seen.offsets:
        where = family.topic_partition(parse_map(entry.partition))
        yield {
            "connect_cluster": cluster,
            "connector": seen.info.name,
            "connector_type": seen.info.type.value,
            "family": family.name,
            "partition": entry.partition,
            "offset": entry.offset,
            "topic": where.topic if where else None,
            "kafka_partition": where.partition if where else None,
            "position": _position(seen, entry),
            "origin": origin.value,
            "raw_key": None,
            "observed_at": observed_at,
        }


def _position(seen: FoundConnector, entry: Entry) -> int | None:
    try:
        return seen.info.family.position(None if entry.offset is None else parse_map(entry.offset))
    except InvalidDocument:
        log.warning("%r stores an offset that can't be read: %s", seen.info.name, entry.offset)
        return None


def _bounds_of(request: Request, seen: FoundConnector, logs: Logs | None) -> Mapping[TopicPartition, Bounds]:
    """Bounds of all topics, so that a topic that is not there can be told from one that is not read."""
    if logs is None:
        raise InvalidRequest(
            f"{request.connector!r}: its offsets are positions in Kafka logs, so kafka_conn_id must name the cluster "
            "that they refer to (a MirrorSource's source cluster, a sink's own)."
        )
    counts = logs.topics()
    everything = [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
    try:
        return logs.bounds(everything, moment=request.moment)
    except (Unreachable, AccessDenied):
        raise
    except StoreError as error:
        # A topic nobody asked about may have lost its leader; that must not stand in the way of this change.
        concerned = _concerned(request, seen)
        log.warning("%s Looking at the topics of %r only.", error, request.connector)
        return logs.bounds([where for where in everything if concerned(where.topic)], moment=request.moment)


def _retention_of(
    request: Request, seen: FoundConnector, logs: Logs, bounds: Mapping[TopicPartition, Bounds], now: datetime
) -> Mapping[TopicPartition, Retained]:
    """Retention of the logs that the change may be about; empty where the brokers do not tell."""
    asked = bounds
    try:
        concerned = _concerned(request, seen)
        asked = {where: found for where, found in bounds.items() if concerned(where.topic)}
    except UnreadablePattern as error:
        log.info("Looking at the retention of all topics: %s", error)
    try:
        return logs.retention(asked, now=now, soon=SOON)
    except StoreError as error:
        log.warning("%s So nobody knows which records retention will delete soon.", error)
        return {}


def _concerned(request: Request, seen: FoundConnector) -> Callable[[str], bool]:
    family = seen.info.family
    stored = {found.topic for entry in seen.offsets if (found := family.topic_partition(parse_map(entry.partition)))}
    asked = re.compile(request.topics or r"(?!)")
    read = configured_pattern(family.consumed_topics(seen.info.config) or r"(?!)", connector=seen.info.name)
    return lambda topic: topic in stored or bool(asked.fullmatch(topic) or read.fullmatch(topic))


def bounds_rows(
    bounds: Mapping[TopicPartition, Bounds],
    cluster: str,
    *,
    moment: datetime | None = None,
    retention: Mapping[TopicPartition, Retained] | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of the dataset ``log_bounds``; ``moment``: that was looked up in each log."""
    for where, found in bounds.items():
        kept = (retention or {}).get(where)
        yield {
            "kafka_cluster": cluster,
            "topic": where.topic,
            "kafka_partition": where.partition,
            "log_start": found.log_start,
            "log_end": found.log_end,
            "lookup_timestamp": moment,
            "lookup_offset": found.lookup_offset,
            "cleanup_policy": kept.cleanup_policy if kept else None,
            "retention_ms": kept.retention_ms if kept else None,
            "expired_offset": kept.expired_offset if kept else None,
            "expiring_offset": kept.expiring_offset if kept else None,
        }
