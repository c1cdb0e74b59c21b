"""Consumer groups behind the protocols of connectors: errors if members join in the midst of a write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from airflow_provider_connect_offsets.connect.group_offsets import GroupOffsets
from airflow_provider_connect_offsets.exceptions import NotStopped, OutcomeUnknown
from airflow_provider_connect_offsets.kafka.groups import Committed, GroupState, GroupStatus
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import TopicPartition

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


class Joined:
    """A group without members, which a member joins right before anything is committed."""

    def __init__(self) -> None:
        self.has_members = False
        self.stored = {A: Committed(60), B: Committed(20)}

    def state(self, _group: str) -> GroupStatus:
        state = GroupState.STABLE if self.has_members else GroupState.EMPTY
        return GroupStatus(state, int(self.has_members))

    def offsets_of(self, groups: Iterable[str]) -> dict[str, dict[TopicPartition, Committed]]:
        return {group: dict(self.stored) for group in groups}

    def delete(self, _group: str) -> None:
        self.stored.clear()

    def commit(self, offsets: Mapping[str, Any]) -> dict[str, str]:
        self.has_members = True
        return dict.fromkeys(offsets, "the group is not empty")


def write(groups: Joined, changes: Mapping[TopicPartition, int | None]) -> None:
    """Write positions of partitions; None removes one."""
    entries = (
        Entry.of(
            {"kafka_topic": where.topic, "kafka_partition": where.partition},
            None if at is None else {"kafka_offset": at},
        )
        for where, at in changes.items()
    )
    GroupOffsets(cast("Any", groups)).write_offsets("billing", Offsets.of(entries))


def test_kafka_refuses_a_group_with_members_whole() -> None:
    """Then nothing was written, and the error says so."""
    with pytest.raises(NotStopped, match=r"Nothing was written: consumer group 'billing' is Stable \(members: 1\)"):
        write(Joined(), {A: 0})


def test_an_error_after_the_group_was_deleted_does_not_say_that_nothing_was_written() -> None:
    """Its offsets are gone then."""
    groups = Joined()

    with pytest.raises(
        OutcomeUnknown, match=r"'billing' was deleted to remove some of its offsets, .* the group is not empty"
    ):
        write(groups, {A: None})

    assert not groups.stored
