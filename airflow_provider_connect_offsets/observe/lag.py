"""Lag of connectors, per partition, and whether a MirrorSource has reached an awaited lag.

Lag is 0 if no record is left to read; transaction markers and compacted offsets are not records.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import (
    InvalidDocument,
    InvalidRequest,
    NotRunning,
    StoreError,
    UnreadablePattern,
)
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.remaining import Remaining
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.partitions import existing_partitions
from airflow_provider_connect_offsets.observe.waiting import Observation, consumed_partitions, stored_positions
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset, TopicPartition
from airflow_provider_connect_offsets.offsets.requests.place import AwaitedLag
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.words import as_sentence, join_first, quantify

log = logging.getLogger(__name__)
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Replicated:
    """How far a partition is replicated, or read by a sink.

    Attributes:
        position: The next record to be read; None if no offset is stored.
        bounds: Log start and log end offset.
        first: The first record that is not replicated; None if no record is left.
        known: False if no offset is stored, and the consumer starts elsewhere than at the log start.
    """

    position: int | None
    bounds: LogBounds
    first: Remaining | None
    known: bool = True

    @property
    def lag(self) -> int | None:
        """Offsets from the position to the log end; 0 if no record is left, None if unknown.

        Counts from the log start if the position is out of range.
        """
        if not self.known:
            return None
        if self.first is None:
            return 0
        start, end = self.bounds.log_start, self.bounds.log_end
        return end - (start if self.position is None or self.position > end else self.position)

    def seconds(self, now: float) -> float | None:
        """Age in seconds of the first record that is not replicated; None if unknown.

        Args:
            now: Seconds since 1970.
        """
        if not self.known:
            return None
        if self.first is None:
            return 0.0
        return None if self.first.timestamp_ms is None else max(0.0, now - self.first.timestamp_ms / 1000)


def isolation_of(info: ConnectorInfo) -> Isolation:
    """Return the ``isolation.level`` of a connector's consumer, which its family knows."""
    return Isolation.READ_COMMITTED if info.family.reads_committed(info.config) else Isolation.READ_UNCOMMITTED


