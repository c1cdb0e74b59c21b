"""Compares the positions of a change with the bounds of their logs; no other module does.

A plan is checked against the log bounds of its snapshot. Until its connector resumes, the brokers may delete records
(retention, ``DeleteRecords``) or the topic. A consumer whose position is out of range silently falls back on
``auto.offset.reset`` (Java class ``OffsetFetcher``), so the bounds are read again before anything is written, before
each resume, and right after it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import tenacity

from airflow_provider_connect_offsets.exceptions import AccessDenied, Drift, StoreError, Unreachable
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.partitions import existing_partitions
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import Family, TopicPartition
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.words import join_first

log = logging.getLogger(__name__)
_NAMED = 3
_ADVICE = "Plan again. To keep the remaining records until then, raise retention.ms of the topic first."


@dataclass(frozen=True, slots=True)
class LogPosition(JsonRecord):
    """A partition that a change moves.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        prior: Position at the stop; None: no offset was stored.
        requested: Requested position; None: the offset is removed.
        log_start: Log start offset at the stop.
    """

    topic: str
    partition: int
    prior: int | None
    requested: int | None
    log_start: int

    @property
    def where(self) -> TopicPartition:
        """The Kafka partition."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True)
class OutOfLog:
    """A position that is out of range of its log; ``log`` is None if the partition does not exist."""

    where: TopicPartition
    position: int
    log: LogBounds | None

    def __str__(self) -> str:
        partition = f"topic {self.where.topic!r}, partition {self.where.partition}"
        if self.log is None:
            return f"{partition} does not exist any more, so position {self.position} is gone"
        if self.position > self.log.log_end:
            return f"{partition}: position {self.position} lies beyond the log end, which is {self.log.log_end} now"
        start, last = self.log.log_start, self.log.log_start - 1
        records = f"record {last} is" if last == self.position else f"records {self.position} to {last} are"
        deleted = f"the record at position {self.position} was deleted"
        return f"{partition}: {deleted}; the log starts at {start} now, so {records} gone"


def observe(clients: Clients, plan: OffsetPlan, at_stop: Offsets) -> tuple[LogPosition, ...]:
    """Observe the logs of all partitions that ``plan`` changes, before anything is written.

    Args:
        clients: Clients of the connector.
        plan: The change.
        at_stop: The offsets at which the connector is stopped.

    Returns:
        The changed partitions that exist; empty if ``clients`` have no logs.

    Raises:
        Drift: A requested position is out of range of its log.
        StoreError: A system does not answer, or refuses.
    """
    stored = at_stop.by_partition()
    rows = {where: row for row in plan.changed_rows() if (where := row.where) is not None}
    bounds = _bounds(clients, rows)
    if bounds is None:
        return ()
    gone = _out_of_log({where: row.after_position for where, row in rows.items()}, bounds)
    if gone:
        raise Drift(f"Nothing was written: {plan.connector!r}, {_name_positions(gone)}. {_ADVICE}")
    return tuple(
        LogPosition(
            topic=where.topic,
            partition=where.partition,
            prior=plan.family.position_in(stored.get(row.partition)),
            requested=row.after_position,
            log_start=bounds[where].log_start,
        )
        for where, row in rows.items()
        if where in bounds
    )


def drift(connector: str, gone: Iterable[OutOfLog]) -> Drift:
    """Return the error for positions that went out of range during a change."""
    return Drift(f"{describe_gone(connector, gone)} {_ADVICE}")


def list_requested_gone(clients: Clients, positions: Iterable[LogPosition]) -> list[OutOfLog]:
    """Return the requested positions that are out of range now; raises store errors."""
    return out_of_log(clients, {one.where: one.requested for one in positions})


def list_prior_gone(clients: Clients, positions: Iterable[LogPosition]) -> list[OutOfLog]:
    """Return the prior positions whose records existed at the stop but are now deleted; raises store errors."""
    existed = {one.where: one.prior for one in positions if one.prior is not None and one.prior >= one.log_start}
    return [one for one in out_of_log(clients, existed) if one.log is None or one.position < one.log.log_start]


def out_of_log(clients: Clients, positions: Mapping[TopicPartition, int | None]) -> list[OutOfLog]:
    """Return the positions that are out of range of their logs; None positions are left out. Raises store errors."""
    bounds = _bounds(clients, [where for where, position in positions.items() if position is not None])
    return [] if bounds is None else _out_of_log(positions, bounds)


def positions_in(family: Family, changes: Offsets) -> dict[TopicPartition, int | None]:
    """Convert offsets to positions, by Kafka partition; empty for a family without positions."""
    offsets = [(family.topic_partition(parse_map(one.partition)), one.offset) for one in changes]
    return {where: family.position_in(offset) for where, offset in offsets if where is not None}


def describe_gone(connector: str, gone: Iterable[OutOfLog]) -> str:
    """Write a sentence that names connector, partitions, positions and log starts; empty if nothing is gone."""
    named = _name_positions(gone)
    return f"{connector!r}, {named}." if named else ""


def _out_of_log(
    positions: Mapping[TopicPartition, int | None], bounds: Mapping[TopicPartition, LogBounds]
) -> list[OutOfLog]:
    compared = [OutOfLog(where, at, bounds.get(where)) for where, at in positions.items() if at is not None]
    return [one for one in compared if one.log is None or not one.log.log_start <= one.position <= one.log.log_end]


def _bounds(clients: Clients, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, LogBounds] | None:
    """Return the bounds of the partitions that exist; None without logs.

    Waits for brokers that do not answer as long as a change waits for its workers.
    """
    requested, logs = list(partitions), clients.logs
    if not requested:
        return {}
    if logs is None:
        log.warning(
            "kafka_conn_id is not set, so the positions can't be compared with the logs. Records at these positions "
            "may be gone."
        )
        return None

    def read() -> Mapping[TopicPartition, LogBounds]:
        try:
            return logs.bounds(requested)
        except (Unreachable, AccessDenied):
            raise
        except StoreError:
            present = existing_partitions(logs, requested)
            if len(present) == len(requested):
                raise
            return logs.bounds(present)

    return clients.make_attempts(tenacity.retry_if_exception_type(Unreachable))(read)


def _name_positions(gone: Iterable[OutOfLog]) -> str:
    return join_first([*map(str, gone)], _NAMED, separator="; ")
