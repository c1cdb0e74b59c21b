"""Whether the records at the positions of a change are still in their logs; asked here and nowhere else.

A plan is checked against the logs as its snapshot saw them. Until its connector resumes, the brokers may delete records
(retention, ``DeleteRecords``) or lose the topic. A consumer at a position that its log no longer holds falls back on
``auto.offset.reset`` without a word (``OffsetFetcher``, KIP-98), so the logs are asked again before anything is
written, before each resume, and right after it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import tenacity

from airflow_provider_connect_offsets.exceptions import AccessDenied, Drift, StoreError, Unreachable
from airflow_provider_connect_offsets.observe.clients import Bounds, Clients, until_timeout
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import Family, TopicPartition
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan

log = logging.getLogger(__name__)
_NAMED = 3
_ADVICE = "Plan again; to keep what is left until then, raise retention.ms of the topic first."


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A partition that a change moves: its position at the stop and the requested one (None: there is none).

    ``log_start``: the log start offset at the stop.
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

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> LogPosition:
        """Read what :meth:`as_json` wrote."""
        return cls(**fields)


@dataclass(frozen=True, slots=True)
class OutOfLog:
    """A position that its log does not hold (any more); ``log`` is None where there is no such partition."""

    where: TopicPartition
    position: int
    log: Bounds | None

    def __str__(self) -> str:
        place = f"topic {self.where.topic!r}, partition {self.where.partition}"
        if self.log is None:
            return f"{place}: there is no such partition any more, so position {self.position} is gone"
        if self.position > self.log.log_end:
            return f"{place}: position {self.position} lies beyond the log end, which is {self.log.log_end} now"
        start, last = self.log.log_start, self.log.log_start - 1
        records = f"record {last} is" if last == self.position else f"records {self.position} to {last} are"
        deleted = f"the record at position {self.position} was deleted"
        return f"{place}: {deleted}; the log starts at {start} now, so {records} gone"


def observe(clients: Clients, plan: OffsetPlan, at_stop: Offsets) -> tuple[LogPosition, ...]:
    """Look at the logs of all partitions that ``plan`` changes, while its connector is stopped on ``at_stop``.

    Partitions that do not exist and whose offset is only removed are left out; so are all without logs to look at.
    Raises :class:`Drift` where a requested position is not in its log (nothing is written yet), and store errors.
    """
    stored = at_stop.stored()
    rows = {
        TopicPartition(row.topic, row.kafka_partition): row
        for row in plan.changed_rows()
        if row.topic is not None and row.kafka_partition is not None
    }
    bounds = _bounds(clients, rows)
    if bounds is None:
        return ()
    gone = _out_of_log({where: row.after_position for where, row in rows.items()}, bounds)
    if gone:
        raise Drift(f"Nothing was written: {plan.connector!r}, {_named(gone)}. {_ADVICE}")
    return tuple(
        LogPosition(
            topic=where.topic,
            partition=where.partition,
            prior=_position(plan.family, stored.get(row.partition)),
            requested=row.after_position,
            log_start=bounds[where].log_start,
        )
        for where, row in rows.items()
        if where in bounds
    )


def drift(connector: str, gone: Iterable[OutOfLog]) -> Drift:
    """What such positions are where a change was to go on."""
    return Drift(f"{told(connector, gone)} {_ADVICE}")


def requested_gone(clients: Clients, positions: Iterable[LogPosition]) -> list[OutOfLog]:
    """Requested positions that their logs no longer hold; raises store errors."""
    return out_of_log(clients, {one.where: one.requested for one in positions})


def prior_gone(clients: Clients, positions: Iterable[LogPosition]) -> list[OutOfLog]:
    """Prior positions whose records were there at the stop and no longer are; raises store errors."""
    there = {one.where: one.prior for one in positions if one.prior is not None and one.prior >= one.log_start}
    return [one for one in out_of_log(clients, there) if one.log is None or one.position < one.log.log_start]


def out_of_log(clients: Clients, positions: Mapping[TopicPartition, int | None]) -> list[OutOfLog]:
    """Positions that their logs do not hold; one that is None is left out. Raises store errors."""
    asked = {where: position for where, position in positions.items() if position is not None}
    bounds = _bounds(clients, asked)
    return [] if bounds is None else _out_of_log(asked, bounds)


def positions_in(family: Family, changes: Offsets) -> dict[TopicPartition, int | None]:
    """The positions that offsets mean, by Kafka partition; empty where the family has none."""
    places = [(family.topic_partition(parse_map(one.partition)), one.offset) for one in changes]
    return {where: _position(family, offset) for where, offset in places if where is not None}


def told(connector: str, gone: Iterable[OutOfLog]) -> str:
    """A sentence that names connector, partitions, positions and log starts; empty where nothing is gone."""
    named = _named(list(gone))
    return f"{connector!r}, {named}." if named else ""


def _position(family: Family, offset: str | None) -> int | None:
    return None if offset is None else family.position(parse_map(offset))


def _out_of_log(
    positions: Mapping[TopicPartition, int | None], bounds: Mapping[TopicPartition, Bounds]
) -> list[OutOfLog]:
    asked = [OutOfLog(where, at, bounds.get(where)) for where, at in positions.items() if at is not None]
    return [one for one in asked if one.log is None or not one.log.log_start <= one.position <= one.log.log_end]


def _bounds(clients: Clients, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Bounds] | None:
    """Bounds of the logs of those that exist; None where there are no logs to look at.

    Brokers that do not answer are waited for, as a change waits for its workers.
    """
    wanted, logs = list(partitions), clients.logs
    if not wanted:
        return {}
    if logs is None:
        log.warning("No kafka_conn_id is given, so nobody can tell whether the records at the positions are there.")
        return None

    def look() -> Mapping[TopicPartition, Bounds]:
        try:
            return logs.bounds(wanted)
        except (Unreachable, AccessDenied):
            raise
        except StoreError:
            counts = logs.topics()
            there = [where for where in wanted if where.partition < counts.get(where.topic, 0)]
            if len(there) == len(wanted):
                raise
            return logs.bounds(there)

    return until_timeout(clients, tenacity.retry_if_exception_type(Unreachable))(look)


def _named(gone: list[OutOfLog]) -> str:
    more = f" (and {len(gone) - _NAMED} more partitions)" if len(gone) > _NAMED else ""
    return "; ".join(map(str, gone[:_NAMED])) + more
