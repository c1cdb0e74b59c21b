"""Commits the translated offsets of many consumer groups on the target, and proves them by reading back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, NotDrained, PlanRefused, StoreError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.observed_groups import Group, groups_named
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.failover import DIGEST_PIECES, Move, digest_of_sums, row_numbers
from airflow_provider_connect_offsets.operations.stages.groups.deleted_groups import commit_deleted
from airflow_provider_connect_offsets.operations.stages.groups.left_groups import (
    MEMBERS,
    count,
    names,
    of_other_kind,
    partition_text,
    reasons,
    show_offset,
)
from airflow_provider_connect_offsets.operations.stages.groups.prior_groups import (
    add_replaced,
    read_replaced,
    write_replaced,
)
from airflow_provider_connect_offsets.words import join_first, quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS, TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_NAMED = 5
Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Moved(JsonRecord):
    """The result of a commit, written to ``outcome.json`` for the report.

    Attributes:
        digest: Digest of the translation.
        groups: How many groups have their translated offsets.
        partitions: Number of their partitions.
        left: Group without its translated offsets → the reason.
        finished_at: When the commit ended.
        late: Describes records that reached the source meanwhile and are not on the target; empty if there are none.
        undo: The command that restores the replaced offsets; empty if none was replaced.
    """

    digest: str
    groups: int
    partitions: int
    left: Mapping[str, str]
    finished_at: datetime
    late: str = ""
    undo: str = ""


@dataclass(frozen=True, slots=True)
class _Translated:
    """What is to be committed for a group, and its offsets on the target when it was translated."""

    offsets: dict[TopicPartition, int]
    before: dict[TopicPartition, int | None]

    def missing_offsets(self, present: Mapping[TopicPartition, Committed]) -> dict[TopicPartition, int]:
        """Return the offsets that are not committed yet."""
        return {
            where: offset
            for where, offset in self.offsets.items()
            if where not in present or present[where].offset != offset
        }


def commit_translation(directory: FailoverDirectory, clusters: Clusters, *, digest: str, undo: str = "") -> Moved:
    """Commit the translated offsets, many groups at once, and prove them by reading back.

    The replaced offsets are made durable first, so that :func:`restore_groups` can restore them. A partition that has
    its translated offset already is left alone, so that a killed run is completed when it is run again. A group that
    has members, or whose offset has moved since the translation, is left as it is.

    The source, if there is one, must still end where it did when the flow was stopped; records that come while groups
    are committed are named in the outcome. After any error, what is committed stays committed, and the next attempt
    commits what is missing.

    Args:
        directory: Directory of the final translation.
        clusters: The clusters of the flow.
        digest: Digest of the approved translation.
        undo: The command that restores the replaced offsets, for the report.

    Raises:
        PlanRefused: The translation is not the approved one; this attempt committed nothing.
        NotDrained: Records came to the source; this attempt committed nothing.
        GroupsNotMoved: All others are committed; names the groups that were left.
        StoreError: Says whether anything may have been committed.
    """
    translated, target = _read_approved(directory, digest), clusters.target
    commit = _Commit(directory, clusters, digest, translated, undo)
    left = {name: reason for name, reason in commit_deleted(directory, target).items() if name in translated}
    present = groups_named(target, translated)
    commit.refuse_late(present)
    for name, one in translated.items():
        if name not in left and (reason := _hindrance(one, present[name])):
            left[name] = reason
    due = {name: one.missing_offsets(present[name].offsets) for name, one in translated.items() if name not in left}
    due = {name: offsets for name, offsets in due.items() if offsets}
    if due:
        existing = set(target.groups.list_groups())
        replaced = add_replaced(read_replaced(directory) or {}, due, present, existing, digest=digest)
        write_replaced(directory, replaced)  # durable before anything is committed
    try:
        left |= target.groups.commit(due)
        stored = target.groups.offsets_of({**due, **left})
    except StoreError as error:
        unproved = dict.fromkeys(due, f"its commit had begun, but its offsets could not be read back: {error}")
        commit.write_outcome(left | unproved)
        if not due:
            raise
        raise type(error)(
            f"{error} This interrupted the commit of {count(due)}. Some of them may be committed: they could not be "
            f"read back. Offsets that were committed stay. {_next_step(directory)}"
        ) from error
    return commit.end(commit.describe_left(stored, left))


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit of the approved translation ``translated``, and how it ends."""

    directory: FailoverDirectory
    clusters: Clusters
    digest: str
    translated: Mapping[str, _Translated]
    undo: str

    def refuse_late(self, present: Mapping[str, Group]) -> None:
        """Raise :class:`NotDrained`, which names what an earlier attempt has moved, if records came to the source."""
        translated = self.translated
        missing = {name: one.missing_offsets(present[name].offsets) for name, one in translated.items()}
        whole = [name for name, offsets in missing.items() if not offsets]
        part = [name for name, offsets in missing.items() if offsets and len(offsets) < len(translated[name].offsets)]
        moved, more = "", ""
        if whole or part:
            in_part = f" Of {len(part):,} more{_list_groups(part)}, some offsets are committed." if part else ""
            moved = (
                f" {len(whole):,} of {len(translated):,} groups{_list_groups(whole)} already have all their translated "
                f"offsets.{in_part} These offsets stay."
            )
            more = " further"
        try:
            late = came_late(self.directory, self.clusters.source)
        except StoreError as error:
            raise type(error)(f"No{more} group was moved: {error}{moved}") from error
        if late:
            left = {
                name: f"it was {'moved only in part' if name in part else 'not moved'}, because {late}"
                for name in missing
                if missing[name]
            }
            self.write_outcome(left)
            restore = f", or {_restore(self.directory)}" if moved else ""
            raise NotDrained(
                f"No{more} group was moved. After the flow was stopped, {late}. These records are not on the target, "
                f"so consumers there would miss them.{moved} Stop the producers of these topics, then run the failover "
                f"again{restore}."
            )

    def describe_left(
        self, stored: Mapping[str, Mapping[TopicPartition, Committed]], left: Mapping[str, str]
    ) -> dict[str, str]:
        """Describe the groups that don't have all their translated offsets: why, and how many they have."""
        described: dict[str, str] = {}
        for name, present in stored.items():
            one = self.translated[name]
            missing = one.missing_offsets(present)
            if missing:
                where, offset = next(iter(missing.items()))
                actual = show_offset(present.get(where))
                reason = f"{partition_text(where)} was read back as {actual}, not {show_offset(offset)}"
                committed = len(one.offsets) - len(missing)
                part = (
                    f" ({committed:,} of its {len(one.offsets):,} translated offsets are committed)"
                    if committed
                    else ""
                )
                described[name] = f"{left.get(name, reason)}{part}"
            elif name in left:
                described[name] = left[name]
        return described

    def end(self, left: Mapping[str, str]) -> Moved:
        """Write the outcome of a commit that was read back; raises :class:`GroupsNotMoved` if groups are left."""
        total = len(self.translated)
        proved = f"{total - len(left):,} of {total:,} groups have their translated offsets, written and read back"
        try:
            late = came_late(self.directory, self.clusters.source)
        except StoreError as error:
            self.write_outcome(left)
            raise type(error)(
                f"{proved}. It is unknown whether the source received more records meanwhile: {error} "
                f"{_next_step(self.directory)}"
            ) from error
        moved = self.write_outcome(left, late=late)
        if left:
            raise GroupsNotMoved(
                f"{len(left):,} of {total:,} groups were not moved, or only in part: {reasons(left)}. {proved}. "
                f"{_next_step(self.directory)}"
            )
        return moved

    def write_outcome(self, left: Mapping[str, str], *, late: str = "") -> Moved:
        """Write ``outcome.json``; ``left``: group → why it does not have its translated offsets."""
        moved = Moved(
            digest=self.digest,
            groups=len(self.translated) - len(left),
            partitions=sum(len(one.offsets) for name, one in self.translated.items() if name not in left),
            left=dict(sorted(left.items())),
            finished_at=datetime.now(tz=UTC),
            late=late,
            undo=self.undo if files.list_names(self.directory.before) else "",
        )
        files.write_json(self.directory.outcome, moved.as_json())
        return moved


