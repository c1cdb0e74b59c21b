"""Writes records to an offsets topic as Connect's producer does, and raises unless all are confirmed.

For exactly-once workers the records are one transaction with the transactional ids of the connector's tasks, so that a
task that still runs can't write any more. Sources: KIP-618, ``Worker.taskTransactionalId``,
``KafkaOffsetBackingStore``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from airflow_provider_connect_offsets import fencing
from airflow_provider_connect_offsets.exceptions import ChangeError, OutcomeUnknown, StoreError
from airflow_provider_connect_offsets.kafka.brokers import AclOperation, describe_missing_right
from airflow_provider_connect_offsets.words import quantify

log = logging.getLogger(__name__)
_FLUSH = 30.0
Confirmed = Callable[[KafkaError | None, object], None]


def task_transactional_ids(group_id: str, connector: str, tasks: int) -> tuple[str, ...]:
    """Return the transactional ids of a connector's tasks; at least the first task's id, so that it can be fenced."""
    return tuple(f"connect-cluster-{group_id}-{connector}-{task}" for task in range(max(tasks, 1)))


class TopicWriter:
    """Writes to one topic.

    Args:
        config: Settings of librdkafka.
        topic: Name of the topic.
        transactional_ids: Transactional ids of the tasks to fence; the first is used for writing. Empty: write without
            a transaction.
    """

    def __init__(self, config: Mapping[str, Any], topic: str, *, transactional_ids: Sequence[str] = ()) -> None:
        self.topic = topic
        self._transactional_ids = tuple(transactional_ids)
        own = {"acks": "all", "enable.idempotence": True, "partitioner": "murmur2_random"}  # as Java's producer
        self._config = {**config, **own}

    def write(self, records: Mapping[bytes, bytes | None], partitions: Mapping[bytes, int], *, whose: str) -> None:
        """Write a record for each key.

        Args:
            records: Key → value; None writes a tombstone.
            partitions: Partition of each key that is stored already; other keys are partitioned by their hash.
            whose: The connector, for messages.

        Raises:
            OutcomeUnknown: Not all records were confirmed; read back.
            StoreError: Nothing was written.
        """
        if not records:
            return
        if not self._transactional_ids:
            self._send(Producer(self._config), records, partitions, whose=whose)
            return
        first, *others = (self._fence(name) for name in self._transactional_ids)
        del others  # created only to fence the tasks
        first.begin_transaction()
        try:
            self._send(first, records, partitions, whose=whose)
            fencing.ask()
            with self._unknown_if_refused(whose, len(records)):
                first.commit_transaction(_FLUSH)
        except (OutcomeUnknown, ChangeError):
            self._abort(first)
            raise

    def _abort(self, producer: Producer) -> None:
        """Abort the transaction; otherwise readers would wait until it times out."""
        try:
            producer.abort_transaction(_FLUSH)
        except KafkaException as error:
            log.warning(
                "Can't abort the transaction on topic %r, so readers wait until it times out: %s",
                self.topic,
                _reason(error),
            )

    def _fence(self, transactional_id: str) -> Producer:
        producer = Producer({**self._config, "transactional.id": transactional_id})
        try:
            producer.init_transactions(_FLUSH)
        except KafkaException as error:
            raise StoreError(
                f"Nothing was written to topic {self.topic!r}. With exactly-once support of the workers, the task with "
                f"the transactional id {transactional_id!r} must be fenced first, but that failed: {_reason(error)}."
            ) from error
        return producer

    def _send(
        self, producer: Producer, records: Mapping[bytes, bytes | None], partitions: Mapping[bytes, int], *, whose: str
    ) -> None:
        fencing.ask()
        failed: list[KafkaError] = []

        def confirm(error: KafkaError | None, _message: object) -> None:
            if error is not None:
                failed.append(error)

        with self._unknown_if_refused(whose, len(records)):
            for key, value in records.items():
                self._produce(producer, value, key, partitions.get(key, -1), confirm)
            left = producer.flush(_FLUSH)
        if failed or left:
            why = _reason(KafkaException(failed[0])) if failed else f"no answer within {_FLUSH:g} s"
            raise self._unconfirmed_error(whose, len(failed) + left, why)

    @contextmanager
    def _unknown_if_refused(self, whose: str, count: int) -> Iterator[None]:
        """Raise :class:`OutcomeUnknown` if librdkafka refuses something: what came before it is under way."""
        try:
            yield
        except (KafkaException, SystemError) as error:
            # An error that ends the producer is raised while it calls back for records, and Python wraps it then.
            cause = error.__cause__ if isinstance(error, SystemError) else error
            if not isinstance(cause, KafkaException):
                raise
            raise self._unconfirmed_error(whose, count, _reason(cause)) from cause

    def _produce(
        self, producer: Producer, value: bytes | None, key: bytes, partition: int, confirmed: Confirmed
    ) -> None:
        while True:
            try:
                producer.produce(self.topic, value, key, partition, on_delivery=confirmed)
            except BufferError:  # the queue is full
                producer.poll(0.1)
            else:
                producer.poll(0)
                return

    def _unconfirmed_error(self, whose: str, count: int, why: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"Kafka did not confirm {quantify(count, 'record')} of {whose!r} in topic {self.topic!r} ({why}), so it is "
            "unknown what was written. Read the topic back before anything else."
        )


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    if not isinstance(reason, KafkaError):
        return str(reason)
    # An idempotent producer needs a right on the cluster, or to write to any topic (Java class KafkaApis).
    if reason.code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED:
        reason = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, reason.str())
    missing = describe_missing_right(reason, AclOperation.WRITE)
    return f"{reason.str()}: {missing.removesuffix('.')}" if missing else reason.str()
