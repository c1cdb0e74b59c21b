"""Consumer groups: their states, members and committed offsets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeAlias, TypeVar

import tenacity
from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from airflow_provider_connect_offsets import fencing
from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, make_attempts
from airflow_provider_connect_offsets.exceptions import StoreError, Unreachable
from airflow_provider_connect_offsets.kafka.brokers import AclOperation, Brokers
from airflow_provider_connect_offsets.kafka.group_kinds import (
    COORDINATING,
    OTHER_TYPE,
    listed_groups,
    other_kinds,
    why_left_alone,
)
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern

# Requests for offsets name one group each, so many are sent at once: enough to hide the latency of each, and few enough
# that the last of them is answered within its timeout.
_IN_FLIGHT = 200
_DESCRIBED_AT_ONCE = 500
_PAUSE = 0.2
T = TypeVar("T")
_Answer: TypeAlias = "Future[ConsumerGroupTopicPartitions]"


class GroupState(StrEnum):
    """States of a consumer group, as Kafka names them; a group that does not exist is empty.

    A group that isn't a consumer group has the state ``OTHER_KIND``.
    """

    EMPTY = "Empty"
    STABLE = "Stable"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    UNKNOWN = "Unknown"
    OTHER_KIND = "OtherKind"


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """The state of a consumer group, and its number of members.

    Attributes:
        state: Its state.
        members: How many members it has.
        kind: What it is, if it isn't a consumer group; else empty.
    """

    state: GroupState
    members: int
    kind: str = ""

    @property
    def inactive(self) -> bool:
        """Whether the group has no members; only then its offsets may be changed."""
        return self.state is GroupState.EMPTY and self.members == 0


_ABSENT = GroupStatus(GroupState.EMPTY, members=0)


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offset of a partition.

    Attributes:
        offset: The next record to be read.
        metadata: The text that the group committed with it.
        leader_epoch: Leader epoch of the last record read; None if not committed. Ignored in comparisons.
    """

    offset: int
    metadata: str = ""
    leader_epoch: int | None = field(default=None, compare=False)


