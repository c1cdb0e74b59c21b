"""Consumer groups: whether anyone is in them, and the offsets they have committed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import tenacity
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, retrying
from airflow_provider_connect_offsets.exceptions import StoreError, Unreachable
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern

# A request for offsets takes one group, so many are under way at once: enough to hide the time that each one takes, and
# few enough that the last of them is answered within its own time limit.
_IN_FLIGHT = 200
_DESCRIBED_AT_ONCE = 500
_PAUSE = 0.2
T = TypeVar("T")
_COORDINATING = frozenset(
    {KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS}
)


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


@dataclass(frozen=True, slots=True)
class Committed:
    """What a group has committed for a partition: the next record to be read, and the text that stands beside it.

    ``leader_epoch``: that of the last record read, where the group told it; two that differ in nothing else are equal.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = field(default=None, compare=False)


class ConsumerGroups(Brokers):
    """The consumer groups of one Kafka cluster, classic and new (KIP-848); looked at, never joined."""

    def list_groups(self, pattern: str = "") -> list[str]:
        """Names of the consumer groups that ``pattern`` matches as a whole, sorted; empty: all.

        Raises :class:`InvalidRequest` for a pattern that is none, and :class:`StoreError` where a broker doesn't
        answer, or its coordinators are not there in time: its groups would be missing.
        """
        wanted = typed_pattern(pattern or ".*", param="groups")
        names = self._until_coordinated(partial(self.ask, "list the consumer groups", self._list))
        return sorted(name for name in names if wanted.fullmatch(name))

    def state(self, group: str) -> GroupStatus:
        """Tell whether anyone is in ``group``; a group nobody ever heard of is empty."""
        return self.states([group])[group]

    def states(self, groups: Iterable[str]) -> dict[str, GroupStatus]:
        """Tell of each of ``groups`` whether anyone is in it, as :meth:`state` does."""
        names = list(dict.fromkeys(groups))
        found: dict[str, GroupStatus] = {}
        for start in range(0, len(names), _DESCRIBED_AT_ONCE):
            part = names[start : start + _DESCRIBED_AT_ONCE]
            asking = partial(self.ask, f"look at consumer group {_named(part)}", partial(self._describe, groups=part))
            found |= self._until_coordinated(asking)
        return found

    def _until_coordinated(self, asking: Callable[[], T]) -> T:
        """Ask again while a coordinator is on its way, as on a cluster that was never asked for a group before."""
        retry = tenacity.retry_if_exception(_is_on_its_way)
        return retrying(retry, timeout=self.timeout, wait=tenacity.wait_fixed(_PAUSE))(asking)

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Read what ``group`` has committed: the next record to be read, of each partition it has one for."""
        return {where: committed.offset for where, committed in self.offsets_of([group])[group].items()}

    def offsets_of(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, Committed]]:
        """Read what each of ``groups`` has committed, many at once; a group that has nothing has an empty map.

        Raises :class:`StoreError` and its kin for the first group that can't be read, and names it.
        """
        names = deque(dict.fromkeys(groups))
        # A coordinator that is asked for offsets before it is ready makes librdkafka (2.16.0, its issue 5040) end the
        # whole process with a segmentation fault. Asking for states waits until it is ready, or raises.
        self.states(names)
        pending: deque[tuple[str, Future[ConsumerGroupTopicPartitions]]] = deque()
        found: dict[str, dict[TopicPartition, Committed]] = {}
        while names or pending:
            while names and len(pending) < _IN_FLIGHT:
                pending.append((names[0], self._asked_for_offsets(names.popleft())))
            group, answer = pending.popleft()
            found[group] = self._committed(group, answer)
        return found

    def commit(self, wanted: Mapping[str, Mapping[TopicPartition, int | Committed]]) -> dict[str, str]:
        """Set offsets of many groups, many at once; a group that isn't there is created. Does not read back.

        Metadata is set with each offset, and is empty where an offset comes without.

        returns: why it was refused, by group; Kafka refuses a group that anyone is in (and sets each partition of a
        group by itself, so that a part may be set)
        """
        self.states(wanted)  # as with reading: librdkafka does not survive a coordinator that isn't ready
        refused: dict[str, StoreError] = {}
        left, deadline = dict(wanted), SYSTEM_CLOCK.now() + self.timeout
        while left:
            failed = self._commit_once(left)
            in_time = SYSTEM_CLOCK.now() < deadline
            # A coordinator that is loading, or has moved, comes back by itself.
            left = {name: left[name] for name, error in failed.items() if in_time and isinstance(error, Unreachable)}
            refused |= {name: error for name, error in failed.items() if name not in left}
            if left:
                SYSTEM_CLOCK.sleep(_PAUSE)
        return {name: str(error) for name, error in refused.items()}

    def _commit_once(self, wanted: Mapping[str, Mapping[TopicPartition, int | Committed]]) -> dict[str, StoreError]:
        names, failed = deque(wanted), dict[str, StoreError]()
        pending: deque[tuple[str, Future[ConsumerGroupTopicPartitions]]] = deque()
        while names or pending:
            while names and len(pending) < _IN_FLIGHT:
                pending.append((names[0], self._asked_to_commit(names[0], wanted[names.popleft()])))
            group, answer = pending.popleft()
            try:
                self._refuse_failed(group, answer)
            except StoreError as error:
                failed[group] = error
        return failed

    def delete(self, group: str) -> None:
        """Remove a group with all its offsets; raises :class:`StoreError` where anyone is in it."""
        self.ask(
            f"delete consumer group {group!r}",
            lambda client: client.delete_consumer_groups([group], request_timeout=self.timeout)[group].result(),
        )

    def _asked_to_commit(
        self, group: str, offsets: Mapping[TopicPartition, int | Committed]
    ) -> Future[ConsumerGroupTopicPartitions]:
        listed = [_to_commit(where, offset) for where, offset in offsets.items()]
        asked = ConsumerGroupTopicPartitions(group, listed)
        return self.ask(
            f"set offsets of consumer group {group!r}",
            lambda client: client.alter_consumer_group_offsets([asked], request_timeout=self.timeout)[group],
        )

    def _refuse_failed(self, group: str, pending: Future[ConsumerGroupTopicPartitions]) -> None:
        told = self.ask(f"set offsets of consumer group {group!r}", lambda _client: pending.result())
        for found in told.topic_partitions or []:
            if found.error is not None:
                failed = f"Can't set the offset of group {group!r}, topic {found.topic!r} partition {found.partition}"
                raise self.meaning(failed, KafkaException(found.error))

    def _asked_for_offsets(self, group: str) -> Future[ConsumerGroupTopicPartitions]:
        question = ConsumerGroupTopicPartitions(group)
        return self.ask(
            f"read the offsets of consumer group {group!r}",
            lambda client: client.list_consumer_group_offsets([question], request_timeout=self.timeout)[group],
        )

    def _committed(self, group: str, pending: Future[ConsumerGroupTopicPartitions]) -> dict[TopicPartition, Committed]:
        told = self.ask(f"read the offsets of consumer group {group!r}", lambda _client: pending.result())
        answer = told.topic_partitions or []
        for found in answer:
            if found.error is not None:
                failed = f"Can't read the offset of group {group!r}, topic {found.topic!r} partition {found.partition}"
                raise self.meaning(failed, KafkaException(found.error))
        return {
            TopicPartition(found.topic, found.partition): Committed(
                found.offset, found.metadata or "", found.leader_epoch
            )
            for found in sorted(answer, key=lambda found: (found.topic, found.partition))
            if found.offset >= 0
        }

    def _list(self, client: AdminClient) -> list[str]:
        answer = client.list_consumer_groups(request_timeout=self.timeout).result()
        for error in answer.errors or ():
            raise KafkaException(error)  # a KafkaError itself is no exception, and passes every `except`
        return [listed.group_id for listed in answer.valid or ()]

    def _describe(self, client: AdminClient, groups: Sequence[str]) -> dict[str, GroupStatus]:
        answers = client.describe_consumer_groups(list(groups), request_timeout=self.timeout)
        return {group: _status(group, answers[group]) for group in groups}


def _is_on_its_way(error: BaseException) -> bool:
    cause = error.__cause__
    return isinstance(cause, KafkaException) and cause.args[0].code() in _COORDINATING


def _status(group: str, pending: Future[Any]) -> GroupStatus:
    try:
        description = pending.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:  # where others answer "dead"
            return GroupStatus(group, GroupState.EMPTY, members=0)
        raise
    state = _STATES.get(description.state, GroupState.UNKNOWN)
    return GroupStatus(group, state, len(description.members))


def _to_commit(where: TopicPartition, offset: int | Committed) -> KafkaPartition:
    committed = offset if isinstance(offset, Committed) else Committed(offset)
    told = {} if committed.leader_epoch is None else {"leader_epoch": committed.leader_epoch}
    return KafkaPartition(where.topic, where.partition, committed.offset, committed.metadata, **told)


def _named(groups: Sequence[str]) -> str:
    return repr(groups[0]) if len(groups) == 1 else f"{groups[0]!r} and {len(groups) - 1} more"


_STATES = {
    ConsumerGroupState.EMPTY: GroupState.EMPTY,
    ConsumerGroupState.DEAD: GroupState.EMPTY,
    ConsumerGroupState.STABLE: GroupState.STABLE,
    ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
    ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
}
