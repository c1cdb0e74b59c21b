"""How far a connector is behind its logs, and waiting for a MirrorSource; "drained" is decided by the records."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning, UnreadablePattern
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.remaining import Remaining, RemainingRecords
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.waiting import Observation, consumed_partitions, stored_positions
from airflow_provider_connect_offsets.offsets.families import MirrorSource, OffsetReset, TopicPartition
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern

log = logging.getLogger(__name__)
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Replicated:
    """How far a partition is replicated, or read by a sink.

    ``position``: the stored offset + 1, None where nothing is stored. ``first``: the first record that is not
    replicated; None where there is none. ``known``: whether that can be told: not where nothing is stored and the
    consumer starts at the end.
    """

    position: int | None
    bounds: LogBounds
    first: Remaining | None
    known: bool = True

    @property
    def lag(self) -> int | None:
        """Offsets from the position to the log end, 0 where no record is left; out of range, from the log start."""
        if not self.known:
            return None
        if self.first is None:
            return 0
        in_range = self.position is not None and self.position <= self.bounds.log_end
        return self.bounds.log_end - (
            self.position if in_range and self.position is not None else self.bounds.log_start
        )

    def seconds(self, now: float) -> float | None:
        """Age of the first record that is not replicated; ``now`` in seconds since 1970. None: not known."""
        if not self.known:
            return None
        if self.first is None:
            return 0.0
        return None if self.first.timestamp_ms is None else max(0.0, now - self.first.timestamp_ms / 1000)


def isolation_of(config: Config) -> Isolation:
    """Which records a connector reads: ``isolation.level`` of MirrorSource's source consumer, or a sink's consumer."""
    names = ("source.consumer.isolation.level", "consumer.isolation.level", "consumer.override.isolation.level")
    found = next((config[name].strip().lower() for name in names if config.get(name)), "")
    return Isolation.READ_COMMITTED if found == Isolation.READ_COMMITTED else Isolation.READ_UNCOMMITTED


def replicated(
    clients: Clients,
    info: ConnectorInfo,
    logs: RemainingRecords,
    *,
    selects: Callable[[str], bool] = lambda _topic: True,
) -> dict[TopicPartition, Replicated]:
    """Look at all partitions that are in the source and that ``info`` reads or has an offset for.

    The stored offsets are read before the logs, so that time makes the lag look larger, never smaller; what its tasks
    have not flushed yet is not seen. ``selects``: which topics. Raises store errors.
    """
    stored, counts = stored_positions(clients, info), logs.topics()
    known = {*stored, *_consumed(clients, info)}
    there = {where for where in known if selects(where.topic) and where.partition < counts.get(where.topic, 0)}
    bounds = logs.bounds(there)
    from_latest = info.family.offset_reset(info.config) is OffsetReset.LATEST
    untold = {where for where in there if stored.get(where) is None and from_latest}
    starts = {where: _position(stored, where, bounds) for where in there - untold}
    first = logs.first_remaining(starts, isolation=isolation_of(info.config))
    return {
        where: Replicated(stored.get(where), bounds[where], first.get(where), known=where not in untold)
        for where in sorted(there, key=lambda where: (where.topic, where.partition))
    }


@dataclass(frozen=True, slots=True)
class AwaitedLag:
    """A lag that is awaited in every partition of ``topics`` (a pattern for whole names, None: all).

    ``records`` and ``seconds``: at most so many; None: it doesn't matter. 0 records: nothing is left to replicate.
    """

    topics: str | None = None
    records: int | None = 0
    seconds: float | None = None

    @classmethod
    def parse(cls, *, topics: str = "", max_lag_records: object = None, max_lag_seconds: object = None) -> AwaitedLag:
        """Read what a template may have made texts; 0 records where neither bound is given.

        Raises :class:`InvalidRequest`.
        """
        pattern = typed_pattern(topics, param="topics").pattern.strip() or None
        records, seconds = _bound(max_lag_records, "max_lag_records"), _bound(max_lag_seconds, "max_lag_seconds")
        return cls(pattern, 0 if records is None and seconds is None else records, seconds)

    def behind(self, where: TopicPartition, found: Replicated, now: float) -> str:
        """Say how far a partition is behind; empty where it is as awaited."""
        lag, seconds = found.lag, found.seconds(now)
        many = self.records is not None and lag is not None and lag > self.records
        # Of a record whose time nobody knows, nobody knows that it is young enough.
        old = self.seconds is not None and found.first is not None and (seconds is None or seconds > self.seconds)
        if not many and not old:
            return ""
        age = "" if seconds is None else f", the first of them {seconds:,.0f} s old"
        return f"{where.topic}-{where.partition} lacks {lag or 0:,} records{age}"


def observe_lag(clients: Clients, connector: str, logs: RemainingRecords, awaited: AwaitedLag) -> Observation:
    """Whether MirrorSource ``connector`` is as little behind as ``awaited``; ``logs`` are those of its source cluster.

    Raises :class:`InvalidRequest` where it is no MirrorSource and where no partition is selected, :class:`NotRunning`
    where it has failed, as waiting would not mend that, and store errors.
    """
    info = clients.control.info(connector)
    if info.family.name != MirrorSource.name:
        raise InvalidRequest(f"{connector!r} is a {info.connector_class}, and no MirrorSourceConnector.")
    status = clients.control.status(connector)
    pattern = re.compile(awaited.topics or ".*", re.DOTALL)
    found = replicated(clients, info, logs, selects=lambda topic: pattern.fullmatch(topic) is not None)
    if not found:
        raise InvalidRequest(f"{connector!r} has no partition of topics {awaited.topics or '.*'!r} to wait for.")
    now = time.time()
    behind = [text for where, one in found.items() if (text := awaited.behind(where, one, now))]
    if not behind:
        return Observation(reached=True, sentence=f"{connector!r} is there in all of {len(found)} partitions.")
    more = f" and {len(behind) - _NAMED} more" if len(behind) > _NAMED else ""
    sentence = f"{connector!r} ({status.state}): {'; '.join(behind[:_NAMED])}{more}."
    if status.has_failed:
        raise NotRunning(f"{sentence} It has failed: {status.cause}")
    return Observation(reached=False, sentence=sentence)


def _consumed(clients: Clients, info: ConnectorInfo) -> list[TopicPartition]:
    try:
        return consumed_partitions(clients, info)
    except UnreadablePattern as error:
        log.warning("%s Topics that nothing is stored for are left out.", error)
        return []


def _position(
    stored: Mapping[TopicPartition, int | None], where: TopicPartition, bounds: Mapping[TopicPartition, LogBounds]
) -> int:
    position = stored.get(where)
    return bounds[where].log_start if position is None else position


def _bound(value: object, name: str) -> int | None:
    text = "" if value is None else str(value).strip()
    if text and not re.fullmatch(r"\d{1,15}", text, re.ASCII):
        raise InvalidRequest(f"{name}: {value!r} is no whole number, 0 or greater.")
    return int(text) if text else None
