"""A topic, read whole: to the end offsets that it had when reading began, committed records only, joining no group.

A reader that stops at the first empty poll misses records of a large topic. Sources: ``KafkaBasedLog``, KIP-98.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.spans import Span, Spans
from airflow_provider_connect_offsets.offsets.families import TopicPartition

# Told of how far reading has come: offsets passed, and how many there are in all.
Progress = Callable[[int, int], None]

_TOLD_EVERY = 2000


class TopicRecord(NamedTuple):
    """One record: where it stands, when it was written (milliseconds since 1970), key and value as they are."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None


class TopicReader(Spans):
    """Reads one topic; ``config`` holds librdkafka's settings, ``timeout`` (seconds) bounds every wait for a broker."""

    def __init__(self, config: Mapping[str, Any], topic: str, *, timeout: float = 15.0) -> None:
        super().__init__(config, timeout=timeout)
        self.topic = topic

    def records(self, progress: Progress | None = None) -> Iterator[TopicRecord]:
        """Read all committed records that the topic holds now; the order is kept within each partition.

        Raises :class:`InvalidInput` where there is no such topic, and store errors.
        """
        starts, ends = self._limits()
        total = sum(end - starts[number] for number, end in ends.items())
        reached = dict(starts)
        for count, (where, offset, message) in enumerate(self.read(self._spans(starts, ends)), start=1):
            number = where.partition
            if message is not None:
                yield _record(number, offset - 1, message)
            if progress is not None:
                reached[number] = min(offset, ends[number])
                if count % _TOLD_EVERY == 0 or reached == ends:
                    progress(sum(reached[number] - starts[number] for number in ends), total)

    def latest(self) -> Iterator[TopicRecord]:
        """The last record of each key, which is what compaction leaves; raises as :meth:`records` does.

        They are held in memory, so this is for topics that are compacted, by keys that are in one partition each. What
        comes while it reads may be among them.
        """
        last: dict[bytes | str | None, Message] = {}
        spans = self._spans(*self._limits())
        with _uncollected():
            for messages in self.batches(spans):
                # No loop of Python's own: a topic may have millions of records, of which few are the last ones.
                last.update(zip(map(Message.key, messages), messages, strict=True))
        return (_record(message.partition() or 0, message.offset() or 0, message) for message in last.values())

    def _limits(self) -> tuple[dict[int, int], dict[int, int]]:
        return self.ask(f"read topic {self.topic!r}", self._bounds)

    def _spans(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> dict[TopicPartition, Span]:
        return {TopicPartition(self.topic, number): Span(starts[number], end) for number, end in ends.items()}

    def _bounds(self, client: AdminClient) -> tuple[dict[int, int], dict[int, int]]:
        """By partition: its first offset, and the one after the last record that is committed or was given up."""
        found = client.list_topics(self.topic, timeout=self.timeout).topics[self.topic]
        if found.error is not None:
            if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise InvalidInput(f"There is no topic {self.topic!r} in the cluster of {self.servers}.")
            raise KafkaException(found.error)
        numbers = list(found.partitions)
        earliest, latest = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return self._offsets(client, numbers, earliest), self._offsets(client, numbers, latest)

    def _offsets(self, client: AdminClient, numbers: Iterable[int], spec: OffsetSpec) -> dict[int, int]:
        asked = {KafkaPartition(self.topic, number): spec for number in numbers}
        answers = client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self.timeout
        )
        return {where.partition: answer.result().offset for where, answer in answers.items()}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for reference cycles: it goes through all messages held, again and again, and there are none."""
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _record(partition: int, offset: int, message: Message) -> TopicRecord:
    key, value = message.key(), message.value()
    return TopicRecord(partition, offset, message.timestamp()[1], _raw(key) or b"", _raw(value))


def _raw(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
