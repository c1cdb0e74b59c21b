"""The client of one Kafka cluster: its logs, its consumer groups, and the content and cleanup of its topics."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import confluent_kafka
import tenacity
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
)

from airflow_provider_connect_offsets import fencing
from airflow_provider_connect_offsets.clock import make_attempts
from airflow_provider_connect_offsets.exceptions import InvalidInput, StoreError
from airflow_provider_connect_offsets.kafka.brokers import AclOperation
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.kafka.spans import Isolation, Spans
from airflow_provider_connect_offsets.kafka.topic_reader import FullRecord, TopicReader, TopicRecord
from airflow_provider_connect_offsets.offsets.families import TopicPartition

log = logging.getLogger(__name__)
_POLICY = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class CleanupPolicy:
    """A topic's ``cleanup.policy``; ``own``: whether it is set on the topic, rather than the brokers' default."""

    value: str
    own: bool

    @property
    def deletes(self) -> bool:
        """Whether records can be deleted; Kafka refuses that for a topic that is only compacted."""
        return "delete" in self.value.split(",")


class KafkaCluster(RemainingRecords):
    """Client of one Kafka cluster, to be used as a context manager; it waits until a changed setting takes effect."""

    @cached_property
    def groups(self) -> ConsumerGroups:
        """Client of the cluster's consumer groups; raises :class:`StoreError` if this client is closed."""
        if self._client is None:
            raise StoreError(f"The client of {self.servers} is closed.")
        return ConsumerGroups(self._config, timeout=self.timeout)

    def close(self) -> None:
        """Drop all clients; they can't be used any more."""
        super().close()
        if "groups" in self.__dict__:
            self.groups.close()

    def topic(self, name: str) -> TopicReader:
        """Return a reader of a whole topic, to be used as a context manager."""
        return TopicReader(self._config, name, timeout=self.timeout)

    def spans(self, isolation: Isolation = Isolation.READ_COMMITTED) -> Spans:
        """Return a reader of parts of logs, to be used as a context manager."""
        return Spans(self._config, isolation=isolation, timeout=self.timeout)

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return the partitions of ``topic``; empty if it does not exist. Raises store errors."""
        return [TopicPartition(topic, number) for number in range(self.counts_of([topic]).get(topic, 0))]

    def records(self, topic: str) -> Iterator[TopicRecord]:
        """Read all records of ``topic``; raises :class:`InvalidInput` if it does not exist, and store errors."""
        with self.topic(topic) as reader:
            yield from reader.records()

    def full_records(
        self, spans: Mapping[TopicPartition, range], isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Generator[FullRecord, None, None]:
        """Yield the records of the spans as a sink receives them, in order in each partition; raises store errors.

        With ``read_committed`` a span ends where the first open transaction begins, at the latest.
        """
        if isolation is Isolation.READ_COMMITTED:
            ends = self.stable_ends(spans)
            spans = {where: range(span.start, min(span.stop, ends[where])) for where, span in spans.items()}
        with self.spans(isolation) as logs:
            for passed in logs.read(spans):
                if passed.message is not None:
                    yield FullRecord.of(passed.where, passed.offset - 1, passed.message)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; raises store errors."""
        fencing.ask()
        self.ask(
            f"delete topic {topic!r}",
            lambda client: client.delete_topics([topic], operation_timeout=self.timeout)[topic].result(),
            right=AclOperation.DELETE,
        )

    def policy(self, topic: str) -> CleanupPolicy:
        """Return the policy of ``topic``; raises :class:`InvalidInput` if it does not exist, and store errors."""
        try:
            purpose, right = f"read the settings of topic {topic!r}", AclOperation.DESCRIBE_CONFIGS
            return self.ask(purpose, lambda client: self._policy(client, topic), right=right)
        except StoreError as error:
            if self.counts_of([topic]):
                raise
            raise InvalidInput(f"There is no topic {topic!r} in the cluster of {self.servers}.") from error

    def empty(self, topic: str, policy: CleanupPolicy) -> int:
        """Delete all present records of ``topic``, and verify that they are gone.

        The topic's policy is changed for that if necessary and always restored. No tombstones are written, because
        MirrorMaker 2 can't read them.

        Args:
            topic: Name of the topic.
            policy: Its cleanup policy.

        Returns:
            Number of deleted offsets.

        Raises:
            StoreError: Deleting or restoring the policy failed; some records may be deleted.
        """
        bounds = self.bounds(self.partitions(topic))
        ends = {where: one.log_end for where, one in bounds.items()}
        try:
            if not policy.deletes:
                self._set(topic, f"{policy.value},delete")
            self._delete(topic, ends)
        finally:
            self.restore_policy(topic, policy)
        left = [where for where, now in self.bounds(ends).items() if now.log_start < ends[where]]
        if left:
            raise StoreError(f"Topic {topic!r} at {self.servers} still has records that should have been deleted.")
        return sum(one.log_end - one.log_start for one in bounds.values())

    def restore_policy(self, topic: str, policy: CleanupPolicy) -> None:
        """Restore the prior policy of ``topic``, and read it back.

        It is set even if it reads as before, because an earlier change may not have taken effect yet.
        """
        if not policy.deletes:
            self._set(topic, policy.value if policy.own else None)

    def _policy(self, client: AdminClient, topic: str) -> CleanupPolicy:
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        entry = client.describe_configs([resource], request_timeout=self.timeout)[resource].result()[_POLICY]
        return CleanupPolicy(str(entry.value), own=entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)

    def _set(self, topic: str, policy: str | None) -> None:
        """Set the topic's own policy (None: remove it), and wait until it can be read back."""
        operation = AlterConfigOpType.DELETE if policy is None else AlterConfigOpType.SET
        entry = ConfigEntry(_POLICY, policy, incremental_operation=operation)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])

        def alter(client: AdminClient) -> None:
            for answer in client.incremental_alter_configs([resource], request_timeout=self.timeout).values():
                answer.result()

        purpose = f"set {_POLICY} of topic {topic!r} to {policy or 'the default'}"
        fencing.ask()
        self.ask(purpose, alter, right=AclOperation.ALTER_CONFIGS)
        for attempt in self._attempts_until_effective():
            with attempt:
                now = self.policy(topic)
                if now.own is (policy is None) or (policy is not None and now.value != policy):
                    raise _NotYet(f"Can't {purpose}: it is still {now.value!r}. Set it by hand.")

    def _delete(self, topic: str, ends: Mapping[TopicPartition, int]) -> None:
        before = [confluent_kafka.TopicPartition(where.topic, where.partition, end) for where, end in ends.items()]

        def delete(client: AdminClient) -> None:
            for answer in client.delete_records(before, request_timeout=self.timeout).values():
                answer.result()

        for attempt in self._attempts_until_effective():
            with attempt:
                fencing.ask()
                try:
                    self.ask(f"delete the records of topic {topic!r}", delete, right=AclOperation.DELETE)
                except StoreError as error:
                    raise _as_not_yet(error) from error

    def _attempts_until_effective(self) -> tenacity.Retrying:
        """Return attempts until a setting has taken effect: brokers learn of it with a delay."""
        return make_attempts(tenacity.retry_if_exception_type(_NotYet), timeout=self.timeout)


class _NotYet(StoreError):
    """A setting has not taken effect yet."""


def _as_not_yet(error: StoreError) -> StoreError:
    """Return the error, or :class:`_NotYet` if the broker still refuses because of the former policy."""
    cause = error.__cause__
    refused = isinstance(cause, KafkaException) and cause.args[0].code() == KafkaError.POLICY_VIOLATION
    return _NotYet(str(error)) if refused else error
