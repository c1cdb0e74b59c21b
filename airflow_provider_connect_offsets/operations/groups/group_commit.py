"""Offsets of many consumer groups set on the target: as translated, and proved by reading back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, NotDrained, PlanRefused, StoreError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group, groups_named
from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.failover import DIGEST_PIECES, Move, digest_of_sums, row_numbers
from airflow_provider_connect_offsets.operations.groups.deleted_groups import commit_deleted
from airflow_provider_connect_offsets.operations.groups.left_groups import MEMBERS, count, names, place, reasons, shown
from airflow_provider_connect_offsets.operations.groups.prior_groups import added, read_replaced, write_replaced
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS, TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_NAMED = 5
Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of the groups: how many stand where they were to, and why others don't.

    ``late``: which records came to the source meanwhile, so that they are not on the target; empty where none did.
    """

    digest: str
    groups: int
    partitions: int
    left: Mapping[str, str]
    finished_at: datetime
    late: str = ""

    def as_json(self) -> dict[str, Any]:
        """Write it for the page."""
        return {
            "digest": self.digest,
            "groups": self.groups,
            "partitions": self.partitions,
            "left": dict(self.left),
            "late": self.late,
            "finished_at": self.finished_at.isoformat(timespec="milliseconds"),
        }


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be committed for a group, and what stood there when that was worked out."""

    offsets: dict[TopicPartition, int]
    before: dict[TopicPartition, int | None]

    def missing(self, present: Mapping[TopicPartition, Committed]) -> dict[TopicPartition, int]:
        """The offsets that don't stand there yet."""
        return {
            where: offset
            for where, offset in self.offsets.items()
            if where not in present or present[where].offset != offset
        }


def commit_translation(directory: FailoverDirectory, clusters: Clusters, *, digest: str) -> Moved:
    """Commit what was translated, many groups at once, and prove it by reading back; ``digest``: of what was judged.

    What stands there is made durable before it is replaced, so that :func:`restore_groups` can restore it. A partition
    that stands where it is to is left alone, so that a run that was killed ends complete when it is run again. A group
    that anyone is in, or whose offset has moved since the translation, is left as it is.

    The source, where there is one, must still end where it did when the flow was stopped; what comes to it while groups
    are committed is named in the outcome.

    Whatever it raises, what is committed stays committed, and the next attempt commits what is missing.

    Raises :class:`PlanRefused` and :class:`NotDrained` (this attempt committed nothing), :class:`GroupsNotMoved` at the
    end, which names the groups that were left, and store errors, which say whether anything may have been committed.
    """
    wanted, target = _approved(directory, digest), clusters.target
    left = {name: reason for name, reason in commit_deleted(directory, target).items() if name in wanted}
    present = groups_named(target, wanted)
    _refuse_late(directory, clusters, digest, wanted, present)
    for name, one in wanted.items():
        if name not in left and (reason := _hindrance(one, present[name])):
            left[name] = reason
    due = {name: one.missing(present[name].offsets) for name, one in wanted.items() if name not in left}
    due = {name: offsets for name, offsets in due.items() if offsets}
    _keep_way_back(directory, target, due, present, digest)
    try:
        left |= target.groups.commit(due)
        found = target.groups.offsets_of({**due, **left})
    except StoreError as error:
        unproved = dict.fromkeys(due, f"it was being committed, and nobody could read back whether it was: {error}")
        _write_outcome(directory, digest, wanted, left | unproved)
        if not due:
            raise
        raise type(error)(
            f"{error} It came in the midst of a commit: {count(due)}, and nobody has read back which of them were "
            f"committed. What was committed stays. {_next_step(directory)}"
        ) from error
    left = _told_left(wanted, found, left)
    return _ended(directory, clusters, digest, wanted, left)


def came_late(directory: FailoverDirectory, source: KafkaCluster | None) -> str:
    """Say which records came to the source after the last look at it; empty where none did, or it is gone."""
    if source is None:
        return ""
    rows = read_dataset(directory.mirror_partitions, MIRROR_PARTITIONS)
    ends = {
        TopicPartition(row["topic"], row["kafka_partition"]): row["source_end"]
        for row in rows
        if row["source_end"] is not None
    }
    found = source.logs.bounds(ends)
    in_order = sorted(ends, key=lambda where: (where.topic, where.partition))
    late = {where: found[where].log_end - ends[where] for where in in_order if found[where].log_end > ends[where]}
    if not late:
        return ""
    named = [f"{count:,} in topic {where.topic!r}, partition {where.partition}" for where, count in late.items()]
    more = [f"and more in {len(named) - _NAMED:,} partitions"] if len(named) > _NAMED else []
    return f"{sum(late.values()):,} records came to the source: {'; '.join([*named[:_NAMED], *more])}"


def _approved(directory: FailoverDirectory, digest: str) -> dict[str, _Wanted]:
    """What is to be committed, by group; raises :class:`PlanRefused` where it is not what was judged."""
    wanted: dict[str, _Wanted] = {}
    sums = [0] * len(DIGEST_PIECES)
    for row in iterate_dataset(directory.translation, TRANSLATION):
        if row["action"] == Move.COMMIT:
            where = TopicPartition(row["target_topic"], row["kafka_partition"])
            one = wanted.setdefault(row["group"], _Wanted({}, {}))
            one.offsets[where], one.before[where] = row["downstream"], row["target_before"]
            numbers = row_numbers(row["group"], where.topic, where.partition, row["downstream"])
            sums = [so_far + number for so_far, number in zip(sums, numbers, strict=True)]
    if digest_of_sums(sums) != digest:
        earlier = read_replaced(directory)
        stays = f" What an earlier commit of this run has moved stays: {count(earlier)}." if earlier else ""
        raise PlanRefused(
            f"Nothing was committed: the translation under {directory.uri} is not the one that was judged.{stays} Run "
            "it again from the beginning."
        )
    return wanted


