"""A observed at a MirrorMaker 2 flow: its syncs and checkpoints, its consumer groups, and where replication stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader, TopicRecord
from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters, ReadFrom, RemotePartition
from airflow_provider_connect_offsets.observe.stored_records import stored_rows
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.offsets.sync_record import parse_sync
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS, STORED_RECORDS


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group: its state in Kafka's words, how many members it has, and what it has committed."""

    state: str
    members: int
    offsets: Mapping[TopicPartition, Committed]

    def offset(self, where: TopicPartition) -> int | None:
        """The offset that it has committed for a partition, or None."""
        found = self.offsets.get(where)
        return None if found is None else found.offset


def groups_of(cluster: KafkaCluster, pattern: str) -> dict[str, Group]:
    """Look at the groups of a cluster that ``pattern`` matches; raises store errors."""
    return groups_named(cluster, cluster.groups.list_groups(pattern))


def groups_named(cluster: KafkaCluster, names: Iterable[str]) -> dict[str, Group]:
    """Look at these groups, whether or not there are any of that name; raises store errors."""
    names = sorted(names)
    states, offsets = cluster.groups.states(names), cluster.groups.offsets_of(names)
    return {
        name: Group(
            states[name].state.value, 0 if states[name].inactive else max(states[name].members, 1), offsets[name]
        )
        for name in names
    }


@dataclass(frozen=True, slots=True)
class GroupsOfFlow:
    """What was seen of a flow: groups on either side, and the remote topics that concern them.

    ``read_from``: from which offsets on the records of both logs were read, by partition of the source; ``kept``: rows
    of the dataset ``kept_mappings``.
    """

    of_source: Mapping[str, Group]
    of_target: Mapping[str, Group]
    remote_partitions: Sequence[RemotePartition]
    read_from: Mapping[TopicPartition, ReadFrom] = field(default_factory=dict)
    kept: Sequence[Mapping[str, Any]] = ()


def write_told(request: FailoverRequest, clusters: Clusters, directory: FailoverDirectory) -> None:
    """Write what is asked for, and what MirrorMaker 2 has told so far: syncs and checkpoints.

    To be done before the logs are looked at: one that tells of a record beyond their ends would be taken for one of an
    earlier topic of that name.
    """
    files.write_json(directory.request, request.as_json())
    _write_syncs(request.flow, clusters.on(request.flow.syncs_on), directory)
    if request.forward is not None:
        here = clusters.source if request.forward.syncs_on is Side.TARGET else clusters.target
        _write_syncs(request.forward, here, directory.forward)
    checkpoints = stored_of_topic(clusters.target, request.flow.checkpoints_topic, TopicReader.latest)
    write_dataset(directory.stored_checkpoints, STORED_RECORDS, checkpoints)


def _write_syncs(flow: Flow, cluster: KafkaCluster | None, directory: FailoverDirectory) -> None:
    syncs = () if cluster is None else stored_of_topic(cluster, flow.offset_syncs_topic)
    write_dataset(directory.stored_syncs, STORED_RECORDS, syncs)


def told_syncs(directory: FailoverDirectory) -> dict[TopicPartition, list[OffsetMapping]]:
    """Offset syncs of each partition of the source, in their order, as ``write_told`` has written them."""
    found: dict[TopicPartition, list[OffsetMapping]] = {}
    for row in iterate_dataset(directory.stored_syncs, STORED_RECORDS):
        sync = parse_sync(row["key"], row["value"])
        if sync is not None and sync.upstream >= 0 and sync.downstream >= 0:
            found.setdefault(sync.where, []).append(OffsetMapping(sync.upstream, sync.downstream))
    return found


def write_observation(request: FailoverRequest, directory: FailoverDirectory, observed: GroupsOfFlow) -> None:
    """Write what was seen of groups and logs."""
    flow = request.flow
    sides = {Side.SOURCE: observed.of_source, Side.TARGET: observed.of_target}
    rows = [*group_rows(flow.source_alias, observed.of_source), *group_rows(flow.target_alias, observed.of_target)]
    write_dataset(directory.group_offsets, GROUP_OFFSETS, rows)
    members = {
        side.value: {name: one.state for name, one in groups.items() if one.members} for side, groups in sides.items()
    }
    files.write_json(directory.members, members)
    if request.mode is Mode.PLANNED:
        write_dataset(directory.kept_mappings, KEPT_MAPPINGS, observed.kept)
    partitions = [one.row(observed.read_from.get(one.where)) for one in observed.remote_partitions]
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, partitions)


def group_rows(alias: str, groups: Mapping[str, Group]) -> Iterator[dict[str, Any]]:
    """Rows of the dataset ``group_offsets``."""
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


def stored_of_topic(
    cluster: KafkaCluster,
    name: str,
    read: Callable[[TopicReader], Iterable[TopicRecord]] = lambda topic: topic.records(),
) -> Iterator[dict[str, Any]]:
    """Records of an internal topic, as rows of ``stored_records``; none where MirrorMaker 2 has not created it."""
    if name in cluster.logs.topics():
        with cluster.topic(name) as topic:
            yield from stored_rows(name, read(topic))
