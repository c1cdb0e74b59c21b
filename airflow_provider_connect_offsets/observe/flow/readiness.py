"""One look at a MirrorMaker 2 flow, from its connectors to its consumer groups, for the job that judges it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings
from airflow_provider_connect_offsets.observe.flow.ledger_observed import records_before
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    Clusters,
    RemotePartition,
    remote_partitions_found,
    remote_partitions_left,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchored
from airflow_provider_connect_offsets.observe.lag import Replicated, isolation_of, replicated
from airflow_provider_connect_offsets.observe.snapshot import (
    ObservedConnector,
    bounds_rows,
    connector_row,
    observe_connector,
    offset_rows,
)
from airflow_provider_connect_offsets.observe.stored_records import moment_of, stored_rows
from airflow_provider_connect_offsets.offsets.document import parse_map
from airflow_provider_connect_offsets.offsets.families import (
    MirrorCheckpoint,
    MirrorSource,
    TopicPartition,
)
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    FLOW_TOPICS,
    KEPT_MAPPINGS,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    REMAINING,
)
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.readiness import Kept, ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    GROUP_OFFSETS,
    LOG_BOUNDS,
    STORED_RECORDS,
)

log = logging.getLogger(__name__)

_ENTRY = ".parquet"


@dataclass(frozen=True, slots=True)
class ObservedReadiness:
    """What was written, in numbers."""

    partitions: int
    groups: int
    syncs: int
    checkpoints: int
    observed_at: datetime


def take_readiness_snapshot(
    request: ReadinessRequest,
    clients: Clients,
    source: KafkaCluster,
    target: KafkaCluster,
    directory: ReadinessDirectory,
    *,
    kept: Kept,
) -> ObservedReadiness:
    """Write ``request.json``, the datasets that a judgement needs, and last of all ``snapshot.json``; change nothing.

    Everything is read in an order in which time makes a lag look larger, never smaller: checkpoints before the groups'
    positions, and offset syncs before the logs that they tell of.

    Raises :class:`UnknownConnector` with close names, :class:`InvalidRequest` for connectors that are no MirrorMaker
    2's, :class:`InvalidInput` where the flow's names can't be told, and store errors.
    """
    seen, cluster = _connectors(request, clients), kept.cluster
    flow, observed_at = Flow.of(seen[0].info.config), datetime.now(tz=UTC)
    files.write_json(directory.request, request.as_json())
    write_dataset(directory.connectors, CONNECTORS, [connector_row(one, cluster, observed_at) for one in seen])
    offsets = offset_rows(seen[0], cluster, clients.origin, observed_at)
    write_dataset(directory.connector_offsets, CONNECTOR_OFFSETS, offsets)

    checkpoints = _write_records(directory.stored_checkpoints, target, flow.checkpoints_topic)
    groups = _group_rows(request.groups, flow, source.groups, target.groups) if len(seen) > 1 else []
    write_dataset(directory.group_offsets, GROUP_OFFSETS, groups)
    syncs_on = source if flow.syncs_on is Side.SOURCE else target
    syncs = _write_records(directory.stored_syncs, syncs_on, flow.offset_syncs_topic)

    found = replicated(clients, seen[0].info, source.logs)
    bounds = {where: one.bounds for where, one in found.items()}
    remote_partitions = _remote_partitions(flow, bounds, target.logs)
    ends = [*bounds_rows(bounds, flow.source_alias), *bounds_rows(remote_partitions, flow.target_alias)]
    write_dataset(directory.log_bounds, LOG_BOUNDS, ends)
    write_dataset(directory.remaining, REMAINING, _remaining_rows(found))
    clusters = Clusters(source, target, isolation_of(seen[0].info.config))
    of_source = (row for row in groups if row["kafka_cluster"] == flow.source_alias)
    positions: dict[TopicPartition, set[int]] = {}
    for row in of_source:
        positions.setdefault(TopicPartition(row["topic"], row["kafka_partition"]), set()).add(row["offset"])
    concerned = {where.topic for where in positions}
    look = anchored(
        clusters,
        remote_partitions_found(seen[0].info, clusters, {w: one for w, one in found.items() if w.topic in concerned}),
    )
    _write_partitions(directory, flow, clusters, look, kept.rewinds)
    write_dataset(directory.record_digests, RECORD_DIGESTS, records_before(clusters, look, positions))
    topics = {where.topic for where in bounds} | _stored_topics(seen[0])
    write_dataset(directory.flow_topics, FLOW_TOPICS, _topic_rows(flow, topics, source.logs, target.logs))
    aliases = {"source_alias": flow.source_alias, "target_alias": flow.target_alias}
    entry = f"{_stamp(observed_at)}{_ENTRY}"
    files.write_json(
        directory.snapshot,
        {
            "observed_at": observed_at.isoformat(),
            "flow": flow.as_json(),
            "next_history": join(kept.history, entry),
            "next_ledger": join(kept.ledger(target.cluster_id(), **aliases), entry),
        },
    )
    return ObservedReadiness(len(bounds), len({row["group"] for row in groups}), syncs, checkpoints, observed_at)


def forget_earlier(summary: Mapping[str, Any], *, keep_under: str) -> list[str]:
    """Remove what the job's summary says has expired: directories of runs, and what the history has of them.

    keep_under: the directory of the DAG; nothing outside of it is removed. Gives what was removed.
    """
    root = str(summary["next_history"]).rpartition("/")[0]
    oldest = _stamp(datetime.fromisoformat(summary["history_since"]))
    ledgers, _, newest = str(summary["next_ledger"]).rpartition("/")
    # Hadoop keeps a checksum of each file on a local disk, in a hidden file of the same name.
    histories = [join(root, name) for name in files.list_names(root) if name.lstrip(".") < oldest]
    histories += [join(ledgers, name) for name in files.list_names(ledgers) if name.lstrip(".") < newest]
    runs = [uri for uri in summary["expired"] if uri.startswith(f"{keep_under.rstrip('/')}/")]
    for uri in (*runs, *histories):
        files.remove_tree(uri)
    return [*runs, *histories]


def _stamp(moment: datetime) -> str:
    """A name that sorts by time."""
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"


def _connectors(request: ReadinessRequest, clients: Clients) -> list[ObservedConnector]:
    wanted = [(request.source_connector, MirrorSource.name, "source_connector")]
    if request.checkpoint_connector:
        wanted.append((request.checkpoint_connector, MirrorCheckpoint.name, "checkpoint_connector"))
    seen = []
    for name, family, param in wanted:
        found = observe_connector(clients, name)
        if found.info.family.name != family:
            kind = "MirrorSourceConnector" if family == MirrorSource.name else "MirrorCheckpointConnector"
            raise InvalidRequest(f"{param}: {name!r} is a {found.info.connector_class}, and no {kind}.")
        if not any(key.startswith("source.cluster.bootstrap") for key in found.info.config):
            raise InvalidRequest(
                f"{param}: the configuration of {name!r} is not known, and that is what names the flow's topics. With "
                "control=storage let the Connect connection name the workers' config topic (config_topic)."
            )
        seen.append(found)
    return seen


def _stored_topics(seen: ObservedConnector) -> set[str]:
    """Topics that something is stored for, also those that are gone."""
    family = seen.info.family
    places = (family.topic_partition(parse_map(entry.partition)) for entry in seen.offsets)
    return {where.topic for where in places if where is not None}


def _remote_partitions(
    flow: Flow, bounds: Iterable[TopicPartition], logs: RemainingRecords
) -> dict[TopicPartition, LogBounds]:
    counts = logs.topics()
    wanted = {TopicPartition(flow.target_topic(where.topic), where.partition) for where in bounds}
    return logs.bounds(where for where in wanted if where.partition < counts.get(where.topic, 0))


def _remaining_rows(found: Mapping[TopicPartition, Replicated]) -> Iterator[dict[str, Any]]:
    for where, one in found.items():
        if (first := one.first) is None:
            continue
        yield {
            "topic": where.topic,
            "kafka_partition": where.partition,
            "log_offset": first.offset,
            "written_at": None if first.timestamp_ms is None else moment_of(first.timestamp_ms),
        }


def _write_partitions(
    directory: ReadinessDirectory,
    flow: Flow,
    clusters: Clusters,
    remote_partitions: Sequence[RemotePartition],
    rewinds: str,
) -> None:
    """Write what a failover of either kind would see of both logs now."""
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, (one.row(None) for one in remote_partitions))
    write_dataset(directory.kept_mappings, KEPT_MAPPINGS, kept_mappings(rewinds, clusters, remote_partitions))
    left = remote_partitions_left(flow, clusters.target) if remote_partitions else ()
    write_dataset(directory.left_partitions, MIRROR_PARTITIONS, (one.row(None) for one in left))


def _topic_rows(
    flow: Flow, topics: Iterable[str], source: RemainingRecords, target: RemainingRecords
) -> Iterator[dict[str, Any]]:
    names = {topic: flow.target_topic(topic) for topic in sorted(topics)}
    ids, target_ids = source.topic_ids(names), target.topic_ids(names.values())
    for topic, remote_partition in names.items():
        yield {
            "topic": topic,
            "target_topic": remote_partition,
            "topic_id": ids.get(topic),
            "target_topic_id": target_ids.get(remote_partition),
        }


def _group_rows(pattern: str, flow: Flow, source: ConsumerGroups, target: ConsumerGroups) -> list[dict[str, Any]]:
    """What the source's groups have committed, and what the target's of the same names have."""
    names = source.list_groups(pattern)
    known = set(target.list_groups(pattern)) & set(names)
    return [
        {
            "kafka_cluster": alias,
            "group": group,
            "group_state": states[group].state.value,
            "topic": where.topic,
            "kafka_partition": where.partition,
            "offset": committed.offset,
            "metadata": committed.metadata,
        }
        for alias, groups, asked in ((flow.source_alias, source, names), (flow.target_alias, target, sorted(known)))
        for states in [groups.states(asked)]
        for group, offsets in groups.offsets_of(asked).items()
        for where, committed in offsets.items()
    ]


def _write_records(uri: str, cluster: KafkaCluster, topic: str) -> int:
    """Write the topic's records as they are; a topic that isn't there has none yet."""
    if topic not in cluster.logs.topics():
        log.warning("There is no topic %r: nothing of this flow has been written to it yet.", topic)
        return write_dataset(uri, STORED_RECORDS, [])
    with cluster.topic(topic) as reader:
        return write_dataset(uri, STORED_RECORDS, stored_rows(topic, reader.records()))
