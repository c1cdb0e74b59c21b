"""Writes the snapshot that a plan is made from: request, connectors, their offsets, and the bounds of their logs."""

from __future__ import annotations

import difflib
import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorOverview, ConnectorStatus
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    InvalidDocument,
    StoreError,
    UnknownConnector,
    Unreachable,
    UnreadablePattern,
)
from airflow_provider_connect_offsets.kafka.logs import LogBounds, Retention
from airflow_provider_connect_offsets.observe import slots
from airflow_provider_connect_offsets.observe.clients import Clients, Logs, Origin
from airflow_provider_connect_offsets.observe.lag import next_record_rows
from airflow_provider_connect_offsets.observe.many_offsets import Reader, read_many
from airflow_provider_connect_offsets.observe.partitions import partitions_of
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.kept_config import kept_config
from airflow_provider_connect_offsets.offsets.requests.patterns import configured_pattern, typed_pattern
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.words import join_first
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    LOG_BOUNDS,
    NEXT_RECORDS,
    REPLICATION_SLOTS,
)

log = logging.getLogger(__name__)

#: The snapshot marks records that become older than ``retention.ms`` within this time: approval may take as long.
SOON = timedelta(hours=1)
# Up to this many connectors are observed one by one; for more, types and states are read with one call.
FEW = 3


def take_snapshot(request: Request, clients: Clients, run: RunDirectory, *, also: Iterable[str] = ()) -> int:
    """Write the snapshot of one change as :func:`take_snapshots` does, and return its connector's number of offsets."""
    [partitions] = take_snapshots([(run, request)], clients, also=also)
    return partitions


def take_snapshots(
    requests: Sequence[tuple[RunDirectory, Request]],
    clients: Clients,
    *,
    also: Iterable[str] = (),
    observed: Mapping[str, ObservedConnector] = MappingProxyType({}),
) -> list[int]:
    """Write ``request.json`` and the datasets ``connectors``, ``connector_offsets`` and ``log_bounds``; change nothing.

    Also writes ``replication_slots`` for Debezium connectors for PostgreSQL (without rows if ``clients`` have no
    database), and ``next_records`` for changes that skip records.

    Args:
        requests: The changes, which name at most one moment, and their directories, which share their datasets. A
            connector that offsets are taken from is observed as well.
        clients: Clients of the connectors.
        also: Names of more connectors to observe.
        observed: Connectors that have just been observed; all others are observed now.

    Returns:
        How many partitions the connector of each change has an offset for.

    Raises:
        Unsupported: The worker is too old to change offsets.
        UnknownConnector: A connector does not exist; names similar ones.
        InvalidRequest: The offsets are positions, and ``clients`` have no logs; or a request is not allowed here.
        StoreError: A system does not answer, or refuses.
    """
    for _, request in requests:
        clients.guards.refuse(request)
    clients.control.require_offset_changes()
    needed = _connectors_of(requests, also)
    connectors = {**observed, **observe_connectors([name for name in needed if name not in observed], clients)}
    observed_at, datasets = datetime.now(tz=UTC), requests[0][0]
    for run, request in requests:
        files.write_json(run.request, clients.guards.apply_to(request).as_json())
    rows = [connector_row(connectors[name], clients.cluster, observed_at) for name in needed]
    write_dataset(datasets.connectors, CONNECTORS, rows)
    offsets = (offset_rows(connectors[name], clients.cluster, clients.origin, observed_at) for name in needed)
    write_dataset(datasets.connector_offsets, CONNECTOR_OFFSETS, chain.from_iterable(offsets))
    changed = [(request, connectors[request.connector]) for _, request in requests]
    if requests[0][1].to is To.SKIP:
        next_ones = (next_record_rows(clients, one.info, one.offsets, request) for request, one in changed)
        write_dataset(datasets.next_records, NEXT_RECORDS, chain.from_iterable(next_ones))
    write_dataset(datasets.log_bounds, LOG_BOUNDS, _rows_of_logs(changed, clients, observed_at))
    reading_slots = [one for _, one in changed if slots.has_slot(one.info)]
    if reading_slots:
        # Without rows if no database is given: a retry must not leave rows of an attempt that had a database.
        found = ((one.info.name, slots.observe(clients, one.info)) for one in reading_slots)
        slot_rows = [slot.row(name, observed_at) for name, slot in found if slot is not None]
        write_dataset(datasets.replication_slots, REPLICATION_SLOTS, slot_rows)
    return [len(one.offsets) for _, one in changed]


