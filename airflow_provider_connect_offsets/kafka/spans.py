"""Spans of logs, read to their ends without joining a group; whoever stops at the first empty poll misses records."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.exceptions import StoreError
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from airflow_provider_connect_offsets.offsets.families import TopicPartition

_AT_ONCE, _WAIT = 2000, 0.05
# Enough to tell records apart, and too little to tell what is in them.
_DIGEST_BYTES = 16
# Little is held in memory.
_LARGE = {"queued.max.messages.kbytes": 4096}
# A broker gives a batch at least, however little is asked for, but of one partition only: where a batch is larger than
# this, each answer has one. Java's producers write batches of 16 KB, before they compress them; whatever more is given
# is taken apart in vain. And what is asked for next waits for the last answer.
_SINGLE = {**_LARGE, "fetch.message.max.bytes": 16_384, "fetch.wait.max.ms": 20}

# Partitions whose single records are read at the same time. Each request names all of them, and may be answered with
# one batch of one of them: of 1,000 at once, 1,000 records take three times as long.
_TOGETHER = 64

# Topic and partition, as librdkafka tells them.
_Place = tuple[str | None, int | None]


class Isolation(StrEnum):
    """Which records a consumer is given (``isolation.level``)."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class Span(NamedTuple):
    """A part of a log: from ``start`` to before ``end``."""

    start: int
    end: int


class Passed(NamedTuple):
    """How far a partition has been read: to before ``offset``, with the record that ends there, if there is one."""

    where: TopicPartition
    offset: int
    message: Message | None


class Spans(Brokers):
    """Reads spans of the logs of one cluster; ``config`` holds librdkafka's settings.

    ``timeout`` (seconds) bounds every wait for a broker.
    """

    def __init__(
        self, config: Mapping[str, Any], *, isolation: Isolation = Isolation.READ_COMMITTED, timeout: float = 15.0
    ) -> None:
        super().__init__(config, timeout=timeout)
        self._config = dict(config)
        self._isolation = isolation

    def read(self, spans: Mapping[TopicPartition, Span]) -> Iterator[Passed]:
        """Read all spans, each in order; gaps at their ends are passed too. Raises store errors.

        A span must not begin before the log does.
        """
        # By plain tuples, and little else in the loop: a topic may have millions of records.
        unread: dict[_Place, tuple[TopicPartition, int]] = {
            (one.topic, one.partition): (one, span.end) for one, span in spans.items() if span.end > span.start
        }
        with reading(self._config, self._isolation, **_LARGE) as consumer:
            consumer.assign([KafkaPartition(one.topic, one.partition, spans[one].start) for one, _ in unread.values()])
            heard = SYSTEM_CLOCK.now()
            while unread:
                messages = consumer.consume(_AT_ONCE, _WAIT)
                if not messages:
                    self._refuse_silence(heard, (where for where, _end in unread.values()))
                    continue
                heard = SYSTEM_CLOCK.now()
                for message in messages:
                    error, offset = message.error(), message.offset()
                    if error is not None or offset is None:
                        _where, offset, _is_record = place_of(self, message)  # raises, but at a partition's end
                    place = (message.topic(), message.partition())
                    if place not in unread:
                        continue
                    where, end = unread[place]
                    reached = offset + 1 if error is None else offset
                    yield Passed(where, reached, message if reached <= end and error is None else None)
                    if reached >= end:
                        del unread[place]
                        # Or it would be read on while others are not at their ends yet.
                        consumer.pause([_at(where, reached)])

    def batches(self, spans: Mapping[TopicPartition, Span]) -> Iterator[list[Message]]:
        """Read all spans, and what has come behind them meanwhile, as librdkafka gives it; faster than :meth:`read`.

        A batch may be empty. Raises store errors.
        """
        unread = {where: span.end for where, span in spans.items() if span.end > span.start}
        with reading(self._config, self._isolation, **_LARGE) as consumer:
            consumer.assign([_at(where, spans[where].start) for where in unread])
            heard = SYSTEM_CLOCK.now()
            while unread:
                messages = consumer.consume(_AT_ONCE, _WAIT)
                if not messages:
                    self._refuse_silence(heard, unread)
                    continue
                heard = SYSTEM_CLOCK.now()
                # At the end of a partition there is a message without a record, wherever it stands among the others.
                ends = _with_errors(messages)
                for message in (messages[-1], *ends):
                    where, offset, is_record = place_of(self, message)
                    if where in unread and offset + is_record >= unread[where]:
                        del unread[where]
                yield [one for one in messages if one.error() is None] if ends else messages

    def digests(self, spans: Mapping[TopicPartition, Span], *, timed: Mapping[str, bool]) -> Iterator[Digest]:
        """Read all spans and keep of each record no more than tells it from others.

        timed: by topic, whether its remote topic bears the timestamps of the records (not where brokers write their
        own).
        """
        for passed in self.read(spans):
            if passed.message is not None:
                content = _digest(passed.message, timed=timed.get(passed.where.topic, True))
                yield Digest(passed.where, passed.offset - 1, content)

    def digests_at(
        self, offsets: Mapping[TopicPartition, Iterable[int]], *, timed: Mapping[str, bool]
    ) -> Iterator[Digest]:
        """The same of single records, as far as there still are any at these ``offsets``, by one consumer.

        Raises store errors.
        """
        wanted = [(where, deque(sorted(set(some)))) for where, some in offsets.items()]
        wanted = [(where, left) for where, left in wanted if left]
        if not wanted:
            return
        with reading(self._config, self._isolation, **_SINGLE) as consumer:
            for first in range(0, len(wanted), _TOGETHER):
                yield from self._single(consumer, dict(wanted[first : first + _TOGETHER]), timed)

    def _single(
        self, consumer: Consumer, wanted: dict[TopicPartition, deque[int]], timed: Mapping[str, bool]
    ) -> Iterator[Digest]:
        """Read the records at these offsets, which are sorted; ``wanted`` is used up."""
        consumer.assign([_at(where, left[0]) for where, left in wanted.items()])
        heard = SYSTEM_CLOCK.now()
        while wanted:
            message = consumer.poll(_WAIT)
            if message is None:
                self._refuse_silence(heard, wanted)
                continue
            heard = SYSTEM_CLOCK.now()
            where, offset, is_record = place_of(self, message)
            left = wanted.get(where)
            if left is None or (is_record and offset < left[0]):
                continue  # came before the last seek or pause took hold
            # What was come by without a record has none; at a partition's end that is all that is left.
            while left and (left[0] < offset or not is_record):
                left.popleft()
            if left and left[0] == offset:
                left.popleft()
                yield Digest(where, offset, _digest(message, timed=timed.get(where.topic, True)))
            if not left:
                del wanted[where]
                consumer.pause([_at(where, offset)])
            elif left[0] > offset + 1:
                consumer.seek(_at(where, left[0]))

    def _refuse_silence(self, heard: float, unread: Iterable[TopicPartition]) -> None:
        if SYSTEM_CLOCK.now() - heard > self.timeout:
            first = min(unread, key=lambda where: (where.topic, where.partition))
            raise StoreError(
                f"Topic {first.topic!r}: nothing came from partition {first.partition} for {self.timeout:g} s, so it "
                "can't be read to its end."
            )


