"""Consumer groups restored to what they had on the target before a failover committed, and proved by reading back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, InvalidInput, StoreError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group, groups_named
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups.deleted_groups import Offsets, commit_deleted, delete_and_commit
from airflow_provider_connect_offsets.operations.groups.left_groups import MEMBERS, place, reasons, shown
from airflow_provider_connect_offsets.operations.groups.prior_groups import (
    Replaced,
    Replacements,
    read_replaced,
    write_replaced,
)
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory


@dataclass(frozen=True, slots=True)
class Restored:
    """How many groups and partitions have again what they had before the failover, and why others don't.

    ``emptied``: groups that were there before the failover and hold no offset any more. They are deleted with what the
    failover had committed; Kafka itself removes a group that has neither members nor offsets.
    """

    groups: int
    partitions: int
    left: Mapping[str, str]
    emptied: tuple[str, ...]
    finished_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Write it beside the outcome of the commit."""
        return {
            "groups": self.groups,
            "partitions": self.partitions,
            "left": dict(self.left),
            "emptied": list(self.emptied),
            "finished_at": self.finished_at.isoformat(timespec="milliseconds"),
        }


@dataclass(frozen=True, slots=True)
class _Prior:
    """What a group gets.

    commit: prior offsets of partitions that had one. clear: partitions that had none. present: all that it holds now,
    also what the failover has never touched.
    """

    commit: Offsets
    clear: frozenset[TopicPartition]
    present: Offsets

    @property
    def holds(self) -> dict[TopicPartition, Committed | None]:
        """All that it is to hold; None: no offset."""
        return {**self.present, **self.commit, **dict.fromkeys(self.clear)}


def restore_groups(directory: FailoverDirectory, target: KafkaCluster) -> Restored:
    """Restore what the commits of this run have replaced, with its metadata, and prove it; nothing else is touched.

    A group that has gone on since is left as it is, and so is one that anyone is in. Where a partition had no offset,
    its group is deleted, and what it holds beside is committed again, also what others have committed since. That is
    durable before: a process that is killed in between loses nothing that the next attempt would not commit.

    Raises :class:`InvalidInput` where this run has committed nothing, :class:`GroupsNotMoved` at the end, which names
    the groups that were left, and store errors, after which some may be restored: run it again.
    """
    replaced = read_replaced(directory)
    if replaced is None:
        raise InvalidInput(
            f"Nothing was restored: under {directory.before} no commit of a failover is recorded. run_uri must name "
            "the directory of its final translation (…/final)."
        )
    try:
        left, emptied = _restore(directory, target, replaced)
    except StoreError as error:
        raise type(error)(
            f"{error} Groups were being restored then. What is restored stays; what deleted groups held beside is kept "
            f"under {directory.deleted_groups}, and the next attempt commits it. Run it again."
        ) from error
    # What is restored may move from here on without being taken for what the failover has committed.
    write_replaced(directory, {name: rows for name, rows in replaced.items() if name in left})
    done = [name for name in replaced if name not in left]
    partitions = sum(len(replaced[name]) for name in done)
    restored = Restored(len(done), partitions, dict(sorted(left.items())), emptied, datetime.now(tz=UTC))
    files.write_json(directory.restored, restored.as_json())
    if left:
        raise GroupsNotMoved(
            f"{len(left):,} of {len(replaced):,} groups were not restored: {reasons(left)}. The other {len(done):,} "
            "have what they had before the failover. Run it again once these can be restored."
        )
    return restored


def _restore(
    directory: FailoverDirectory, target: KafkaCluster, replaced: Replacements
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Restore; gives the groups that were left, with the reasons, and those that hold nothing any more."""
    left = {name: reason for name, reason in commit_deleted(directory, target).items() if name in replaced}
    present = groups_named(target, replaced)
    for name, rows in replaced.items():
        if name not in left and (reason := _hindrance(rows, present[name])):
            left[name] = reason
    prior = {name: _prior(rows, present[name]) for name, rows in replaced.items() if name not in left}
    cleared = {name: one for name, one in prior.items() if one.clear}
    left |= target.groups.commit({name: one.commit for name, one in prior.items() if one.commit and not one.clear})
    left |= delete_and_commit(
        directory,
        target,
        found={name: one.present for name, one in cleared.items()},
        wanted={name: one.holds for name, one in cleared.items()},
    )
    found = target.groups.offsets_of(name for name in prior if name not in left)
    left |= {name: told for name in found if (told := _unproved(replaced[name], prior[name], found[name]))}
    emptied = [name for name in found if name not in left and not found[name] and _existed(replaced[name])]
    return left, tuple(sorted(emptied))


def _hindrance(replaced: Mapping[TopicPartition, Replaced], group: Group) -> str:
    """Why a group can't be restored; empty where it can."""
    if group.members:
        return MEMBERS
    for where, row in replaced.items():
        stands = group.offset(where)
        if stands not in {row.committed, _offset(row.prior)}:
            return f"{place(where)} has gone on from {shown(row.committed)} to {shown(stands)}, and stays there"
    return ""


def _prior(replaced: Mapping[TopicPartition, Replaced], group: Group) -> _Prior:
    """Work out what a group gets: only where the failover's own offset stands."""
    commit: dict[TopicPartition, Committed] = {}
    clear: set[TopicPartition] = set()
    for where, row in replaced.items():
        stands = group.offsets.get(where)
        if stands is None or stands.offset != row.committed or stands == row.prior:
            continue
        if row.prior is None:
            clear.add(where)
        else:
            commit[where] = row.prior
    return _Prior(commit, frozenset(clear), group.offsets)


def _unproved(replaced: Mapping[TopicPartition, Replaced], wanted: _Prior, found: Offsets) -> str:
    """Say what was read back that is not what a group had before; empty where all is."""
    without = dict.fromkeys(where for where, row in replaced.items() if row.prior is None)
    for where, prior in {**without, **(wanted.holds if wanted.clear else wanted.commit)}.items():
        if found.get(where) != prior:
            return f"{place(where)} was read back as {shown(found.get(where))}, not {shown(prior)}"
    return ""


def _existed(replaced: Mapping[TopicPartition, Replaced]) -> bool:
    return any(row.existed for row in replaced.values())


def _offset(prior: Committed | None) -> int | None:
    return None if prior is None else prior.offset
