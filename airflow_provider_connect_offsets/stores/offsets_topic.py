"""The topic in which distributed workers keep the offsets of source connectors.

Workers read it whole, committed records only, and the last record of a key counts. So does this: to the end offsets
that the topic had when reading began, passing over keys of another shape, and keeping the bytes of each key, by which
alone a worker finds an offset. Sources: ``KafkaOffsetBackingStore``, ``KafkaBasedLog``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from airflow_provider_connect_offsets.exceptions import (
    InvalidDocument,
    InvalidInput,
    OutcomeUnknown,
    StoreDamaged,
    StoreError,
)
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets
from airflow_provider_connect_offsets.stores.brokers import Brokers
from airflow_provider_connect_offsets.stores.protocols import WriteReply

_FLUSH = 30.0


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """One record: where it stands, when it was written (milliseconds since 1970), key and value as they are."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None


class OffsetsTopic(Brokers):
    """An offsets topic as an :class:`~.stores.protocols.OffsetStore`; ``config`` holds librdkafka's settings.

    Writing to it is for connectors that no worker runs: a worker overwrites what it holds itself with its next flush.
    """

    def __init__(self, config: Mapping[str, Any], topic: str, *, timeout: float = 15.0) -> None:
        super().__init__(config, timeout=timeout)
        self.topic = topic
        self._config = dict(config)

    def records(self) -> Iterator[TopicRecord]:
        """Read all committed records that the topic holds now, partition by partition in their order.

        Raises :class:`InvalidInput` where there is no such topic, and store errors.
        """
        ends = self.ask(f"read topic {self.topic!r}", self._ends)
        with self._consumer() as consumer:
            consumer.assign([TopicPartition(self.topic, number, 0) for number in ends])
            unfinished = {number for number, end in ends.items() if end > 0}
            while unfinished:
                message = consumer.poll(self.timeout)
                if message is None:
                    missing = ", ".join(map(str, sorted(unfinished)))
                    raise StoreError(f"Topic {self.topic!r}: partitions {missing} can't be read to their end.")
                record, number, place = self._read(message)
                if record is not None and place < ends[number]:
                    yield record
                if place >= ends[number] - 1:
                    unfinished.discard(number)

    def connectors(self) -> list[str]:
        """Names of all connectors that have an offset, sorted."""
        return self._latest()[0].connectors()

    def read_offsets(self, connector: str) -> Offsets:
        """Read all offsets of ``connector``; none where the topic holds none of it."""
        with self._readable(connector):
            return self._latest()[0].offsets_of(connector)

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Write a record for each change (offset None: a tombstone), under the key that stands there, where it stands.

        Raises :class:`OutcomeUnknown` where not all were confirmed: read back.
        """
        stored, places = self._latest()
        return self._write(connector, stored.changed(connector, changes), places)

    def reset_offsets(self, connector: str) -> WriteReply:
        """Write a tombstone for every partition of ``connector``."""
        stored, places = self._latest()
        with self._readable(connector):
            removal = stored.removal_of(connector)
        return self._write(connector, stored.changed(connector, removal), places)

    @contextmanager
    def _readable(self, connector: str) -> Iterator[None]:
        try:
            yield
        except InvalidDocument as error:
            text = f"Topic {self.topic!r} holds an offset of {connector!r} that can't be read: {error}."
            raise StoreDamaged(text) from error

    def _write(self, connector: str, pairs: Mapping[bytes, bytes | None], places: Mapping[bytes, int]) -> WriteReply:
        self._produce(connector, pairs, places)
        return WriteReply(f"{len(pairs)} records were written to topic {self.topic!r}.")

    def _latest(self) -> tuple[StoredOffsets, dict[bytes, int]]:
        """The last value of each key, and the partition in which it stands."""
        values: dict[bytes, bytes | None] = {}
        places: dict[bytes, int] = {}
        for record in self.records():
            values[record.key], places[record.key] = record.value, record.partition
        return StoredOffsets(values), places

    def _ends(self, client: AdminClient) -> dict[int, int]:
        """By partition: the offset after the last record that is committed or was given up."""
        found = client.list_topics(self.topic, timeout=self.timeout).topics[self.topic]
        if found.error is not None:
            if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise InvalidInput(f"There is no topic {self.topic!r} in the cluster of {self.servers}.")
            raise KafkaException(found.error)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(self.topic, number): latest for number in found.partitions}
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
        }
        consumer = Consumer({**self._config, **own})
        try:
            yield consumer
        finally:
            consumer.close()

    def _read(self, message: Message) -> tuple[TopicRecord | None, int, int]:
        """The record (None at a partition's end), its partition, and how far that has been read."""
        error, number, place = message.error(), message.partition(), message.offset()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant
            raise self.meaning(f"Can't read topic {self.topic!r}", KafkaException(error))
        if number is None or place is None:
            raise StoreError(f"Topic {self.topic!r}: librdkafka gave a message without a place.")
        if error is not None:
            return None, number, place
        key, value = message.key(), message.value()
        return TopicRecord(number, place, message.timestamp()[1], _raw(key) or b"", _raw(value)), number, place

    def _produce(self, connector: str, pairs: Mapping[bytes, bytes | None], places: Mapping[bytes, int]) -> None:
        failed: list[KafkaError] = []
        own = {"acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random"}  # as Java's producer does it
        producer = Producer({**self._config, **own})
        for key, value in pairs.items():
            producer.produce(
                self.topic,
                value,
                key,
                places.get(key, -1),
                on_delivery=lambda error, _message: failed.append(error) if error else None,
            )
            producer.poll(0)
        left = producer.flush(_FLUSH)
        if failed or left:
            why = failed[0].str() if failed else f"no answer within {_FLUSH:g} s"
            raise OutcomeUnknown(
                f"{len(failed) + left} of {len(pairs)} records of {connector!r} were not confirmed by topic "
                f"{self.topic!r} ({why}): read back before anything else."
            )


def _raw(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