def _connectors_of(requests: Sequence[tuple[RunDirectory, Request]], also: Iterable[str]) -> Collection[str]:
    """Return the connectors of requests, the connectors that they take offsets from, and ``also``, in this order."""
    changed = [request.connector for _, request in requests]
    taken_from = [request.reference for _, request in requests if request.to is To.CONNECTOR and request.reference]
    return dict.fromkeys([*changed, *taken_from, *also])


@dataclass(frozen=True, slots=True)
class ObservedConnector:
    """A connector as observed: its configuration, its state and its tasks' states, and its offsets."""

    info: ConnectorInfo
    status: ConnectorStatus
    offsets: Offsets


def observe_connectors(names: Sequence[str], clients: Clients) -> dict[str, ObservedConnector]:
    """Observe connectors in this order, several at once; raises as :func:`observe_connector` does."""
    if len(names) <= FEW:
        return {name: observe_connector(clients, name) for name in names}
    listed = clients.control.overview()
    # Connect's listing lacks connectors that have no state yet.
    known = {name: listed[name] if name in listed else _overview(clients, name) for name in names}

    def observe(name: str, read: Reader) -> ObservedConnector:
        return ObservedConnector(known[name].info, known[name].status, read(name))

    return dict(read_many(clients.offsets, names, observe))


def observe_connector(clients: Clients, name: str) -> ObservedConnector:
    """Observe a connector; raises store errors and :class:`UnknownConnector`, which names similar connectors."""
    known = _overview(clients, name)
    return ObservedConnector(known.info, known.status, clients.offsets.read_offsets(name))


def _overview(clients: Clients, name: str) -> ConnectorOverview:
    try:
        info = clients.control.info(name)
    except UnknownConnector as error:
        close = difflib.get_close_matches(name, clients.control.connectors(), n=3)
        hint = f" Did you mean {', '.join(map(repr, close))}?" if close else ""
        raise UnknownConnector(f"{error}{hint}") from error
    return ConnectorOverview(info, clients.control.status(name))


def connector_row(observed: ObservedConnector, cluster: str, observed_at: datetime) -> dict[str, Any]:
    """Return a row of the dataset ``connectors``; it holds only the settings that ``kept_config`` keeps."""
    config = kept_config(observed.info.config, also=observed.info.family.settings)
    tasks = [{"id": task.number, "state": task.state.value, "worker": task.worker} for task in observed.status.tasks]
    return {
        "connect_cluster": cluster,
        "connector": observed.info.name,
        "connector_type": observed.info.type.value,
        "connector_class": observed.info.connector_class,
        "family": observed.info.family.name,
        "state": observed.status.state.value,
        "tasks": json.dumps(tasks, separators=(",", ":")),
        "config": json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False),
        "group_id": observed.info.group_id,
        "observed_at": observed_at,
    }


