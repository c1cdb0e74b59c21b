"""A topic, read whole: to the end offsets that it had when reading began, committed records only, joining no group.

A reader that stops at the first empty poll misses records of a large topic. Sources: ``KafkaBasedLog``, KIP-98.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import InvalidInput, StoreError
from airflow_provider_connect_offsets.stores.brokers import Brokers
from airflow_provider_connect_offsets.stores.clock import SYSTEM_CLOCK

# Told of how far reading has come: offsets passed, and how many there are in all.
Progress = Callable[[int, int], None]

_AT_ONCE, _WAIT = 2000, 0.05


class TopicRecord(NamedTuple):
    """One record: where it stands, when it was written (milliseconds since 1970), key and value as they are."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None


class TopicReader(Brokers):
    """Reads one topic; ``config`` holds librdkafka's settings, ``timeout`` (seconds) bounds every wait for a broker."""

    def __init__(self, config: Mapping[str, Any], topic: str, *, timeout: float = 15.0) -> None:
        super().__init__(config, timeout=timeout)
        self.topic = topic
        self._config = dict(config)

    def records(self, progress: Progress | None = None) -> Iterator[TopicRecord]:
        """Read all committed records that the topic holds now; the order is kept within each partition.

        Raises :class:`InvalidInput` where there is no such topic, and store errors.
        """
        starts, ends = self.ask(f"read topic {self.topic!r}", self._bounds)
        total = sum(end - starts[number] for number, end in ends.items())
        unread = {number: end for number, end in ends.items() if end > starts[number]}
        reached = dict(starts)
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(self.topic, number, starts[number]) for number in unread])
            heard = SYSTEM_CLOCK.now()
            while unread:
                messages = consumer.consume(_AT_ONCE, _WAIT)
                if not messages:
                    self._refuse_silence(heard, unread)
                    continue
                heard = SYSTEM_CLOCK.now()
                for message in messages:
                    number, place, record = self._read(message)
                    if record is not None and place < ends[number]:
                        yield record
                    reached[number] = place if record is None else place + 1
                    if reached[number] >= ends[number]:
                        unread.pop(number, None)
                if progress is not None:
                    progress(sum(min(reached[number], ends[number]) - starts[number] for number in ends), total)

    def _refuse_silence(self, heard: float, unread: Mapping[int, int]) -> None:
        if SYSTEM_CLOCK.now() - heard > self.timeout:
            missing = ", ".join(map(str, sorted(unread)))
            raise StoreError(
                f"Topic {self.topic!r}: nothing came from partitions {missing} for {self.timeout:g} s, so they can't "
                "be read to their end."
            )

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
        asked = {TopicPartition(self.topic, number): spec for number in numbers}
        answers = client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self.timeout
        )
        return {where.partition: answer.result().offset for where, answer in answers.items()}

    @contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        own = {
            "group.id": "connect-offsets",  # librdkafka wants one; it is neither joined nor committed to
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            # Little is held in memory, and asked for again as soon as there is room.
            "queued.max.messages.kbytes": 4096,
            "fetch.queue.backoff.ms": 5,
        }
        consumer = Consumer({**self._config, **own})
        try:
            yield consumer
        finally:
            consumer.close()

    def _read(self, message: Message) -> tuple[int, int, TopicRecord | None]:
        """Partition, offset, and the record; None for it at a partition's end."""
        error, number, place = message.error(), message.partition(), message.offset()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
            raise self.meaning(f"Can't read topic {self.topic!r}", KafkaException(error))
        if number is None or place is None:
            raise StoreError(f"Topic {self.topic!r}: librdkafka gave a message without a place.")
        if error is not None:
            return number, place, None
        key, value = message.key(), message.value()
        return number, place, TopicRecord(number, place, message.timestamp()[1], _raw(key) or b"", _raw(value))


def _raw(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
