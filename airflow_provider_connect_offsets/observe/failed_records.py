"""The records on which a sink has failed: read from its committed positions, or reported by Connect itself.

Neither the stack trace nor the committed position names the record: conversion happens for a whole poll (up to
``max.poll.records``) before any record of the poll is delivered. See ``docs/seen.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus
from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.topic_reader import FullRecord
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import isolation_of
from airflow_provider_connect_offsets.observe.waiting import consumed_partitions, stored_positions
from airflow_provider_connect_offsets.offsets.conversion import Converters, is_of_json, is_of_one_record
from airflow_provider_connect_offsets.offsets.families import ConnectorType, TopicPartition

#: Topic, partition and offset of a record.
Place: TypeAlias = tuple[str, int, int]
#: Prefix of the headers that name the record in a dead letter queue (``DeadLetterQueueReporter``).
_HEADER = "__connect.errors."
_TOPIC_NAME = re.compile(r"[^a-zA-Z0-9._-]")


class Way(StrEnum):
    """How a record was found: by reading it, or by Connect's report on a run with one record a poll."""

    READ = "read"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True)
class FailedSink:
    """A sink as observed.

    Attributes:
        info: Its configuration, which may have secrets.
        status: Its state and its tasks' states.
        positions: The next record to be read of each partition that it reads; None: no offset is committed.
        bounds: Log bounds of these partitions.
    """

    info: ConnectorInfo
    status: ConnectorStatus
    positions: Mapping[TopicPartition, int | None]
    bounds: Mapping[TopicPartition, LogBounds]

    @property
    def name(self) -> str:
        """Name of the connector."""
        return self.info.name

    @property
    def has_failed(self) -> bool:
        """Whether the connector or a task has failed."""
        return self.status.has_failed

    @property
    def is_of_one_record(self) -> bool:
        """Whether a task failed on one record."""
        return any(is_of_one_record(task.trace) for task in self.status.failed_tasks)

    def start(self, where: TopicPartition) -> int:
        """Return the first offset that the sink would read: its position, or the log start without one."""
        position, bounds = self.positions.get(where), self.bounds[where]
        return bounds.log_start if position is None else max(position, bounds.log_start)

    @property
    def unread_counts(self) -> dict[TopicPartition, int]:
        """The partitions that have offsets after the position, and how many."""
        left = {where: self.bounds[where].log_end - self.start(where) for where in self.positions}
        return {where: count for where, count in left.items() if count > 0}


@dataclass(frozen=True, slots=True)
class FailedRecord:
    """A record on which a sink fails.

    Attributes:
        record: The record.
        position: The committed position of its partition; None: none was committed.
        passed: How many records lie between the position and it, which the sink has not delivered yet.
        way: How it was found.
        why: What fails, without the record's content, like ``VALUE_CONVERTER: JsonConverter raises DataException``.
        message: The error's message, which may have content of the record; empty: unknown.
        certain: Whether the sink fails on no earlier record of the partition.
    """

    record: FullRecord
    position: int | None
    passed: int
    way: Way
    why: str
    message: str = ""
    certain: bool = True

    @property
    def place(self) -> Place:
        """Its topic, partition and offset."""
        where = self.record.where
        return where.topic, where.partition, self.record.offset

    @property
    def is_next(self) -> bool:
        """Whether it is the next record that the sink reads: only then can it be skipped without skipping others."""
        return self.passed == 0

    @property
    def is_proved(self) -> bool:
        """Whether the sink fails on it, and on nothing before it."""
        return self.certain and self.is_next

    def __str__(self) -> str:
        """Name its place."""
        return name_record(self.place)


def name_record(place: Place) -> str:
    """Name a record by its topic, partition and offset."""
    topic, partition, offset = place
    return f"topic {topic!r}, partition {partition}, offset {offset}"


def observe_sink(clients: Clients, connector: str) -> FailedSink:
    """Observe a sink, its positions and its logs.

    Raises:
        InvalidRequest: It is not a sink, or ``clients`` have no logs.
        UnreadablePattern: Only Java can match its ``topics.regex``.
        StoreError: A system does not answer, or refuses.
    """
    info = clients.control.info(connector)
    if info.type is not ConnectorType.SINK:
        raise InvalidRequest(f"{connector!r} is a source connector. Only a sink fails on a record of a topic.")
    logs = clients.logs_of(connector)
    status = clients.control.status(connector)
    stored = stored_positions(clients, info)
    consumed = consumed_partitions(clients, info)
    positions = {where: stored.get(where) for where in consumed}
    return FailedSink(info, status, positions, logs.bounds(positions) if positions else {})


