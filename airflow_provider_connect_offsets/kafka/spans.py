"""Reads spans of logs to their ends, without joining a group; stopping at the first empty poll would miss records."""

from __future__ import annotations

import hashlib
import logging
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, at_intervals
from airflow_provider_connect_offsets.exceptions import StoreError
from airflow_provider_connect_offsets.kafka.brokers import AclOperation, Brokers
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.words import quantify

log = logging.getLogger(__name__)

_AT_ONCE, _WAIT = 2000, 0.05
# Enough to distinguish records, and too little to reveal their content.
_DIGEST_BYTES = 16
# Limits the memory for prefetched records.
_LARGE = {"queued.max.messages.kbytes": 4096}
# A broker returns at least one batch of one partition; if batches are larger than this, each answer has one batch.
# Java's producers write batches of 16 KB before compression; more would be parsed in vain, and the next request waits
# for it.
_SINGLE = {**_LARGE, "fetch.message.max.bytes": 16_384, "fetch.wait.max.ms": 20}

# Number of partitions whose single records are read at the same time. Each request names all of them and may be
# answered with one batch of one of them: with 1,000 at once, 1,000 records take three times as long.
_TOGETHER = 64

# What Kafka answers to a search for a group's coordinator, if the user has no right on the group.
_OF_GROUP = frozenset({KafkaError.GROUP_AUTHORIZATION_FAILED})

# Topic and partition of a librdkafka message.
_Partition = tuple[str | None, int | None]


