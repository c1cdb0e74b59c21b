"""Observes a MirrorMaker 2 flow's offset syncs, checkpoints and consumer groups, and writes them as datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.group_kinds import SHARE_OR_STREAMS
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.remote_partitions import ReadFrom, RemotePartition
from airflow_provider_connect_offsets.observe.stored_records import read_stored_rows
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.offsets.sync_record import parse_sync
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS, STORED_RECORDS


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group.

    Attributes:
        state: Its state, in Kafka's words.
        members: How many members it has; at least 1 in any state with members, and if it isn't a consumer group.
        offsets: Its committed offsets.
        kind: What it is, if it isn't a consumer group; else empty.
    """

    state: str
    members: int
    offsets: Mapping[TopicPartition, Committed]
    kind: str = ""

    def offset(self, where: TopicPartition) -> int | None:
        """Return the committed offset of a partition; None if no offset is committed."""
        committed = self.offsets.get(where)
        return None if committed is None else committed.offset


def groups_of(cluster: KafkaCluster, pattern: str) -> dict[str, Group]:
    """Observe the groups of a cluster whose names match ``pattern``; raises store errors."""
    return groups_named(cluster, cluster.groups.list_groups(pattern))


def groups_named(cluster: KafkaCluster, names: Iterable[str]) -> dict[str, Group]:
    """Observe the groups with these names; a group that does not exist has no offsets. Raises store errors."""
    names = sorted(names)
    states, offsets = cluster.groups.states(names), cluster.groups.offsets_of(names)
    return {
        name: Group(
            status.state.value, 0 if status.inactive else max(status.members, 1), offsets[name], kind=status.kind
        )
        for name, status in states.items()
    }


def lost_positions(cluster: KafkaCluster, pattern: str) -> dict[str, str]:
    """Return the kind of each group that has positions but can't be moved, by name; raises store errors."""
    kinds = cluster.groups.other_kinds(pattern)
    return {name: kind for name, kind in kinds.items() if kind == SHARE_OR_STREAMS}


@dataclass(frozen=True, slots=True)
class GroupsOfFlow:
    """Consumer groups on both clusters, and the remote partitions that they concern.

    Attributes:
        of_source: Group → its state on the source; empty if the source is gone.
        of_target: Group → its state on the target.
        remote_partitions: The remote partitions of the flow.
        read_from: The offsets from which on both logs were read, by partition of the source.
        kept: Rows of the dataset ``kept_mappings``.
        unmovable: Groups of the source that match, but aren't consumer groups, and what they are.
    """

    of_source: Mapping[str, Group]
    of_target: Mapping[str, Group]
    remote_partitions: Sequence[RemotePartition]
    read_from: Mapping[TopicPartition, ReadFrom] = field(default_factory=dict)
    kept: Sequence[Mapping[str, Any]] = ()
    unmovable: Mapping[str, str] = field(default_factory=dict)


def write_internal_records(request: FailoverRequest, clusters: Clusters, directory: FailoverDirectory) -> None:
    """Write the request, and the records of MirrorMaker 2's internal topics: offset syncs and checkpoints.

    Call it before the log bounds are read: a sync of a record beyond the log end would be taken for a sync of an
    earlier topic of the same name. Raises store errors.
    """
    files.write_json(directory.request, request.as_json())
    here = clusters.source if request.flow.syncs_on is Side.SOURCE else clusters.target
    _write_syncs(request.flow, here, directory)
    if request.forward is not None:
        here = clusters.source if request.forward.syncs_on is Side.TARGET else clusters.target
        _write_syncs(request.forward, here, directory.forward_directory)
    checkpoints = read_stored_rows(clusters.target, request.flow.checkpoints_topic, TopicReader.read_latest)
    write_dataset(directory.stored_checkpoints, STORED_RECORDS, checkpoints)


def _write_syncs(flow: Flow, cluster: KafkaCluster | None, directory: FailoverDirectory) -> None:
    syncs = () if cluster is None else read_stored_rows(cluster, flow.offset_syncs_topic)
    write_dataset(directory.stored_syncs, STORED_RECORDS, syncs)


def read_syncs(directory: FailoverDirectory | ReadinessDirectory) -> dict[TopicPartition, list[OffsetMapping]]:
    """Read the offset syncs that :func:`write_internal_records` wrote, by partition of the source, in their order."""
    syncs: dict[TopicPartition, list[OffsetMapping]] = {}
    for row in iterate_dataset(directory.stored_syncs, STORED_RECORDS):
        sync = parse_sync(row["key"], row["value"])
        if sync is not None and sync.upstream >= 0 and sync.downstream >= 0:
            syncs.setdefault(sync.where, []).append(OffsetMapping(sync.upstream, sync.downstream))
    return syncs


def write_observation(request: FailoverRequest, directory: FailoverDirectory, observed: GroupsOfFlow) -> None:
    """Write the observed groups and logs as datasets."""
    flow = request.flow
    sides = {Side.SOURCE: observed.of_source, Side.TARGET: observed.of_target}
    rows = [*group_rows(flow.source_alias, observed.of_source), *group_rows(flow.target_alias, observed.of_target)]
    write_dataset(directory.group_offsets, GROUP_OFFSETS, rows)
    members = {
        side.value: {name: one.state for name, one in groups.items() if one.members} for side, groups in sides.items()
    }
    kinds = {name: one.kind for name, one in observed.of_target.items() if one.kind}
    files.write_json(directory.members, {**members, "kinds": kinds, "unmovable": dict(observed.unmovable)})
    if request.mode is Mode.PLANNED:
        write_dataset(directory.kept_mappings, KEPT_MAPPINGS, observed.kept)
    partitions = [one.row(observed.read_from.get(one.where)) for one in observed.remote_partitions]
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, partitions)


def group_rows(alias: str, groups: Mapping[str, Group]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``group_offsets``; ``alias``: name of the Kafka cluster in the flow."""
    for name, group in groups.items():
        for where, committed in group.offsets.items():
            yield {
                "kafka_cluster": alias,
                "group": name,
                "group_state": group.state,
                "topic": where.topic,
                "kafka_partition": where.partition,
                "offset": committed.offset,
                "metadata": committed.metadata,
            }