class Digest(NamedTuple):
    """Where a record stands, and what tells it from others."""

    where: TopicPartition
    offset: int
    digest: bytes


def _at(where: TopicPartition, offset: int) -> KafkaPartition:
    return KafkaPartition(where.topic, where.partition, offset)


@contextmanager
def reading(config: Mapping[str, Any], isolation: Isolation, **more: Any) -> Iterator[Consumer]:
    """Open a consumer that joins no group and commits nothing; ``more`` settings go over ``config``."""
    own = {
        "group.id": "connect-offsets",  # librdkafka wants one
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "earliest",
        "isolation.level": isolation.value,
        "fetch.queue.backoff.ms": 5,  # asked for again as soon as there is room
    }
    consumer = Consumer({**config, **own, **more})
    try:
        yield consumer
    finally:
        consumer.close()


def place_of(cluster: Brokers, message: Message) -> tuple[TopicPartition, int, bool]:
    """Partition, offset, and whether there is a record: a partition's end is told too. Raises store errors."""
    error, topic, number, place = message.error(), message.topic(), message.partition(), message.offset()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
        raise cluster.meaning(f"Can't read topic {topic!r}", KafkaException(error))
    if topic is None or number is None or place is None:
        raise StoreError(f"{cluster.servers}: librdkafka gave a message without a place.")
    return TopicPartition(topic, number), place, error is None


def _digest(message: Message, *, timed: bool) -> bytes:
    # All at once: the hash itself takes less time than each call does.
    content = b"%d%b%b" % (message.timestamp()[1] if timed else 0, _part(message.key()), _part(message.value()))
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _part(content: bytes | str | None) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return b"-" if raw is None else b" %d:%b" % (len(raw), raw)


def _with_errors(messages: list[Message]) -> list[Message]:
    errors = list(map(Message.error, messages))
    # Mostly there are none, which is known without a loop of Python's own.
    return [message for message, error in zip(messages, errors, strict=True) if error] if any(errors) else []