def offset_rows(
    observed: ObservedConnector, cluster: str, origin: Origin, observed_at: datetime
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``connector_offsets``."""
    family = observed.info.family
    for entry in observed.offsets:
        where = family.topic_partition(parse_map(entry.partition))
        yield {
            "connect_cluster": cluster,
            "connector": observed.info.name,
            "connector_type": observed.info.type.value,
            "family": family.name,
            "partition": entry.partition,
            "offset": entry.offset,
            "topic": where.topic if where else None,
            "kafka_partition": where.partition if where else None,
            "position": _position(observed, entry),
            "origin": origin.value,
            "raw_key": None,
            "observed_at": observed_at,
        }


def _position(observed: ObservedConnector, entry: Entry) -> int | None:
    try:
        return observed.info.family.position(None if entry.offset is None else parse_map(entry.offset))
    except InvalidDocument:
        log.warning("%r stores an offset that can't be read: %s", observed.info.name, entry.offset)
        return None


def _rows_of_logs(
    changed: Sequence[tuple[Request, ObservedConnector]], clients: Clients, now: datetime
) -> Iterable[dict[str, Any]]:
    """Look up the bounds of all topics: the plan distinguishes missing topics from topics that are not read."""
    changed = [(request, one) for request, one in changed if one.info.family.has_positions]
    if not changed:
        return ()
    (request, _), *_others = changed
    logs = clients.logs_of(request.connector)
    counts = logs.topics()
    logs.refuse_hidden(set().union(*(stored_topics(one) for _, one in changed)) - counts.keys())
    try:
        bounds = logs.bounds(partitions_of(counts, counts), moment=request.moment)
    except (Unreachable, AccessDenied):
        raise
    except StoreError as error:
        # A topic that does not concern this change may have lost its leader; that must not prevent the change.
        concerned = _make_filter(changed)
        log.warning(
            "%s So only the topics of %r are read.", error, join_first([one.info.name for _, one in changed], 3)
        )
        bounds = logs.bounds(partitions_of(counts, filter(concerned, counts)), moment=request.moment)
    retention = _retention_of(changed, logs, bounds, now)
    return bounds_rows(bounds, logs.cluster_id() if bounds else "", moment=request.moment, retention=retention)


def _retention_of(
    changed: Sequence[tuple[Request, ObservedConnector]],
    logs: Logs,
    bounds: Mapping[TopicPartition, LogBounds],
    now: datetime,
) -> Mapping[TopicPartition, Retention]:
    """Look up the retention of the logs that the changes may concern."""
    requested = bounds
    try:
        concerned = _make_filter(changed)
        requested = {where: log_bounds for where, log_bounds in bounds.items() if concerned(where.topic)}
    except UnreadablePattern as error:
        log.info("The topics of the change are unknown, so the retention of all topics is read: %s", error)
    return soon_deleted(logs, requested, now=now)


def soon_deleted(
    logs: Logs, bounds: Mapping[TopicPartition, LogBounds], *, now: datetime
) -> Mapping[TopicPartition, Retention]:
    """Find the records that retention deletes soon. Logs a store error, and returns nothing then."""
    try:
        return logs.retention(bounds, now=now, soon=SOON)
    except StoreError as error:
        log.warning("%s So it is unknown which records retention will delete soon.", error)
        return {}


def _make_filter(changed: Sequence[tuple[Request, ObservedConnector]]) -> Callable[[str], bool]:
    """Return a function that says whether a topic concerns a change; raises :class:`UnreadablePattern`."""
    stored = {topic for _, one in changed for topic in stored_topics(one)}
    patterns = {typed_pattern(request.topics, param="topics") for request, _ in changed if request.topics}
    for _, one in changed:
        consumed = one.info.family.consumed_topics(one.info.config)
        patterns |= set() if consumed is None else {configured_pattern(consumed, connector=one.info.name)}
    return cache(lambda topic: topic in stored or any(pattern.matches(topic) for pattern in patterns))


def stored_topics(observed: ObservedConnector) -> set[str]:
    """Return the topics that the connector has stored offsets for, whether or not they still exist."""
    partitions = (observed.info.family.topic_partition(parse_map(entry.partition)) for entry in observed.offsets)
    return {where.topic for where in partitions if where is not None}


def bounds_rows(
    bounds: Mapping[TopicPartition, LogBounds],
    cluster: str,
    *,
    moment: datetime | None = None,
    retention: Mapping[TopicPartition, Retention] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``log_bounds``.

    Args:
        bounds: Log start and log end offsets.
        cluster: Id of the Kafka cluster.
        moment: The moment that was looked up in each log; None if nothing was looked up.
        retention: Retention of the logs for which it was looked up.
    """
    for where, log_bounds in bounds.items():
        kept = (retention or {}).get(where)
        yield {
            "kafka_cluster": cluster,
            "topic": where.topic,
            "kafka_partition": where.partition,
            "log_start": log_bounds.log_start,
            "log_end": log_bounds.log_end,
            "lookup_timestamp": moment,
            "lookup_offset": log_bounds.lookup_offset,
            "cleanup_policy": kept.cleanup_policy if kept else None,
            "retention_ms": kept.retention_ms if kept else None,
            "expired_offset": kept.expired_offset if kept else None,
            "expiring_offset": kept.expiring_offset if kept else None,
        }
