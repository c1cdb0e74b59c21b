"""Offsets of many consumer groups set on the target: as translated, proved by reading back, and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.change.flow_look import Group, group_rows, groups_named
from airflow_provider_connect_offsets.change.replicas import Clusters
from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, InvalidInput, NotDrained, PlanRefused
from airflow_provider_connect_offsets.offsets.failover import (
    DIGEST_PIECES,
    FailoverRequest,
    Move,
    digest_of_sums,
    row_numbers,
)
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.stores.cluster import KafkaCluster
from airflow_provider_connect_offsets.stores.groups import Committed
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS, MIRROR_PARTITIONS, TRANSLATION

_NAMED = 5
_MEMBERS = "it has members on the target: stop them, and run it again"
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


def commit_translation(directory: FailoverDirectory, clusters: Clusters, *, digest: str) -> Moved:
    """Commit what was translated, many groups at once, and prove it by reading back; ``digest``: of what was judged.

    What stood there before is written first, once: the way back. A partition that stands where it is to is left alone,
    so that a run that was killed ends complete when it is run again. A group that anyone is in, or whose offset has
    moved since the translation, is left as it is.

    The source, where there is one, must still end where it did when the flow was stopped; what comes to it while groups
    are committed is named in the outcome.

    Raises :class:`PlanRefused` and :class:`NotDrained` (nothing was committed), :class:`GroupsNotMoved` at the end, and
    store errors, after which some may be committed: run it again.
    """
    request = FailoverRequest.from_json(files.read_json(directory.request))
    wanted, target = _approved(directory, digest), clusters.target
    if late := came_late(directory, clusters.source):
        raise NotDrained(
            f"No group was moved: after the flow was stopped, {late}. They are not on the target, and whoever went "
            "there would miss them. Stop the producers of these topics, then run the failover again."
        )
    present = groups_named(target, wanted)
    _keep_way_back(directory, request.flow.target_alias, present)
    left = {name: reason for name, one in wanted.items() if (reason := _hindrance(one, present[name]))}
    due = {name: _missing(one.offsets, present[name]) for name, one in wanted.items() if name not in left}
    left |= target.groups.commit({name: offsets for name, offsets in due.items() if offsets})
    left |= _unproved(target, {name: one.offsets for name, one in wanted.items() if name not in left})
    moved = Moved(
        digest=digest,
        groups=len(wanted) - len(left),
        partitions=sum(len(one.offsets) for name, one in wanted.items() if name not in left),
        left=dict(sorted(left.items())),
        finished_at=datetime.now(tz=UTC),
        late=came_late(directory, clusters.source),
    )
    files.write_json(directory.outcome, moved.as_json())
    if left:
        raise GroupsNotMoved(
            f"{len(left):,} of {len(wanted):,} groups were not moved, or not wholly: {_told(left)}. The others stand "
            "where they were to. Run it again to move what is left, or put all back with mirror_failover_restore, "
            f"run_uri={directory.uri} and the same target."
        )
    return moved


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


def restore_groups(directory: FailoverDirectory, target: KafkaCluster) -> Moved:
    """Put the groups back to what they were before the commit of this run, and prove it.

    A group that has gone on since is left as it is, and so is one that anyone is in. Where a partition had no offset,
    the group is deleted, as that is the only way, and what it had is committed again.

    Raises :class:`InvalidInput` where nothing was committed by this run, and as :func:`commit_translation` does.
    """
    outcome = files.read_json_if_any(directory.outcome)
    if not files.list_names(directory.before):
        raise InvalidInput(f"Nothing was put back: the run of {directory.uri} has committed nothing.")
    digest = str((outcome or files.read_json(directory.summary))["digest"])
    wanted = _approved(directory, digest)
    before = _offsets_in(directory.before)
    present = groups_named(target, wanted)
    left: dict[str, str] = {}
    for name, one in wanted.items():
        back = before.get(name, {})
        reason = _gone_on(one.offsets, back, present[name])
        if reason:
            left[name] = reason
        elif any(where not in back for where in present[name].offsets):
            target.groups.delete(name)
    due = {name: before[name] for name in wanted if name not in left and before.get(name)}
    left |= target.groups.commit(due)
    left |= _unproved(target, {name: before.get(name, {}) for name in wanted if name not in left}, only_these=True)
    moved = Moved(digest, len(wanted) - len(left), sum(map(len, due.values())), left, datetime.now(tz=UTC))
    files.write_json(f"{directory.uri}/restored.json", moved.as_json())
    if left:
        raise GroupsNotMoved(f"{len(left):,} of {len(wanted):,} groups were not put back: {_told(left)}.")
    return moved


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
        raise PlanRefused(
            f"Nothing was committed: the translation under {directory.uri} is not the one that was judged. Run it "
            "again from the beginning."
        )
    return wanted


def _keep_way_back(directory: FailoverDirectory, alias: str, present: Mapping[str, Group]) -> None:
    """Only once: a second attempt would take what the first one has committed for what was there before."""
    if "_SUCCESS" not in files.list_names(directory.before):
        write_dataset(directory.before, GROUP_OFFSETS, group_rows(alias, present))


def _hindrance(wanted: _Wanted, group: Group) -> str:
    """Why a group can't be committed; empty where it can."""
    if group.members:
        return _MEMBERS
    for where, offset in wanted.offsets.items():
        stands = _stands(group, where)
        if stands not in {offset, wanted.before[where]}:
            seen = "no offset" if wanted.before[where] is None else f"{wanted.before[where]:,}"
            return f"topic {where.topic!r}, partition {where.partition} stands at {stands}, no longer at {seen}"
    return ""


def _missing(wanted: Offsets, group: Group) -> dict[TopicPartition, int]:
    return {where: offset for where, offset in wanted.items() if _stands(group, where) != offset}


def _gone_on(committed: Offsets, before: Offsets, group: Group) -> str:
    if group.members:
        return _MEMBERS
    for where, offset in committed.items():
        stands = _stands(group, where)
        if stands not in {offset, before.get(where)}:
            return f"topic {where.topic!r}, partition {where.partition} has gone on from {offset:,} to {stands}"
    return ""


def _unproved(target: KafkaCluster, wanted: Mapping[str, Offsets], *, only_these: bool = False) -> dict[str, str]:
    """Read back; gives the groups that don't stand where they were to."""
    wrong = {}
    for name, found in target.groups.offsets_of(wanted).items():
        for where, offset in wanted[name].items():
            stands = found.get(where)
            if stands is None or stands.offset != offset:
                told = "no offset" if stands is None else f"{stands.offset:,}"
                wrong[name] = (
                    f"topic {where.topic!r}, partition {where.partition} was read back as {told}, not {offset:,}"
                )
        if only_these and set(found) - set(wanted[name]):
            wrong[name] = "it still has offsets that it did not have before"
    return wrong


def _stands(group: Group, where: TopicPartition) -> int | None:
    found: Committed | None = group.offsets.get(where)
    return None if found is None else found.offset


def _offsets_in(uri: str) -> dict[str, dict[TopicPartition, int]]:
    found: dict[str, dict[TopicPartition, int]] = {}
    for row in read_dataset(uri, GROUP_OFFSETS):
        where = TopicPartition(row["topic"], row["kafka_partition"])
        found.setdefault(row["group"], {})[where] = row["offset"]
    return found


def _told(left: Mapping[str, str]) -> str:
    named = [f"{name!r}: {reason}" for name, reason in sorted(left.items())[:_NAMED]]
    more = len(left) - _NAMED
    return "; ".join([*named, *([f"and {more:,} more"] if more > 0 else [])])