def read_unconvertible(sink: FailedSink, kafka: KafkaCluster, *, most: int) -> list[FailedRecord]:
    """Find the first record of each partition, from the committed position on, that the converters can't convert.

    Reads nothing unless a JSON converter failed, as only its rules are known here. Leaves out partitions without a
    committed offset, where ``auto.offset.reset`` decides what is read.

    Args:
        sink: The failed sink.
        kafka: The cluster of its topics.
        most: Most offsets that are read in each partition.

    Raises:
        StoreError: Kafka does not answer, or refuses.
    """
    if not any(is_of_json(task.trace) for task in sink.status.failed_tasks):
        return []
    converters = Converters.of(sink.info.config)
    spans = {
        where: range(sink.start(where), min(sink.bounds[where].log_end, sink.start(where) + most))
        for where in sink.unread_counts
        if sink.positions[where] is not None
    }
    found: dict[TopicPartition, FailedRecord] = {}
    passed, doubtful = dict.fromkeys(spans, 0), set[TopicPartition]()
    with closing(kafka.full_records(spans, isolation_of(sink.info))) as records:
        for record in records:
            where = record.where
            if where in found:
                continue
            part, is_certain = converters.unconvertible_part(record.key, record.value)
            if part:
                why = f"{part.upper()}_CONVERTER: JsonConverter can't convert the {part}"
                certain = where not in doubtful
                position = sink.positions[where]
                found[where] = FailedRecord(record, position, passed[where], Way.READ, why, certain=certain)
                if len(found) == len(spans):
                    break
            elif not is_certain:
                doubtful.add(where)
            passed[where] += 1
    return [found[where] for where in sorted(found)]


def reports_topic(connector: str, *, cluster: str) -> str:
    """Name the topic to which Connect reports the record on which a sink fails, for the time of one run."""
    return f"connect-offsets-poison-{_TOPIC_NAME.sub('_', f'{connector}-{cluster}')}"[:249]


def reports_end(clients: Clients, topic: str) -> int:
    """Return how many reports a topic has had; 0 if it does not exist. Raises store errors."""
    logs = clients.logs_of(topic)
    where = TopicPartition(topic, 0)
    return logs.bounds([where])[where].log_end if logs.counts_of([topic]) else 0


def read_reported(
    sink: FailedSink, clients: Clients, kafka: KafkaCluster, topic: str, *, since: int
) -> list[FailedRecord]:
    """Read which records Connect has reported since offset ``since`` of a topic of reports, each once.

    Even if Connect does not tolerate errors, it reports the record before the task fails
    (``RetryWithToleranceOperator.execute``). A record that the sink's position has passed by now is left out.

    Raises:
        StoreError: Kafka does not answer, or refuses.
    """
    where = TopicPartition(topic, 0)
    end = reports_end(clients, topic)
    reports = kafka.full_records({where: range(since, end)}) if end > since else iter(())
    by_place = {place: headers for place, headers in map(_report, reports) if place[0] in sink.positions}
    return [one for place, headers in by_place.items() for one in _locate(sink, kafka, *place, headers)]


def _report(report: FullRecord) -> tuple[tuple[TopicPartition, int], Mapping[str, str]]:
    """Return the place that a report names, and its headers."""
    headers = {
        name.removeprefix(_HEADER): (value or b"").decode(errors="replace")
        for name, value in report.headers
        if name.startswith(_HEADER)
    }
    where = TopicPartition(headers.get("topic", ""), int(headers.get("partition", "-1")))
    return (where, int(headers.get("offset", "-1"))), headers


def _locate(
    sink: FailedSink, kafka: KafkaCluster, where: TopicPartition, offset: int, headers: Mapping[str, str]
) -> Iterator[FailedRecord]:
    """Read the reported record, and count the records between the sink's position and it."""
    start = sink.start(where)
    if offset < start:
        return
    records = kafka.full_records({where: range(start, offset + 1)}, isolation_of(sink.info))
    before = [one for one in records if one.offset <= offset]
    if before and before[-1].offset == offset:
        by, error = (_simple(headers.get(name, "")) for name in ("class.name", "exception.class.name"))
        yield FailedRecord(
            before[-1],
            sink.positions[where],
            len(before) - 1,
            Way.REPORTED,
            f"{headers.get('stage', 'unknown stage')}: {by} raises {error}",
            headers.get("exception.message", ""),
        )


def select_still_next(sink: FailedSink, records: Iterable[FailedRecord]) -> list[FailedRecord]:
    """Return the records found before on which the sink still fails: its position has not moved since."""
    return [one for one in records if sink.positions.get(one.record.where, -1) == one.position]


def _simple(class_name: str) -> str:
    return class_name.rpartition(".")[2]