class ConsumerGroups(Brokers):
    """Client of the consumer groups of one Kafka cluster, classic and new (KIP-848); it joins no group."""

    def list_groups(self, pattern: str = "") -> list[str]:
        """Return the sorted names of consumer groups.

        Args:
            pattern: Regular expression for whole names; empty for all groups.

        Raises:
            InvalidRequest: ``pattern`` isn't a regular expression.
            StoreError: A broker, or a coordinator on it, does not answer in time, so that its groups are unknown.
        """
        matching = typed_pattern(pattern or ".*", param="groups")
        names = self._repeat_until_coordinated(partial(self.ask, "list the consumer groups", self._list))
        return sorted(name for name in names if matching.matches(name))

    def other_kinds(self, pattern: str = "") -> dict[str, str]:
        """Return the kind of each group that isn't a consumer group, by name.

        :meth:`list_groups` leaves them out, and no call here changes them. It has the same argument and errors.
        """
        matching = typed_pattern(pattern or ".*", param="groups")
        ask = partial(self.ask, "list the groups", partial(other_kinds, timeout=self.timeout))
        return {name: kind for name, kind in self._repeat_until_coordinated(ask).items() if matching.matches(name)}

    def state(self, group: str) -> GroupStatus:
        """Return the state of ``group``; a group that does not exist is empty. Raises store errors."""
        return self.states([group])[group]

    def states(self, groups: Iterable[str]) -> dict[str, GroupStatus]:
        """Return the state of each of ``groups``, as :meth:`state` does."""
        names = list(dict.fromkeys(groups))
        statuses: dict[str, GroupStatus | None] = {}
        for start in range(0, len(names), _DESCRIBED_AT_ONCE):
            part = names[start : start + _DESCRIBED_AT_ONCE]
            describe = partial(
                self.ask, f"describe consumer group {_join_names(part)}", partial(self._describe, groups=part)
            )
            statuses |= self._repeat_until_coordinated(describe)
        unnamed = {name: status for name, status in statuses.items() if status is None or status.kind}
        kinds = self.other_kinds() if unnamed else {}
        return {name: status or _ABSENT for name, status in statuses.items()} | {
            name: GroupStatus(GroupState.OTHER_KIND, 0, kinds[name]) for name in unnamed if name in kinds
        }

    def _repeat_until_coordinated(self, call: Callable[[], T]) -> T:
        """Repeat a call while a coordinator is starting, as after the first request for a group of a new cluster."""
        retry = tenacity.retry_if_exception(_is_starting)
        return make_attempts(retry, timeout=self.timeout, wait=tenacity.wait_fixed(_PAUSE))(call)

    def offsets(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offset of each partition of ``group`` that has one."""
        return {where: committed.offset for where, committed in self.offsets_of([group])[group].items()}

    def offsets_of(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, Committed]]:
        """Return the committed offsets of each of ``groups``, many at a time; empty for a group without any.

        The result is also empty for a group of another kind, which is not read.

        Raises:
            StoreError: The offsets of a group can't be read; the message names the first such group.
        """
        names = list(dict.fromkeys(groups))
        # A request for offsets to a coordinator that is not ready makes librdkafka (2.16.0, its issue 5040) end the
        # process with a segmentation fault. Describing the groups waits until it is ready, or raises.
        statuses = self.states(names)
        asked = _in_flight([name for name in names if not statuses[name].kind], self._request_offsets)
        committed = {group: self._read_committed(group, answer) for group, answer in asked}
        return {name: committed.get(name, {}) for name in names}

    def commit(self, offsets: Mapping[str, Mapping[TopicPartition, int | Committed]]) -> dict[str, str]:
        """Set offsets of many groups at the same time; a group that does not exist is created. Does not read back.

        Args:
            offsets: Group → partition → offset; an int sets empty metadata.

        Returns:
            Refused group → reason. Kafka refuses a group with members. It sets each partition separately, so some
            partitions of a refused group may be set. A group of another kind is refused here.
        """
        statuses = self.states(offsets)  # as for reading: librdkafka does not survive a coordinator that is not ready
        others = {name: why_left_alone(name, one.kind) for name, one in statuses.items() if one.kind}
        refused: dict[str, StoreError] = {}
        remaining = {name: some for name, some in offsets.items() if name not in others}
        deadline = SYSTEM_CLOCK.now() + self.timeout
        while remaining:
            failed = self._commit_once(remaining)
            in_time = SYSTEM_CLOCK.now() < deadline
            # A coordinator that is loading, or has moved, becomes available again.
            repeated = [name for name, error in failed.items() if in_time and isinstance(error, Unreachable)]
            remaining = {name: remaining[name] for name in repeated}
            refused |= {name: error for name, error in failed.items() if name not in repeated}
            if remaining:
                SYSTEM_CLOCK.sleep(_PAUSE)
        return others | {name: str(error) for name, error in refused.items()}

    def _commit_once(self, offsets: Mapping[str, Mapping[TopicPartition, int | Committed]]) -> dict[str, StoreError]:
        failed: dict[str, StoreError] = {}
        for group, answer in _in_flight(offsets, lambda group: self._request_commit(group, offsets[group])):
            try:
                self._await_answer(group, "set", answer, right=AclOperation.READ)
            except StoreError as error:
                failed[group] = error
        return failed

    def delete(self, group: str) -> None:
        """Remove a group with all its offsets; raises :class:`StoreError` if it has members, or is of another kind."""
        if kind := self.state(group).kind:
            raise StoreError(f"Nothing was deleted: {why_left_alone(group, kind)}")
        fencing.ask()
        self.ask(
            f"delete consumer group {group!r}",
            lambda client: client.delete_consumer_groups([group], request_timeout=self.timeout)[group].result(),
            right=AclOperation.DELETE,
        )

    def _request_commit(self, group: str, offsets: Mapping[TopicPartition, int | Committed]) -> _Answer:
        fencing.ask()
        request = ConsumerGroupTopicPartitions(group, [_to_commit(where, one) for where, one in offsets.items()])
        return self.ask(
            f"set the offsets of consumer group {group!r}",
            lambda client: client.alter_consumer_group_offsets([request], request_timeout=self.timeout)[group],
        )

    def _request_offsets(self, group: str) -> _Answer:
        request = ConsumerGroupTopicPartitions(group)
        return self.ask(
            f"read the offsets of consumer group {group!r}",
            lambda client: client.list_consumer_group_offsets([request], request_timeout=self.timeout)[group],
        )

    def _read_committed(self, group: str, pending: _Answer) -> dict[TopicPartition, Committed]:
        partitions = sorted(self._await_answer(group, "read", pending), key=lambda one: (one.topic, one.partition))
        return {
            TopicPartition(one.topic, one.partition): Committed(one.offset, one.metadata or "", one.leader_epoch)
            for one in partitions
            if one.offset >= 0
        }

    def _await_answer(
        self, group: str, verb: str, pending: _Answer, *, right: AclOperation = AclOperation.DESCRIBE
    ) -> list[KafkaPartition]:
        """Wait for the answer on a group's partitions; raises the error of the first partition that has one."""
        purpose = f"{verb} the offsets of consumer group {group!r}"
        answer = self.ask(purpose, lambda _client: pending.result(), right=right)
        for one in answer.topic_partitions or []:
            if one.error is not None:
                failed = f"Can't {verb} the offset of group {group!r}, topic {one.topic!r} partition {one.partition}"
                raise self.meaning(failed, KafkaException(one.error), right=right)
        return answer.topic_partitions or []

    def _list(self, client: AdminClient) -> list[str]:
        return listed_groups(client.list_consumer_groups(request_timeout=self.timeout).result())

    def _describe(self, client: AdminClient, groups: Sequence[str]) -> dict[str, GroupStatus | None]:
        answers = client.describe_consumer_groups(list(groups), request_timeout=self.timeout)
        return {group: _status(answers[group]) for group in groups}


def _in_flight(groups: Iterable[str], request: Callable[[str], _Answer]) -> Iterator[tuple[str, _Answer]]:
    """Send a request for each group, many at once, and yield the groups with their pending answers in order."""
    names, pending = deque(groups), deque[tuple[str, _Answer]]()
    while names or pending:
        while names and len(pending) < _IN_FLIGHT:
            pending.append((names[0], request(names.popleft())))
        yield pending.popleft()


def _is_starting(error: BaseException) -> bool:
    cause = error.__cause__
    return isinstance(cause, KafkaException) and cause.args[0].code() in COORDINATING


def _status(pending: Future[Any]) -> GroupStatus | None:
    """Return the status of a group; None if no consumer group has that name."""
    try:
        description = pending.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:  # older brokers answer "dead"
            return None
        if error.args[0].code() == KafkaError._INVALID_ARG:  # noqa: SLF001 - so librdkafka refuses other protocol types
            return GroupStatus(GroupState.OTHER_KIND, 0, OTHER_TYPE)
        raise
    if description.state is ConsumerGroupState.DEAD:
        return None
    return GroupStatus(_STATES.get(description.state, GroupState.UNKNOWN), len(description.members))


def _to_commit(where: TopicPartition, offset: int | Committed) -> KafkaPartition:
    committed = offset if isinstance(offset, Committed) else Committed(offset)
    epoch = {} if committed.leader_epoch is None else {"leader_epoch": committed.leader_epoch}
    return KafkaPartition(where.topic, where.partition, committed.offset, committed.metadata, **epoch)


def _join_names(groups: Sequence[str]) -> str:
    return repr(groups[0]) if len(groups) == 1 else f"{groups[0]!r} and {len(groups) - 1} more"


_STATES = {
    ConsumerGroupState.EMPTY: GroupState.EMPTY,
    ConsumerGroupState.STABLE: GroupState.STABLE,
    ConsumerGroupState.PREPARING_REBALANCING: GroupState.PREPARING_REBALANCE,
    ConsumerGroupState.COMPLETING_REBALANCING: GroupState.COMPLETING_REBALANCE,
}
