"""Restores the offsets that consumer groups had on the target before a failover, and proves them by reading back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, InvalidInput, StoreError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group, groups_named
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.operations.stages.groups.deleted_groups import (
    Offsets,
    commit_deleted,
    delete_and_commit,
)
from airflow_provider_connect_offsets.operations.stages.groups.left_groups import (
    MEMBERS,
    of_other_kind,
    partition_text,
    reasons,
    show_offset,
)
from airflow_provider_connect_offsets.operations.stages.groups.prior_groups import (
    Replaced,
    Replacements,
    read_replaced,
    write_replaced,
)
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory


@dataclass(frozen=True, slots=True)
class Restored(JsonRecord):
    """The result of a restore, written to ``restored.json``.

    Attributes:
        groups: How many groups have their prior offsets again.
        partitions: Number of their partitions.
        left: Group → why it was not restored.
        emptied: Groups that existed before the failover, and have no offset any more: Kafka removes a group that has
            neither members nor offsets.
        finished_at: When it ended.
    """

    groups: int
    partitions: int
    left: Mapping[str, str]
    emptied: tuple[str, ...]
    finished_at: datetime


@dataclass(frozen=True, slots=True)
class _Prior:
    """What a group gets.

    Attributes:
        commit: Prior offsets of partitions that had one.
        clear: Partitions that had none.
        present: All its offsets now, also those that the failover did not change.
    """

    commit: Offsets
    clear: frozenset[TopicPartition]
    present: Offsets

    @property
    def expected_offsets(self) -> dict[TopicPartition, Committed | None]:
        """All its offsets afterwards; None: no offset."""
        return {**self.present, **self.commit, **dict.fromkeys(self.clear)}


def restore_groups(directory: FailoverDirectory, target: KafkaCluster) -> Restored:
    """Restore the offsets and metadata that the commits of this run have replaced, and change nothing else.

    Verifies them by reading them back.

    A group that has moved on since, or has members, is left as it is. If a partition had no offset, its group is
    deleted, and the other offsets of the group are committed again, including offsets that others have committed since.
    These are made durable first: if the process is killed in between, the next attempt commits them.

    Args:
        directory: Directory of the final translation.
        target: The target cluster.

    Raises:
        InvalidInput: This run has committed nothing.
        AccessDenied: The user may not Describe a topic of these offsets; nothing was restored.
        GroupsNotMoved: All others are restored; names the groups that were left.
        StoreError: Some groups may be restored; run it again.
    """
    replaced = read_replaced(directory)
    if replaced is None:
        raise InvalidInput(
            f"Nothing was restored: {directory.before} has no record of a failover's commit. Set run_uri to the "
            "directory of the failover's final translation (…/final)."
        )
    try:
        left, emptied = _restore(directory, target, replaced)
    except StoreError as error:
        raise type(error)(
            f"{error} This interrupted the restore of groups. Groups that are already restored stay so. If a group was "
            f"deleted to clear single offsets, its other offsets are kept under {directory.deleted_groups}, and the "
            "next attempt commits them. Run the task again."
        ) from error
    # Restored groups may move from here on: their offsets are no longer compared with what the failover committed.
    write_replaced(directory, {name: rows for name, rows in replaced.items() if name in left})
    done = [name for name in replaced if name not in left]
    partitions = sum(len(replaced[name]) for name in done)
    restored = Restored(len(done), partitions, dict(sorted(left.items())), emptied, datetime.now(tz=UTC))
    files.write_json(directory.restored, restored.as_json())
    if left:
        others = f" The other {len(done):,} have their offsets from before the failover again." if done else ""
        raise GroupsNotMoved(
            f"{len(left):,} of {len(replaced):,} groups were not restored: {reasons(left)}.{others} Run the task again "
            "once the remaining groups can be restored."
        )
    return restored


def _restore(
    directory: FailoverDirectory, target: KafkaCluster, replaced: Replacements
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Restore the groups; return which were left, with the reasons, and which existed before and have no offset now."""
    # Kafka answers without the offsets of topics that the user may not see (KafkaApis), as if others had removed them.
    target.refuse_hidden({where.topic for rows in replaced.values() for where in rows})
    left = {name: reason for name, reason in commit_deleted(directory, target).items() if name in replaced}
    present = groups_named(target, replaced)
    for name, rows in replaced.items():
        if name not in left and (reason := _hindrance(rows, present[name])):
            left[name] = reason
    prior = {name: _find_prior(rows, present[name]) for name, rows in replaced.items() if name not in left}
    cleared = {name: one for name, one in prior.items() if one.clear}
    left |= target.groups.commit({name: one.commit for name, one in prior.items() if one.commit and not one.clear})
    left |= delete_and_commit(
        directory,
        target,
        observed={name: one.present for name, one in cleared.items()},
        expected={name: one.expected_offsets for name, one in cleared.items()},
    )
    stored = target.groups.offsets_of(name for name in prior if name not in left)
    left |= {
        name: reason for name in stored if (reason := _describe_unproved(replaced[name], prior[name], stored[name]))
    }
    emptied = [
        name
        for name in stored
        if name not in left and not stored[name] and any(row.existed for row in replaced[name].values())
    ]
    return left, tuple(sorted(emptied))


def _hindrance(replaced: Mapping[TopicPartition, Replaced], group: Group) -> str:
    """Describe why a group can't be restored; empty if it can."""
    if group.kind:
        return of_other_kind(group.kind)
    if group.members:
        return MEMBERS
    for where, row in replaced.items():
        offset = group.offset(where)
        if offset not in {row.committed, None if row.prior is None else row.prior.offset}:
            return (
                f"{partition_text(where)} has moved from {show_offset(row.committed)} to {show_offset(offset)} since "
                "the failover, and stays there"
            )
    return ""


def _find_prior(replaced: Mapping[TopicPartition, Replaced], group: Group) -> _Prior:
    """Return what a group gets, in partitions that still have the failover's offset."""
    commit: dict[TopicPartition, Committed] = {}
    clear: set[TopicPartition] = set()
    for where, row in replaced.items():
        committed = group.offsets.get(where)
        if committed is None or committed.offset != row.committed or committed == row.prior:
            continue
        if row.prior is None:
            clear.add(where)
        else:
            commit[where] = row.prior
    return _Prior(commit, frozenset(clear), group.offsets)


def _describe_unproved(replaced: Mapping[TopicPartition, Replaced], prior: _Prior, stored: Offsets) -> str:
    """Describe the first offset read back that differs from the offset before the failover; empty if none does."""
    without = dict.fromkeys(where for where, row in replaced.items() if row.prior is None)
    for where, committed in {**without, **(prior.expected_offsets if prior.clear else prior.commit)}.items():
        if stored.get(where) != committed:
            actual = show_offset(stored.get(where))
            return f"{partition_text(where)} was read back as {actual}, not {show_offset(committed)}"
    return ""
