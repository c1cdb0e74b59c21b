"""Reads the committed records of a whole topic, to the end offsets at the start of reading, without joining a group.

Stopping at the first empty poll would miss records of a large topic. Sources: ``KafkaBasedLog``, KIP-98.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.spans import Spans, raw
from airflow_provider_connect_offsets.offsets.families import TopicPartition

# Called with the number of offsets read so far, and of all offsets to read.
Progress = Callable[[int, int], None]

_PROGRESS_EVERY = 2000


class TopicRecord(NamedTuple):
    """One record of a topic.

    Attributes:
        partition: Number of its partition.
        offset: Its offset.
        timestamp_ms: When it was written (milliseconds since 1970).
        key: Raw key; empty if it has none.
        value: Raw value; None for a tombstone.
    """

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None


class FullRecord(NamedTuple):
    """A record with all its parts.

    Attributes:
        where: Its topic and partition.
        offset: Its offset.
        timestamp_ms: Its timestamp (milliseconds since 1970).
        key: Its raw key; None if it has none.
        value: Its raw value; None for a tombstone.
        headers: Names and raw values, in order; a name may occur more than once.
    """

    where: TopicPartition
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @classmethod
    def of(cls, where: TopicPartition, offset: int, message: Message) -> FullRecord:
        """Return the record that librdkafka has read."""
        pairs: list[tuple[str, str | bytes | None]] = list(message.headers() or ())  # type: ignore[arg-type]
        headers = tuple((name, raw(value)) for name, value in pairs)
        return cls(where, offset, message.timestamp()[1], raw(message.key()), raw(message.value()), headers)


class TopicReader(Spans):
    """Reads one topic; ``config`` and ``timeout`` are as in :class:`Spans`."""

    def __init__(self, config: Mapping[str, Any], topic: str, *, timeout: float = 15.0) -> None:
        super().__init__(config, timeout=timeout)
        self.topic = topic

    def records(self, progress: Progress | None = None) -> Iterator[TopicRecord]:
        """Read all present committed records, in order within each partition.

        Raises:
            InvalidInput: The topic does not exist.
            StoreError: It can't be read.
        """
        spans = self._spans()
        reached = {where: span.start for where, span in spans.items()}
        ends = {where: span.stop for where, span in spans.items()}
        begin = sum(reached.values())
        for count, (where, offset, message) in enumerate(self.read(spans), start=1):
            if message is not None:
                yield _record(where.partition, offset - 1, message)
            if progress is not None:
                reached[where] = min(offset, ends[where])
                if count % _PROGRESS_EVERY == 0 or reached == ends:
                    progress(sum(reached.values()) - begin, sum(ends.values()) - begin)

    def read_latest(self) -> Iterator[TopicRecord]:
        """Return the last record of each key, which compaction leaves; raises as :meth:`records` does.

        For compacted topics in which each key has one partition: the records are held in memory. Records that are
        written during reading may be included.
        """
        last: dict[bytes | str | None, Message] = {}
        spans = self._spans()
        with _pause_collection():
            for messages in self.batches(spans):
                # No Python loop, because a topic may have millions of records and few keys.
                last.update(zip(map(Message.key, messages), messages, strict=True))
        return (_record(message.partition() or 0, message.offset() or 0, message) for message in last.values())

    def _spans(self) -> dict[TopicPartition, range]:
        """Return log start offset and last stable offset of each partition."""
        return self.ask(f"read topic {self.topic!r}", self._bounds)

    def _bounds(self, client: AdminClient) -> dict[TopicPartition, range]:
        metadata = client.list_topics(self.topic, timeout=self.timeout).topics[self.topic]
        if metadata.error is not None:
            if metadata.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise InvalidInput(f"There is no topic {self.topic!r} in the cluster of {self.servers}.")
            raise KafkaException(metadata.error)
        partitions = [TopicPartition(self.topic, number) for number in metadata.partitions]
        starts, ends = (
            self.request_offsets(client, dict.fromkeys(partitions, spec), IsolationLevel.READ_COMMITTED)
            for spec in (OffsetSpec.earliest(), OffsetSpec.latest())  # type: ignore[no-untyped-call]
        )
        return {where: range(starts[where].result().offset, ends[where].result().offset) for where in partitions}


@contextmanager
def _pause_collection() -> Iterator[None]:
    """Pause garbage collection, which would traverse all held messages repeatedly although they have no cycles."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _record(partition: int, offset: int, message: Message) -> TopicRecord:
    key, value = message.key(), message.value()
    return TopicRecord(partition, offset, message.timestamp()[1], raw(key) or b"", raw(value))
