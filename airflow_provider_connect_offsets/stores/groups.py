"""Consumer groups: whether anyone is in them, and the offsets they have committed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.stores.brokers import Brokers


class GroupState(StrEnum):
    """States of a consumer group, in Kafka's words; a group that isn't there is empty."""

    EMPTY = "Empty"
    STABLE = "Stable"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """A group, its state and how many members it has."""

    group: str
    state: GroupState
    members: int

    @property
    def inactive(self) -> bool:
        """Nobody is in it: only then its offsets may be changed."""
        return self.state is GroupState.EMPTY and self.members == 0


class ConsumerGroups(Brokers):
    """The consumer groups of one Kafka cluster, classic and new (KIP-848); looked at, never joined."""

    def state(self, group: str) -> GroupStatus:
        """Tell whether anyone is in ``group``; a group nobody ever heard of is empty."""
        return self.ask(f"look at consumer group {group!r}", lambda client: self._describe(client, group))

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Read what ``group`` has committed: the next record to be read, of each partition it has one for."""
        question = ConsumerGroupTopicPartitions(group)
        answer = self.ask(
            f"read the offsets of consumer group {group!r}",
            lambda client: client.list_consumer_group_offsets([question], request_timeout=self.timeout)[group].result(),
        )
        for found in answer.topic_partitions:
            if found.error is not None:
                failed = f"Can't read the offset of group {group!r}, topic {found.topic!r} partition {found.partition}"
                raise self.meaning(failed, KafkaException(found.error))
        return {
            TopicPartition(found.topic, found.partition): found.offset
            for found in sorted(answer.topic_partitions, key=lambda found: (found.topic, found.partition))
            if found.offset >= 0
        }

    def _describe(self, client: AdminClient, group: str) -> GroupStatus:
        try:
            description = client.describe_consumer_groups([group], request_timeout=self.timeout)[group].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:  # where others answer "dead"
                return GroupStatus(group, GroupState.EMPTY, members=0)
            raise
        state = _STATES.get(description.state, GroupState.UNKNOWN)
        return GroupStatus(group, state, len(description.members))


_STATES = {
    ConsumerGroupState.EMPTY: GroupState.EMPTY,
    ConsumerGroupState.DEAD: GroupState.EMPTY,
    ConsumerGroupState.STABLE: GroupState.STABLE,
    ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
    ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
}
