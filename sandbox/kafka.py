"""A client with which tests and the demo write to a Kafka cluster and read from it."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import repeat

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from sandbox.errors import SandboxError
from sandbox.waiting import wait_for, wait_until

# For one request, and for all waiting without progress.
_TIMEOUT = 60.0

# librdkafka logs every lost connection, and brokers are stopped here on purpose; failures are raised anyway.
_SILENT = logging.getLogger("sandbox.librdkafka")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

# Order without idempotence, which costs a second per producer. Keys go to the same partitions as in the Java client.
_IN_ORDER: dict[str, str | int | float | bool] = {
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 5,
    "topic.metadata.propagation.max.ms": 3000,  # a topic that is not known by then does not exist
    "partitioner": "murmur2_random",
}


@dataclass(frozen=True, slots=True)
class Record:
    """One record that was read from a topic."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None


class Kafka(ABC):
    """A client of the cluster at :attr:`bootstrap`."""

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """``host:port`` of the cluster."""

    def client_settings(self) -> dict[str, str | int | float | bool]:
        """The settings of every librdkafka client of this cluster."""
        # Reconnect soon after a broker's restart, instead of after ten seconds.
        return {"bootstrap.servers": self.bootstrap, "reconnect.backoff.max.ms": 200, "log_level": 0}

    @contextmanager
    def admin(self) -> Iterator[AdminClient]:
        """An admin client of the cluster."""
        client = AdminClient(self.client_settings(), logger=_SILENT)
        yield client
        # Nothing to close: librdkafka's client ends with the object.

    def answers(self, timeout: float = 1.0) -> bool:
        """Whether a broker of the cluster answers and has joined it."""
        return self.cluster_id(timeout) is not None

    def cluster_id(self, timeout: float = 1.0) -> str | None:
        """The cluster's id; None while no broker answers that has joined it."""
        with self.admin() as client:
            try:
                metadata = client.list_topics(timeout=timeout)
            except KafkaException:
                return None
        return metadata.cluster_id if metadata.brokers else None

    def serves_groups(self, timeout: float = 5.0) -> bool:
        """Whether the coordinator of consumer groups answers, which starts later than the broker."""
        with self.admin() as client:
            try:
                for description in client.describe_consumer_groups(["sandbox"], request_timeout=timeout).values():
                    description.result()
            except KafkaException:
                return False
        return True

    def topics(self) -> set[str]:
        """The names of all topics."""
        with self.admin() as client:
            return set(client.list_topics(timeout=_TIMEOUT).topics)

    def create_topic(self, name: str, *, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create a topic and wait until all its partitions can be used."""
        with self.admin() as client:
            topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
            wait_until(lambda: _is_created(client, topic), _TIMEOUT, f"topic {name}: all brokers are fenced")
            wait_for(lambda: _led_partitions(client, name), partitions, _TIMEOUT, f"topic {name} did not appear")

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it is gone."""
        with self.admin() as client:
            client.delete_topics([name])[name].result(_TIMEOUT)
            wait_until(lambda: _led_partitions(client, name) is None, _TIMEOUT, f"topic {name} was not deleted in time")

    def set_topic_config(self, topic: str, key: str, value: str) -> None:
        """Set one of a topic's configs, and wait until the broker has it."""
        entry = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        change = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
        with self.admin() as client:
            client.incremental_alter_configs([change])[change].result(_TIMEOUT)
            late = f"topic {topic} did not get {key}={value}"
            wait_for(lambda: client.describe_configs([asked])[asked].result(_TIMEOUT)[key].value, value, _TIMEOUT, late)

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | str | None],
        *,
        keys: Iterable[bytes | str | None] | None = None,
        partition: int | None = None,
        timestamps: Iterable[int] | None = None,
    ) -> int:
        """Write records in the given order and return how many the cluster has confirmed: all of them, or it raises.

        Without ``partition`` the key decides, as in the Java client; ``timestamps`` are milliseconds.
        """
        failed: list[KafkaError] = []
        producer = Producer(self.client_settings() | _IN_ORDER, logger=_SILENT)
        send = partial(
            producer.produce,
            topic,
            partition=-1 if partition is None else partition,
            on_delivery=lambda error, _message: failed.append(error) if error else None,
        )
        count = 0
        # Zero means "now" to librdkafka.
        for value, key, timestamp in zip(values, keys or repeat(None), timestamps or repeat(0), strict=False):
            _enqueue(producer, partial(send, value, key, timestamp=timestamp))
            count += 1
        undelivered = f"{topic} did not get all records"
        wait_until(lambda: not producer.flush(1), _TIMEOUT, undelivered, progress={"left": lambda: len(producer)})
        if failed:
            raise SandboxError(f"{len(failed)} of {count} records were not delivered to {topic}: {failed[:1]}")
        return count

    def consume(
        self,
        topic: str,
        *,
        start: int | Mapping[int, int] | None = None,
        partition: int | None = None,
        isolation: str = "read_committed",
    ) -> list[Record]:
        """Read to the current log end and return the records in the order of partition and offset.

        ``start`` is the first offset to read, of every partition or by partition; default: the log start offset. It
        joins no group and commits nothing.
        """
        spans = {
            number: (max(low, _start_of(number, start)), high)
            for number, (low, high) in self.log_bounds(topic).items()
            if partition in (None, number)
        }
        with self._consumer(isolation) as consumer:
            records = _read(consumer, topic, {number: span for number, span in spans.items() if span[0] < span[1]})
        return sorted(records, key=lambda record: (record.partition, record.offset))

    def log_bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """Log start and log end offset by partition."""
        with self.admin() as client:
            count = _led_partitions(client, topic)
        if count is None:
            raise SandboxError(f"There is no topic {topic} at {self.bootstrap}.")
        with self._consumer() as consumer:
            return {number: _bounds(consumer, TopicPartition(topic, number)) for number in range(count)}

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Delete, by partition, the records before an offset, as retention does."""
        with self.admin() as client:
            ends = [TopicPartition(topic, number, offset) for number, offset in before.items()]
            for answer in client.delete_records(ends).values():
                answer.result(_TIMEOUT)

    def commit_group(self, group: str, topic: str, positions: Mapping[int, int]) -> None:
        """Commit offsets of a consumer group without members, and wait until they are stored.

        A broker that has just started may lose the first commit without an error.
        """
        offsets = [TopicPartition(topic, number, offset) for number, offset in positions.items()]
        consumer = Consumer(self.client_settings() | {"group.id": group}, logger=_SILENT)

        def committed() -> bool:
            consumer.commit(offsets=offsets, asynchronous=False)
            stored = consumer.committed(offsets, timeout=_TIMEOUT)
            return [one.offset for one in stored] == [one.offset for one in offsets]

        try:
            wait_until(committed, _TIMEOUT, f"the group {group} was not committed")
        finally:
            consumer.close()

    @contextmanager
    def _consumer(self, isolation: str = "read_committed") -> Iterator[Consumer]:
        own = {"group.id": "unused", "enable.auto.commit": False, "enable.partition.eof": True}
        own |= {"isolation.level": isolation}
        consumer = Consumer(self.client_settings() | own | {"auto.offset.reset": "error"}, logger=_SILENT)
        try:
            yield consumer
        finally:
            consumer.close()


@dataclass(frozen=True, slots=True)
class KafkaAt(Kafka):
    """A cluster that someone else runs."""

    bootstrap: str


def _is_created(client: AdminClient, topic: NewTopic) -> bool:
    try:
        client.create_topics([topic])[topic.topic].result(_TIMEOUT)
    except KafkaException as error:
        # On a busy machine a broker's heartbeats may be late; the controller fences it until the next one.
        if error.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR:
            return False
        raise
    return True


def _led_partitions(client: AdminClient, topic: str) -> int | None:
    """How many partitions of a topic have a leader; None if the topic does not exist."""
    metadata = client.list_topics(timeout=_TIMEOUT).topics.get(topic)
    if metadata is None or metadata.error is not None:
        return None
    return sum(partition.leader >= 0 for partition in metadata.partitions.values())


def _bounds(consumer: Consumer, partition: TopicPartition) -> tuple[int, int]:
    late = f"{partition.topic}, partition {partition.partition}: no broker returns the bounds of its log"
    low, high = wait_until(lambda: _answered_bounds(consumer, partition), _TIMEOUT, late) or (0, 0)
    return low, high


def _answered_bounds(consumer: Consumer, partition: TopicPartition) -> tuple[int, int] | None:
    """The bounds; None while the leader of a new partition does not know yet that it leads it."""
    try:
        return consumer.get_watermark_offsets(partition, timeout=_TIMEOUT)
    except KafkaException as error:
        if error.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION:
            return None
        raise


def _start_of(partition: int, start: int | Mapping[int, int] | None) -> int:
    if isinstance(start, Mapping):
        return start.get(partition, 0)
    return start or 0


def _enqueue(producer: Producer, send: Callable[[], None]) -> None:
    while True:
        try:
            send()
        except BufferError:  # the queue is full: let it drain
            producer.poll(0.1)
        else:
            producer.poll(0)
            return


def _read(consumer: Consumer, topic: str, spans: Mapping[int, tuple[int, int]]) -> list[Record]:
    consumer.assign([TopicPartition(topic, number, start) for number, (start, _) in spans.items()])
    records: list[Record] = []
    unfinished = set(spans)
    while unfinished:
        message = consumer.poll(_TIMEOUT)
        if message is None:
            raise SandboxError(f"{topic}: partitions {sorted(unfinished)} could not be read to their end.")
        number, offset = _partition_and_offset(message)
        end = spans[number][1]
        if message.error() is None and offset < end:
            records.append(_record(message))
        if offset >= end - 1:
            unfinished.discard(number)
    return records


def _partition_and_offset(message: Message) -> tuple[int, int]:
    """Partition and offset of a message; at the partition's end, the offset after the last record."""
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - a public constant of librdkafka
        raise KafkaException(error)
    number, offset = message.partition(), message.offset()
    if number is None or offset is None:
        raise SandboxError("librdkafka returned a message without partition or offset.")
    return number, offset


def _record(message: Message) -> Record:
    number, offset = _partition_and_offset(message)
    return Record(
        topic=message.topic() or "",
        partition=number,
        offset=offset,
        timestamp_ms=message.timestamp()[1],
        key=_bytes(message.key()),
        value=_bytes(message.value()),
    )


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
