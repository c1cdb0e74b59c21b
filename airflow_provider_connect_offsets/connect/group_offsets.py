"""Consumer groups of plain applications behind the two protocols of connectors, so that both are changed alike.

A group takes the place of a connector: it is STOPPED while it has no members. Nothing here starts or stops a member.
"""

from __future__ import annotations

import logging

from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorControl,
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    TaskStatus,
    WriteReply,
)
from airflow_provider_connect_offsets.exceptions import NotStopped, OutcomeUnknown, UnknownConnector
from airflow_provider_connect_offsets.kafka.group_kinds import why_left_alone
from airflow_provider_connect_offsets.kafka.groups import Committed, ConsumerGroups, GroupStatus
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import ConnectorType, ConsumerGroup, TopicPartition

log = logging.getLogger(__name__)
_FAMILY = ConsumerGroup()


class GroupOffsets(ConnectorControl):
    """The committed offsets of the consumer groups of one Kafka cluster, as a store and as a control.

    Args:
        groups: Client of the groups; whoever opened it closes it.
    """

    def __init__(self, groups: ConsumerGroups) -> None:
        self._groups = groups

    def require_offset_changes(self) -> None:
        """Do nothing: every supported broker can set the offsets of a group without members."""

    def connectors(self) -> list[str]:
        """Return the names of all consumer groups, sorted."""
        return self._groups.list_groups()

    def unlisted_groups(self) -> dict[str, str]:
        """Return the groups that aren't consumer groups, and why each is left alone."""
        return {name: why_left_alone(name, kind) for name, kind in self._groups.other_kinds().items()}

    def overview(self) -> dict[str, ConnectorOverview]:
        """Return all consumer groups, with the topics of their committed offsets and their state."""
        return {name: ConnectorOverview(self.info(name), self.status(name)) for name in self.connectors()}

    def info(self, connector: str) -> ConnectorInfo:
        """Return the topics for which the group has a committed offset, as the setting ``topics``.

        Raises :class:`UnknownConnector` for a group that does not exist or isn't a consumer group, and store errors.
        """
        topics = sorted({where.topic for where in self._read_committed(connector)})
        if not topics and connector not in self.connectors():
            raise UnknownConnector(f"There is no consumer group {connector!r}.")
        return ConnectorInfo(connector, ConnectorType.GROUP, {"topics": ",".join(topics)} if topics else {})

    def status(self, connector: str) -> ConnectorStatus:
        """Return STOPPED for a group without members or a missing group, else RUNNING, a task per member.

        Raises :class:`UnknownConnector` for a group that isn't a consumer group, and store errors.
        """
        return _status(self._state(connector))

    def stop(self, connector: str) -> None:
        """Require that the group has no members; raises :class:`NotStopped`."""
        group = self._state(connector)
        if not group.inactive:
            raise NotStopped(
                f"Nothing was written: consumer group {connector!r} is {group.state} (members: {group.members}). Its "
                "applications would overwrite the new offsets with their own. Stop them first."
            )

    def pause(self, connector: str) -> None:
        """Do nothing: nothing was stopped."""

    def resume(self, connector: str) -> None:
        """Do nothing: nothing was stopped."""

    def by_hand(self, connector: str, state: State) -> str:
        """Say to start or stop the applications of the group."""
        del connector
        return "stop its applications" if state is State.STOPPED else "start its applications"

    def read_offsets(self, connector: str) -> Offsets:
        """Return the committed offsets of a group; empty if the group does not exist. Raises store errors."""
        committed = self._read_committed(connector)
        return Offsets.of(
            Entry.of(_FAMILY.partition_of(where, {}), _FAMILY.offset_at(offset)) for where, offset in committed.items()
        )

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Commit the listed offsets, and remove each offset that is None; the group must have no members.

        Partitions that already have their offset keep its metadata. librdkafka can't remove the offset of one
        partition (Kafka's request OffsetDelete), so for a removal the group is deleted, and all offsets that stay are
        committed again, with their metadata. The caller must have made all offsets durable before.

        Raises:
            NotStopped: The group has members.
            OutcomeUnknown: Kafka did not confirm every offset.
            StoreError: Kafka does not answer, or refuses, before anything is written.
        """
        self.stop(connector)
        present = self._groups.offsets_of([connector])[connector]
        requested = {_where(entry): _FAMILY.position_in(entry.offset) for entry in changes}
        removed = {where for where, offset in requested.items() if offset is None and where in present}
        offsets = {
            where: Committed(at)
            for where, at in requested.items()
            if at is not None and (where not in present or present[where].offset != at)
        }
        if removed:
            self._groups.delete(connector)
            offsets = {where: one for where, one in present.items() if where not in removed} | offsets
        refused = self._groups.commit({connector: offsets}) if offsets else {}
        if refused and removed:
            raise OutcomeUnknown(
                f"Consumer group {connector!r} was deleted to remove some of its offsets, but the other offsets could "
                f"not be committed again: {refused[connector]}"
            )
        if refused:
            self.stop(connector)  # members that have joined meanwhile are the usual reason
            raise OutcomeUnknown(
                f"Not all offsets of consumer group {connector!r} could be committed: {refused[connector]}"
            )
        return WriteReply("")

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of a group without members, which deletes it; a group without offsets, too."""
        self.stop(connector)
        if connector in self.connectors():
            self._groups.delete(connector)
        return WriteReply("")

    def _read_committed(self, group: str) -> dict[TopicPartition, int]:
        committed = self._groups.offsets(group)
        if not committed:
            self._state(group)
        return committed

    def _state(self, group: str) -> GroupStatus:
        """Return the state of a group; raises :class:`UnknownConnector` if it isn't a consumer group."""
        status = self._groups.state(group)
        if status.kind:
            raise UnknownConnector(why_left_alone(group, status.kind))
        return status


def _status(group: GroupStatus) -> ConnectorStatus:
    if group.inactive:
        return ConnectorStatus(State.STOPPED, "")
    members = tuple(TaskStatus(number, State.RUNNING, "") for number in range(max(1, group.members)))
    return ConnectorStatus(State.RUNNING, "", members)


def _where(entry: Entry) -> TopicPartition:
    where = _FAMILY.topic_partition(parse_map(entry.partition))
    if where is None:
        raise ValueError(f"{entry.partition} must be a topic and a partition, because it belongs to a consumer group")
    return where