def _refuse_late(
    directory: FailoverDirectory,
    clusters: Clusters,
    digest: str,
    wanted: Mapping[str, _Wanted],
    present: Mapping[str, Group],
) -> None:
    """Raise :class:`NotDrained` where records came to the source; say truly what an earlier attempt has moved."""
    missing = {name: one.missing(present[name].offsets) for name, one in wanted.items()}
    whole = [name for name, offsets in missing.items() if not offsets]
    part = [name for name, offsets in missing.items() if offsets and len(offsets) < len(wanted[name].offsets)]
    told, more = "", ""
    if whole or part:
        in_part = f", {len(part):,} in part{_listed(part)}" if part else ""
        told = (
            f" {len(whole):,} of {len(wanted):,} groups stand where they were to already{_listed(whole)}{in_part}, and "
            "are left there."
        )
        more = " further"
    try:
        late = came_late(directory, clusters.source)
    except StoreError as error:
        raise type(error)(f"No{more} group was moved: {error}{told}") from error
    if late:
        left = {
            name: f"it was not moved{' wholly' if name in part else ''}: {late}" for name in missing if missing[name]
        }
        _write_outcome(directory, digest, wanted, left)
        restore = f", or restore what was moved with {_restore(directory)}" if told else ""
        raise NotDrained(
            f"No{more} group was moved: after the flow was stopped, {late}. They are not on the target, and whoever "
            f"goes there misses them.{told} Stop the producers of these topics, then run the failover again{restore}."
        )


def _keep_way_back(
    directory: FailoverDirectory,
    target: KafkaCluster,
    due: Mapping[str, Offsets],
    present: Mapping[str, Group],
    digest: str,
) -> None:
    """Make durable what stands where offsets are about to be committed."""
    if due:
        existing = set(target.groups.list_groups())
        earlier = read_replaced(directory) or {}
        write_replaced(directory, added(earlier, due, present, existing, digest=digest))


def _hindrance(wanted: _Wanted, group: Group) -> str:
    """Why a group can't be committed; empty where it can, or nothing of it is missing."""
    if not wanted.missing(group.offsets):
        return ""
    if group.members:
        return MEMBERS
    for where, offset in wanted.offsets.items():
        stands = group.offset(where)
        if stands not in {offset, wanted.before[where]}:
            return f"{place(where)} stands at {shown(stands)}, no longer at {shown(wanted.before[where])}"
    return ""


def _told_left(
    wanted: Mapping[str, _Wanted], found: Mapping[str, Mapping[TopicPartition, Committed]], left: Mapping[str, str]
) -> dict[str, str]:
    """Name the groups that don't stand where they were to: why, and how much of each does."""
    told: dict[str, str] = {}
    for name, present in found.items():
        one = wanted[name]
        missing = one.missing(present)
        if missing:
            where, offset = next(iter(missing.items()))
            reason = f"{place(where)} was read back as {shown(present.get(where))}, not {shown(offset)}"
            stand = len(one.offsets) - len(missing)
            part = f" ({stand:,} of its {len(one.offsets):,} partitions stand where they were to)" if stand else ""
            told[name] = f"{left.get(name, reason)}{part}"
        elif name in left:
            told[name] = left[name]
    return told


def _ended(
    directory: FailoverDirectory,
    clusters: Clusters,
    digest: str,
    wanted: Mapping[str, _Wanted],
    left: Mapping[str, str],
) -> Moved:
    """Write the outcome of a commit that was read back; raises :class:`GroupsNotMoved` where groups are left."""
    there = f"{len(wanted) - len(left):,} of {len(wanted):,} groups stand where they were to, read back and proved"
    try:
        late = came_late(directory, clusters.source)
    except StoreError as error:
        _write_outcome(directory, digest, wanted, left)
        raise type(error)(
            f"{there}. Whether records came to the source meanwhile could not be seen: {error} {_next_step(directory)}"
        ) from error
    moved = _write_outcome(directory, digest, wanted, left, late=late)
    if left:
        raise GroupsNotMoved(
            f"{len(left):,} of {len(wanted):,} groups were not moved, or not wholly: {reasons(left)}. {there}. "
            f"{_next_step(directory)}"
        )
    return moved


def _write_outcome(
    directory: FailoverDirectory, digest: str, wanted: Mapping[str, _Wanted], left: Mapping[str, str], *, late: str = ""
) -> Moved:
    moved = Moved(
        digest=digest,
        groups=len(wanted) - len(left),
        partitions=sum(len(one.offsets) for name, one in wanted.items() if name not in left),
        left=dict(sorted(left.items())),
        finished_at=datetime.now(tz=UTC),
        late=late,
    )
    files.write_json(directory.outcome, moved.as_json())
    return moved


def _listed(groups: Collection[str]) -> str:
    return f" ({names(groups)})" if groups else ""


def _next_step(directory: FailoverDirectory) -> str:
    return f"Run it again to commit what is missing, or restore what was moved with {_restore(directory)}."


def _restore(directory: FailoverDirectory) -> str:
    return f"mirror_failover_restore, run_uri={directory.uri} and the same target"