def next_records(
    clients: Clients, info: ConnectorInfo, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Return the offset of the next record to be read, by partition, for positions at which there is no record.

    Transaction markers, aborted records and records that compaction removed leave offsets without a record. If the logs
    can't be read, logs a warning and returns nothing.

    Args:
        clients: Its clients, with the logs that its positions refer to.
        info: The connector.
        positions: Its positions.
    """
    logs = clients.logs_of(info.name)
    try:
        bounds = logs.bounds(existing_partitions(logs, positions))
        within = {where: positions[where] for where, log in bounds.items() if _is_within(positions[where], log)}
        first = logs.first_remaining(within, isolation=isolation_of(info)) if within else {}
    except StoreError as error:
        log.warning("%s So the offsets of the records that %r reads next are unknown.", error, info.name)
        return {}
    return {where: one.offset for where, one in first.items() if one.offset > positions[where]}


def next_record_rows(
    clients: Clients, info: ConnectorInfo, offsets: Offsets, request: Request
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``next_records`` for the partitions of a connector that a request selects."""
    selected: dict[TopicPartition, int] = {}
    for entry in offsets if info.family.has_positions else ():
        where = info.family.topic_partition(parse_map(entry.partition))
        with suppress(InvalidDocument):  # the plan reports it as an error
            position = info.family.position_in(entry.offset)
            if where is not None and position is not None and request.selects(where.topic, where.partition):
                selected[where] = position
    for where, offset in next_records(clients, info, selected).items() if selected else ():
        place = {"topic": where.topic, "kafka_partition": where.partition}
        yield {"connector": info.name, **place, "next_record": offset}


def _is_within(position: int, log: LogBounds) -> bool:
    return log.log_start <= position < log.log_end


def observe_replicated(
    clients: Clients,
    info: ConnectorInfo,
    *,
    selects: Callable[[str], bool] = lambda _topic: True,
) -> dict[TopicPartition, Replicated]:
    """Observe all existing partitions that a connector reads or has an offset for.

    The stored offsets are read before the logs: time makes the lag look larger, never smaller. Records that the tasks
    have read but not yet flushed count as left to read.

    Args:
        clients: Clients of the connector, with the logs that its positions refer to.
        info: The connector.
        selects: True for the names of the topics to observe; default: all topics.

    Returns:
        Partition → how far it is replicated, sorted by partition.

    Raises:
        InvalidRequest: ``clients`` have no logs.
        StoreError: A system does not answer, or refuses.
    """
    logs = clients.logs_of(info.name)
    stored = stored_positions(clients, info)
    known = {*stored, *_consumed_partitions(clients, info)}
    present = sorted(existing_partitions(logs, (where for where in known if selects(where.topic))))
    bounds = logs.bounds(present)
    starts_elsewhere = info.family.offset_reset(info.config) is not OffsetReset.EARLIEST
    unknown = {where for where in present if stored.get(where) is None and starts_elsewhere}
    starts = {
        where: bounds[where].log_start if (position := stored.get(where)) is None else position
        for where in present
        if where not in unknown
    }
    first = logs.first_remaining(starts, isolation=isolation_of(info))
    return {
        where: Replicated(stored.get(where), bounds[where], first.get(where), known=where not in unknown)
        for where in present
    }


def observe_lag(clients: Clients, connector: str, awaited: AwaitedLag) -> Observation:
    """Compare the lag of a MirrorSource with ``awaited``.

    Args:
        clients: Clients of its Connect cluster, with the logs of its source cluster.
        connector: Name of the MirrorSource.
        awaited: The awaited lag.

    Raises:
        InvalidRequest: The connector is not a MirrorSource, or no partition is selected.
        NotRunning: It lags behind, and has failed; waiting does not repair that.
        StoreError: A system does not answer, or refuses.
    """
    info = clients.control.info(connector)
    if info.family.name != MirrorSource.name:
        raise InvalidRequest(f"{connector!r} is a {info.connector_class}, not a MirrorSourceConnector.")
    observed = observe_replicated(clients, info, selects=awaited.selects_topic)
    if not observed:
        raise InvalidRequest(
            f"Nothing to wait for: {connector!r} has no partition of topics {awaited.topics or '.*'!r}."
        )
    return observation(clients, connector, _list_behind(observed, awaited), partitions=len(observed))


def list_behind(clients: Clients, info: ConnectorInfo, awaited: AwaitedLag) -> list[str]:
    """Describe each partition of a connector that is further behind than ``awaited``; raises store errors."""
    return _list_behind(observe_replicated(clients, info, selects=awaited.selects_topic), awaited)


def _list_behind(observed: Mapping[TopicPartition, Replicated], awaited: AwaitedLag) -> list[str]:
    now = time.time()
    return [text for where, one in observed.items() if (text := _describe_behind(awaited, where, one, now))]


def observation(clients: Clients, connector: str, behind: Sequence[str], *, partitions: int) -> Observation:
    """Return an observation that is reached if no partition is behind.

    Args:
        clients: Clients of the connector's Connect cluster.
        connector: Its name.
        behind: Descriptions of the partitions that are behind.
        partitions: How many were observed.

    Raises:
        NotRunning: A partition is behind, and the connector has failed; waiting does not repair that.
        StoreError: Connect does not answer, or refuses.
    """
    if not behind:
        sentence = f"{connector!r} is far enough in each awaited partition ({quantify(partitions, 'partition')})."
        return Observation(reached=True, sentence=sentence)
    status = clients.control.status(connector)
    sentence = f"{connector!r} ({status.state}): {join_first(behind, _NAMED, separator='; ')}."
    if status.has_failed:
        raise NotRunning(f"{sentence} It has failed: {as_sentence(status.cause)}")
    return Observation(reached=False, sentence=sentence)


def _consumed_partitions(clients: Clients, info: ConnectorInfo) -> list[TopicPartition]:
    try:
        return consumed_partitions(clients, info)
    except UnreadablePattern as error:
        log.warning("%s Topics without stored offsets are left out.", error)
        return []


def _describe_behind(awaited: AwaitedLag, where: TopicPartition, observed: Replicated, now: float) -> str:
    """Describe how far a partition is behind; empty if it has reached the awaited lag."""
    lag, seconds = observed.lag, observed.seconds(now)
    records, oldest = awaited.max_lag_records, awaited.max_lag_seconds
    most = 0 if records is None and oldest is None else records
    many = most is not None and lag is not None and lag > most
    # A record without a known timestamp counts as too old.
    old = oldest is not None and observed.first is not None and (seconds is None or seconds > oldest)
    if not many and not old:
        return ""
    age = "" if seconds is None else f", the first of them {seconds:,.0f} s old"
    return f"{where.topic}-{where.partition} has {quantify(lag or 0, 'record')} left to replicate{age}"