def came_late(directory: FailoverDirectory, source: KafkaCluster | None) -> str:
    """Describe the records that came to the source after it was observed last; empty if none, or without a source.

    Raises store errors.
    """
    if source is None:
        return ""
    rows = read_dataset(directory.mirror_partitions, MIRROR_PARTITIONS)
    ends = {partition_of(row): row["source_end"] for row in rows if row["source_end"] is not None}
    bounds = source.bounds(ends)
    late = {where: bounds[where].log_end - ends[where] for where in sorted(ends)}
    named = [f"{count:,} in {partition_text(where)}" for where, count in late.items() if count > 0]
    if not named:
        return ""
    total = sum(count for count in late.values() if count > 0)
    return f"the source received {quantify(total, 'record')}: {join_first(named, _NAMED, separator='; ')}"


def _read_approved(directory: FailoverDirectory, digest: str) -> dict[str, _Translated]:
    """Read what is to be committed, by group; raises :class:`PlanRefused` if it is not what was approved."""
    translated: dict[str, _Translated] = {}
    sums = [0] * len(DIGEST_PIECES)
    for row in iterate_dataset(directory.translation, TRANSLATION):
        if row["action"] == Move.COMMIT:
            where = TopicPartition(row["target_topic"], row["kafka_partition"])
            one = translated.setdefault(row["group"], _Translated({}, {}))
            one.offsets[where], one.before[where] = row["downstream"], row["target_before"]
            numbers = row_numbers(row["group"], where.topic, where.partition, row["downstream"])
            sums = [so_far + number for so_far, number in zip(sums, numbers, strict=True)]
    if digest_of_sums(sums) != digest:
        earlier = read_replaced(directory)
        stays = f" An earlier commit of this run has moved {count(earlier)}: they stay moved." if earlier else ""
        raise PlanRefused(
            f"Nothing was committed: the translation under {directory.uri} is not the approved translation.{stays} Run "
            "the failover again from its beginning."
        )
    return translated


def _hindrance(one: _Translated, group: Group) -> str:
    """Describe why a group can't be committed; empty if it can, or none of its offsets is missing."""
    if not one.missing_offsets(group.offsets):
        return ""
    if group.kind:
        return of_other_kind(group.kind)
    if group.members:
        return MEMBERS
    for where, translated in one.offsets.items():
        if (offset := group.offset(where)) not in {translated, one.before[where]}:
            return f"{partition_text(where)} is at {show_offset(offset)}, no longer at {show_offset(one.before[where])}"
    return ""


def _list_groups(groups: Collection[str]) -> str:
    return f" ({names(groups)})" if groups else ""


def _next_step(directory: FailoverDirectory) -> str:
    return f"Run the task again to commit what is missing, or {_restore(directory)}."


def _restore(directory: FailoverDirectory) -> str:
    return f"restore the moved groups: run mirror_failover_restore with run_uri={directory.uri} and the same target"
