"""Observes what a bounded replay needs: the offsets of an interval in each log, and how far the clone has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.remaining import Remaining
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients, Logs
from airflow_provider_connect_offsets.observe.lag import isolation_of
from airflow_provider_connect_offsets.observe.partitions import existing_partitions
from airflow_provider_connect_offsets.observe.snapshot import connector_row, observe_connector, soon_deleted
from airflow_provider_connect_offsets.observe.waiting import consumed_partitions, stored_positions
from airflow_provider_connect_offsets.offsets.document import canonical_json
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.replay import Range, refuse_unbounded
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.words import join_first
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, REPLAY_RANGES

_NAMED = 3


def take_replay_snapshot(request: ReplayRequest, clients: Clients, run: ReplayDirectory) -> int:
    """Write ``request.json`` and the datasets ``connectors`` and ``replay_ranges``; change nothing.

    Args:
        request: The replay.
        clients: Clients of the connector.
        run: The directory of the run.

    Returns:
        How many partitions are selected.

    Raises:
        UnknownConnector: The connector does not exist; names similar ones.
        InvalidRequest: The connector can't be replayed or is not allowed here, ``clients`` have no logs, or no
            partition is selected.
        UnreadablePattern: A pattern of its configuration can't be read.
        StoreError: A system does not answer, or refuses.
    """
    clients.guards.refuse_names(Named.CONNECTOR, [request.connector])
    clients.control.require_offset_changes()
    observed = observe_connector(clients, request.connector)
    info, logs = observed.info, clients.logs_of(request.connector)
    refuse_unbounded(info.name, info.family, info.config)
    partitions = _selected_partitions(clients, info, logs, request)
    clients.guards.refuse_names(Named.TOPIC, sorted({where.topic for where in partitions}))
    files.write_json(run.request, request.as_json())
    write_dataset(run.connectors, CONNECTORS, [connector_row(observed, clients.cluster, datetime.now(tz=UTC))])
    write_dataset(run.replay_ranges, REPLAY_RANGES, _rows(request, info, logs, partitions))
    return len(partitions)


@dataclass(frozen=True, slots=True)
class ReplayProgress:
    """How far a clone has come.

    Attributes:
        positions: Each range with the position that the clone has stored in its partition.
        behind: The ranges that it has not passed.
    """

    positions: tuple[tuple[Range, int], ...]
    behind: tuple[Range, ...]

    def __str__(self) -> str:
        """Say how many offsets were delivered, and up to where in partitions that are behind."""
        total = sum(one.ends - one.begins for one, _position in self.positions)
        delivered = sum(one.count_delivered(position) for one, position in self.positions)
        at = dict(self.positions)
        texts = [f"{one.topic}-{one.partition} up to {at[one]:,} of {one.ends:,}" for one in self.behind]
        left = f": {join_first(texts, _NAMED)}" if texts else ""
        return f"{delivered:,} of {total:,} offsets of the interval were delivered{left}"


def observe_replay(
    clients: Clients, clone: str, ranges: Iterable[Range], *, known: ReplayProgress | None = None
) -> ReplayProgress:
    """Compare the stored positions of a clone with its ranges.

    A range is passed when the next record that the clone would read is not in it: at the end of a range there may be
    transaction markers, or records that were compacted away, which are never read.

    Args:
        clients: Clients of the clone.
        clone: Its name.
        ranges: Its ranges.
        known: An earlier observation. The logs are read only if no position has changed since, as reading them takes
            longer; None: they are read in any case.

    Raises:
        UnknownConnector: There is no such connector.
        StoreError: A system does not answer, or refuses.
    """
    info = clients.control.info(clone)
    stored = stored_positions(clients, info)
    positions = tuple((one, stored.get(one.where) or one.begins) for one in ranges)
    behind = {one.where: position for one, position in positions if position < one.ends}
    if clients.logs is not None and behind and (known is None or known.positions == positions):
        first = clients.logs.first_remaining(behind, isolation=isolation_of(info))
        behind = {one.where: at for one, at in positions if one.where in behind and _is_left(one, first)}
    return ReplayProgress(positions, tuple(one for one, _position in positions if one.where in behind))


def _is_left(one: Range, first: Mapping[TopicPartition, Remaining]) -> bool:
    remaining = first.get(one.where)
    return remaining is not None and remaining.offset < one.ends


def _selected_partitions(
    clients: Clients, info: ConnectorInfo, logs: Logs, request: ReplayRequest
) -> list[TopicPartition]:
    """List the existing partitions that the connector reads or has stored, of the requested topics."""
    pattern = typed_pattern(request.topics or ".*", param="topics")
    read = {*stored_positions(clients, info), *consumed_partitions(clients, info)}
    selected = sorted(existing_partitions(logs, (where for where in read if pattern.matches(where.topic))))
    if not selected:
        raise InvalidRequest(
            f"Nothing was created: {info.name!r} reads no partition of topics {request.topics or '.*'!r}, so there is "
            "nothing to replay."
        )
    return selected


def _rows(
    request: ReplayRequest, info: ConnectorInfo, logs: Logs, partitions: list[TopicPartition]
) -> Iterator[dict[str, object]]:
    """Yield the rows of the dataset ``replay_ranges``."""
    starts = logs.bounds(partitions, moment=request.begins)
    ends = logs.bounds(partitions, moment=request.ends)
    spans = {where: (_looked_up_offset(starts[where]), _looked_up_offset(ends[where])) for where in partitions}
    isolation: Isolation = isolation_of(info)
    first = logs.first_remaining({where: at for where, (at, end) in spans.items() if at < end}, isolation=isolation)
    retained, cluster = soon_deleted(logs, starts, now=datetime.now(tz=UTC)), logs.cluster_id()
    for where, (begins, end) in spans.items():
        partition = info.family.partition_of(where, info.config)
        kept = retained.get(where)
        yield {
            "kafka_cluster": cluster,
            "connector": info.name,
            "clone": request.clone,
            "family": info.family.name,
            "partition": canonical_json(partition or {}),
            "topic": where.topic,
            "kafka_partition": where.partition,
            "log_start": starts[where].log_start,
            "log_end": ends[where].log_end,
            "begins": begins,
            "ends": end,
            "first_record": first[where].offset if where in first else None,
            "retention_ms": kept.retention_ms if kept else None,
            "expiring_offset": kept.expiring_offset if kept else None,
        }


def _looked_up_offset(bounds: LogBounds) -> int:
    return bounds.log_end if bounds.lookup_offset is None else bounds.lookup_offset