class Isolation(StrEnum):
    """Which records a consumer is given (``isolation.level``)."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Passed(NamedTuple):
    """Progress in a partition: all before ``offset`` is read; ``message`` is the record just before it, if any."""

    where: TopicPartition
    offset: int
    message: Message | None


class Spans(Brokers):
    """Reads spans of the logs of one cluster.

    Args:
        config: Settings of librdkafka.
        isolation: Which records to read.
        timeout: Seconds to wait for a message, and for an answer of a broker.
    """

    def __init__(
        self, config: Mapping[str, Any], *, isolation: Isolation = Isolation.READ_COMMITTED, timeout: float = 15.0
    ) -> None:
        super().__init__(config, timeout=timeout)
        self._isolation = isolation

    def read(self, spans: Mapping[TopicPartition, range]) -> Iterator[Passed]:
        """Read all spans, each in order, and also yield gaps at their ends. Raises store errors.

        A span must not start before the log start offset.
        """
        # Plain tuples, because a topic may have millions of records.
        ends: dict[_Partition, tuple[TopicPartition, int]] = {
            (one.topic, one.partition): (one, span.stop) for one, span in spans.items() if span
        }
        unread = {where for where, _end in ends.values()}
        with open_consumer(self._config, self._isolation, **_LARGE) as consumer:
            consumer.assign([_at(where, spans[where].start) for where in unread])
            for messages in consume(self, consumer, unread):
                for message in messages:
                    error, offset = message.error(), message.offset()
                    if error is not None or offset is None:
                        _where, offset, _is_record = position_of(self, message)  # raises, except at a partition's end
                    partition = (message.topic(), message.partition())
                    if partition not in ends:
                        continue
                    where, end = ends[partition]
                    reached = offset + 1 if error is None else offset
                    yield Passed(where, reached, message if reached <= end and error is None else None)
                    if reached >= end:
                        del ends[partition]
                        unread.remove(where)
                        # Otherwise this partition would be read on until all others are at their ends.
                        consumer.pause([_at(where, reached)])

    def batches(self, spans: Mapping[TopicPartition, range]) -> Iterator[list[Message]]:
        """Read all spans, in librdkafka's order; records after the end of a span may be among them.

        It is faster than :meth:`read`. A batch may be empty. Raises store errors.
        """
        unread = {where: span.stop for where, span in spans.items() if span}
        with open_consumer(self._config, self._isolation, **_LARGE) as consumer:
            consumer.assign([_at(where, spans[where].start) for where in unread])
            for messages in consume(self, consumer, unread):
                # The end of a partition is a message without a record, anywhere among the others.
                ends = _with_errors(messages)
                for message in (messages[-1], *ends):
                    where, offset, is_record = position_of(self, message)
                    if where in unread and offset + is_record >= unread[where]:
                        del unread[where]
                yield [one for one in messages if one.error() is None] if ends else messages

    def digests(self, spans: Mapping[TopicPartition, range], *, timed: Mapping[str, bool]) -> Iterator[Digest]:
        """Read all spans and yield a digest of each record.

        Args:
            spans: Span of each partition.
            timed: By topic, whether the remote topic has the timestamps of the source's records, so that they are
                part of the digest; default True.

        Raises:
            StoreError: A partition can't be read.
        """
        for passed in self.read(spans):
            if passed.message is not None:
                content = _digest(passed.message, timed=timed.get(passed.where.topic, True))
                yield Digest(passed.where, passed.offset - 1, content)

    def digests_at(
        self, offsets: Mapping[TopicPartition, Iterable[int]], *, timed: Mapping[str, bool]
    ) -> Iterator[Digest]:
        """Yield digests of single records, skipping offsets without a record; otherwise like :meth:`digests`."""
        requested = [(where, deque(sorted(set(some)))) for where, some in offsets.items()]
        requested = [(where, left) for where, left in requested if left]
        if not requested:
            return
        with open_consumer(self._config, self._isolation, **_SINGLE) as consumer:
            for first in range(0, len(requested), _TOGETHER):
                yield from self._read_single(consumer, dict(requested[first : first + _TOGETHER]), timed)

    def _read_single(
        self, consumer: Consumer, requested: dict[TopicPartition, deque[int]], timed: Mapping[str, bool]
    ) -> Iterator[Digest]:
        """Read the records at these sorted offsets, which are removed from ``requested``."""
        consumer.assign([_at(where, left[0]) for where, left in requested.items()])
        for (message,) in consume(self, consumer, requested, at_once=1):
            where, offset, is_record = position_of(self, message)
            left = requested.get(where)
            if left is None or (is_record and offset < left[0]):
                continue  # was fetched before the last seek or pause
            # Skipped offsets have no record; at the end of the partition neither have the remaining ones.
            while left and (left[0] < offset or not is_record):
                left.popleft()
            if left and left[0] == offset:
                left.popleft()
                yield Digest(where, offset, _digest(message, timed=timed.get(where.topic, True)))
            if not left:
                del requested[where]
                consumer.pause([_at(where, offset)])
            elif left[0] > offset + 1:
                consumer.seek(_at(where, left[0]))


class Digest(NamedTuple):
    """Partition and offset of a record, and a digest of its timestamp, key and value."""

    where: TopicPartition
    offset: int
    digest: bytes


def _at(where: TopicPartition, offset: int) -> KafkaPartition:
    return KafkaPartition(where.topic, where.partition, offset)


@contextmanager
def open_consumer(config: Mapping[str, Any], isolation: Isolation, **more: Any) -> Iterator[Consumer]:
    """Open a consumer that joins no group and commits nothing; settings in ``more`` override ``config``."""
    own = {
        "group.id": "connect-offsets",  # librdkafka requires one
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "isolation.level": isolation.value,
        "fetch.queue.backoff.ms": 5,  # fetches again as soon as there is room
    }
    consumer = Consumer({**config, **own, **more})
    try:
        yield consumer
    finally:
        consumer.close()


def consume(
    cluster: Brokers, consumer: Consumer, unread: Collection[TopicPartition], *, at_once: int = _AT_ONCE
) -> Iterator[list[Message]]:
    """Yield messages until ``unread``, from which the caller removes partitions, is empty.

    Logs the progress every few seconds. Raises :class:`StoreError` if no message comes within ``cluster.timeout``.
    """
    received, reports, among = SYSTEM_CLOCK.now(), at_intervals(), len(unread)
    while unread:
        if reports():
            partitions = quantify(among, "partition")
            log.info("%s: %d of %s have been read.", cluster.servers, among - len(unread), partitions)
        if messages := _of_topics(consumer.consume(at_once, _WAIT)):
            received = SYSTEM_CLOCK.now()
            yield messages
        elif SYSTEM_CLOCK.now() - received > cluster.timeout:
            first = min(unread)
            raise StoreError(
                f"Topic {first.topic!r}, partition {first.partition}: no message for {cluster.timeout:g} s, so the "
                "partition can't be read to its end."
            )


def position_of(cluster: Brokers, message: Message) -> tuple[TopicPartition, int, bool]:
    """Return partition and offset of a message, and False if it has no record but marks the partition's end.

    Raises :class:`StoreError` if the message is an error.
    """
    error, topic, number, offset = message.error(), message.topic(), message.partition(), message.offset()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
        raise cluster.meaning(f"Can't read topic {topic!r}", KafkaException(error), right=AclOperation.READ)
    if topic is None or number is None or offset is None:
        raise StoreError(f"{cluster.servers}: librdkafka returned a message without topic, partition or offset.")
    return TopicPartition(topic, number), offset, error is None


def _digest(message: Message, *, timed: bool) -> bytes:
    # In one call: hashing takes less time than the call.
    content = b"%d%b%b" % (message.timestamp()[1] if timed else 0, _part(message.key()), _part(message.value()))
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _part(data: bytes | str | None) -> bytes:
    content = raw(data)
    return b"-" if content is None else b" %d:%b" % (len(content), content)


def raw(data: bytes | str | None) -> bytes | None:
    """Return a key or value as bytes; librdkafka's types also allow text."""
    return data.encode() if isinstance(data, str) else data


def _of_topics(messages: list[Message]) -> list[Message]:
    """Leave out errors about the consumer's group, which it does not join: librdkafka looks for its coordinator anyway.

    So no right on that group is needed.
    """
    about_group = {id(one) for one in _with_errors(messages) if _code_of(one) in _OF_GROUP}
    return [one for one in messages if id(one) not in about_group] if about_group else messages


def _code_of(message: Message) -> int | None:
    error = message.error()
    return None if error is None else error.code()


def _with_errors(messages: list[Message]) -> list[Message]:
    errors = list(map(Message.error, messages))
    # Mostly there are none, which any() finds without a Python loop.
    return [message for message, error in zip(messages, errors, strict=True) if error] if any(errors) else []
