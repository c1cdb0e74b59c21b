"""A cluster of a MirrorMaker 2 flow: its logs, and the topics in which the flow keeps records of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

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

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, retrying
from airflow_provider_connect_offsets.exceptions import InvalidInput, StoreError
from airflow_provider_connect_offsets.kafka.logs import KafkaLogs
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader, TopicRecord
from airflow_provider_connect_offsets.offsets.families import TopicPartition

log = logging.getLogger(__name__)
_POLICY = "cleanup.policy"


@dataclass(frozen=True, slots=True)
class CleanupPolicy:
    """A topic's ``cleanup.policy``; ``own``: set on the topic itself, and not the brokers' default."""

    value: str
    own: bool

    @property
    def deletes(self) -> bool:
        """Whether records may be deleted; of a topic that is only compacted, Kafka refuses that."""
        return "delete" in self.value.split(",")


class MirrorCluster(KafkaLogs):
    """The logs of one cluster, and what is needed to read and to empty a topic on it.

    ``config`` holds librdkafka's settings. ``clock`` waits until a broker knows of a setting that was made.
    """

    def __init__(self, config: Mapping[str, Any], *, timeout: float = 15.0, clock: Clock = SYSTEM_CLOCK) -> None:
        super().__init__(config, timeout=timeout)
        self._config = dict(config)
        self._clock = clock

    def partitions(self, topic: str) -> list[TopicPartition]:
        """The partitions of ``topic``; none where there is no such topic."""
        return [TopicPartition(topic, number) for number in range(self.topics().get(topic, 0))]

    def records(self, topic: str) -> Iterator[TopicRecord]:
        """Read ``topic`` whole, as it is; raises :class:`InvalidInput` where there is none, and store errors."""
        with TopicReader(self._config, topic, timeout=self.timeout) as reader:
            yield from reader.records()

    def policy(self, topic: str) -> CleanupPolicy:
        """Ask for the cleanup policy of ``topic``; raises :class:`InvalidInput` where there is no such topic."""
        try:
            return self.ask(f"read the settings of topic {topic!r}", lambda client: self._policy(client, topic))
        except StoreError as error:
            if topic in self.topics():
                raise
            raise InvalidInput(f"There is no topic {topic!r} in the cluster of {self.servers}.") from error

    def empty(self, topic: str, found: CleanupPolicy) -> int:
        """Delete all records that ``topic`` holds now, and prove it; returns how many offsets that were.

        Its policy is switched for that where it has to be, and is ``found`` again whatever happens: no tombstones are
        written, which MirrorMaker 2 can't read. Raises store errors; some records may be gone then.
        """
        bounds = self.bounds(self.partitions(topic))
        ends = {where: one.log_end for where, one in bounds.items()}
        try:
            if not found.deletes:
                self._set(topic, f"{found.value},delete")
            self._delete(topic, ends)
        finally:
            self.put_back(topic, found)
        left = [where for where, now in self.bounds(ends).items() if now.log_start < ends[where]]
        if left:
            raise StoreError(f"Topic {topic!r} at {self.servers} still holds records that were to be deleted.")
        return sum(one.log_end - one.log_start for one in bounds.values())

    def put_back(self, topic: str, found: CleanupPolicy) -> None:
        """Give ``topic`` the policy again that was found, and prove it.

        Even where it reads as before: a switch that was given up may still be on its way, and comes before this.
        """
        if not found.deletes:
            self._set(topic, found.value if found.own else None)

    def _policy(self, client: AdminClient, topic: str) -> CleanupPolicy:
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic)
        told = client.describe_configs([asked], request_timeout=self.timeout)[asked].result()[_POLICY]
        return CleanupPolicy(str(told.value), own=told.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value)

    def _set(self, topic: str, policy: str | None) -> None:
        """Set the topic's own policy (None: remove it), and wait until it can be read back."""
        operation = AlterConfigOpType.DELETE if policy is None else AlterConfigOpType.SET
        entry = ConfigEntry(_POLICY, policy, incremental_operation=operation)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])

        def alter(client: AdminClient) -> None:
            for answer in client.incremental_alter_configs([resource], request_timeout=self.timeout).values():
                answer.result()

        purpose = f"set {_POLICY} of topic {topic!r} to {policy or 'the default'}"
        self.ask(purpose, alter)
        for attempt in self._while_it_spreads():
            with attempt:
                now = self.policy(topic)
                if now.own is (policy is None) or (policy is not None and now.value != policy):
                    raise _NotYet(f"Can't {purpose}: it is still {now.value!r}. Set it by hand.")

    def _delete(self, topic: str, ends: Mapping[TopicPartition, int]) -> None:
        asked = [confluent_kafka.TopicPartition(where.topic, where.partition, end) for where, end in ends.items()]

        def delete(client: AdminClient) -> None:
            for answer in client.delete_records(asked, request_timeout=self.timeout).values():
                answer.result()

        for attempt in self._while_it_spreads():
            with attempt:
                try:
                    self.ask(f"delete the records of topic {topic!r}", delete)
                except StoreError as error:
                    raise _as_not_yet(error) from error

    def _while_it_spreads(self) -> tenacity.Retrying:
        """Attempts until a setting, of which a broker hears a moment after it was made, has taken effect."""
        return retrying(tenacity.retry_if_exception_type(_NotYet), timeout=self.timeout, clock=self._clock)


class _NotYet(StoreError):
    """A setting has not taken effect yet."""


def _as_not_yet(error: StoreError) -> StoreError:
    """The error itself, unless the broker refuses by a policy that has been switched already."""
    cause = error.__cause__
    refused = isinstance(cause, KafkaException) and cause.args[0].code() == KafkaError.POLICY_VIOLATION
    return _NotYet(str(error)) if refused else error
