"""Writes the snapshot that a readiness report is made from: a flow's connectors, logs, groups and internal topics."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings
from airflow_provider_connect_offsets.observe.flow.ledger_observed import records_before
from airflow_provider_connect_offsets.observe.flow.observed_groups import (
    group_rows,
    groups_named,
    groups_of,
    lost_positions,
    read_syncs,
)
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    RemotePartition,
    remote_partitions_replicated,
    remote_partitions_without_source,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchor
from airflow_provider_connect_offsets.observe.flow.topic_ids import TopicIds
from airflow_provider_connect_offsets.observe.lag import Replicated, isolation_of, observe_replicated
from airflow_provider_connect_offsets.observe.partitions import existing_partitions
from airflow_provider_connect_offsets.observe.snapshot import (
    ObservedConnector,
    bounds_rows,
    connector_row,
    observe_connector,
    offset_rows,
    stored_topics,
)
from airflow_provider_connect_offsets.observe.stored_records import moment_of, read_stored_rows
from airflow_provider_connect_offsets.offsets.families import MirrorCheckpoint, MirrorSource, TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.patterns import TO_FIND_GROUPS
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
    """Counts of what was written, and when it was observed."""

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
    """Write ``request.json``, the datasets that a report is made from, and finally ``snapshot.json``; change nothing.

    Time makes a lag look larger, never smaller: checkpoints are read before the groups' positions, and offset syncs
    before the logs of their records.

    Args:
        request: The request.
        clients: Clients of the flow's connectors.
        source: The source cluster.
        target: The target cluster.
        directory: Where to write.
        kept: Where earlier observations of the flow, and its resets, are kept.

    Raises:
        UnknownConnector: A connector does not exist; names similar ones.
        InvalidRequest: A connector is not MirrorMaker 2's, or its configuration is unknown.
        InvalidInput: The flow's topics can't be named.
        StoreError: A system does not answer, or refuses.
    """
    connectors, cluster = _connectors(request, clients), kept.cluster
    mirror = connectors[0]
    flow, observed_at = Flow.of(mirror.info.config), datetime.now(tz=UTC)
    files.write_json(directory.request, request.as_json())
    write_dataset(directory.connectors, CONNECTORS, [connector_row(one, cluster, observed_at) for one in connectors])
    offsets = offset_rows(mirror, cluster, clients.origin, observed_at)
    write_dataset(directory.connector_offsets, CONNECTOR_OFFSETS, offsets)

    stored_checkpoints = read_stored_rows(target, flow.checkpoints_topic)
    checkpoints = write_dataset(directory.stored_checkpoints, STORED_RECORDS, stored_checkpoints)
    of_source = groups_of(source, request.groups) if len(connectors) > 1 else {}
    unmovable = lost_positions(source, request.groups) if len(connectors) > 1 else {}
    taken = target.groups.other_kinds(request.groups) if of_source else {}
    if len(connectors) > 1 and not of_source:
        log.warning("No group of %r matches %r. %s", flow.source_alias, request.groups or ".*", TO_FIND_GROUPS)
    # By name: a list leaves out groups that the user may not describe.
    of_target = groups_named(target, of_source)
    rows = [*group_rows(flow.source_alias, of_source), *group_rows(flow.target_alias, of_target)]
    write_dataset(directory.group_offsets, GROUP_OFFSETS, rows)
    stored_syncs = read_stored_rows(source if flow.syncs_on is Side.SOURCE else target, flow.offset_syncs_topic)
    syncs = write_dataset(directory.stored_syncs, STORED_RECORDS, stored_syncs)

    observed = observe_replicated(replace(clients, logs=source), mirror.info)
    bounds = {where: one.bounds for where, one in observed.items()}
    copies = {TopicPartition(flow.target_topic(where.topic), where.partition) for where in bounds}
    target_bounds = target.bounds(existing_partitions(target, copies))
    ends = [*bounds_rows(bounds, flow.source_alias), *bounds_rows(target_bounds, flow.target_alias)]
    write_dataset(directory.log_bounds, LOG_BOUNDS, ends)
    write_dataset(directory.remaining, REMAINING, _remaining_rows(observed))
    clusters = Clusters(source, target, isolation_of(mirror.info))
    positions: dict[TopicPartition, set[int]] = {}
    for group in of_source.values():
        for where, committed in group.offsets.items():
            positions.setdefault(where, set()).add(committed.offset)
    topics = {where.topic for where in positions}
    concerned = {where: one for where, one in observed.items() if where.topic in topics}
    replicated_ones = remote_partitions_replicated(mirror.info, clusters, concerned)
    remote_partitions = anchor(clusters, replicated_ones, read_syncs(directory))
    _write_partitions(directory, flow, clusters, remote_partitions, kept.rewinds)
    write_dataset(directory.record_digests, RECORD_DIGESTS, records_before(clusters, remote_partitions, positions))
    known = {where.topic for where in bounds} | stored_topics(mirror)
    names = {topic: flow.target_topic(topic) for topic in sorted(known)}
    ids = TopicIds.observe(names, source, target)
    write_dataset(directory.flow_topics, FLOW_TOPICS, ids.rows(names))
    aliases = {"source_alias": flow.source_alias, "target_alias": flow.target_alias}
    entry = f"{_stamp(observed_at)}{_ENTRY}"
    files.write_json(
        directory.snapshot,
        {
            "observed_at": observed_at.isoformat(),
            "flow": flow.as_json(),
            "unmovable": unmovable,
            "taken_on_target": {name: kind for name, kind in taken.items() if name in of_source},
            "next_history": join(kept.history, entry),
            "next_ledger": join(kept.ledger(target.cluster_id(), **aliases), entry),
        },
    )
    groups = {row["group"] for row in rows}
    return ObservedReadiness(len(bounds), len(groups), syncs, checkpoints, observed_at)


def forget_earlier(summary: Mapping[str, Any], *, keep_under: str) -> list[str]:
    """Remove expired directories of runs, and their entries in history and ledger.

    Args:
        summary: Summary of the readiness job, which lists what has expired.
        keep_under: URI of the DAG's directory; no run outside of it is removed.

    Returns:
        URIs of what was removed.
    """
    root = str(summary["next_history"]).rpartition("/")[0]
    oldest = _stamp(datetime.fromisoformat(summary["history_since"]))
    ledgers, _, newest = str(summary["next_ledger"]).rpartition("/")
    # On a local disk Hadoop keeps the checksum of a file in a hidden file of the same name.
    histories = [join(root, name) for name in files.list_names(root) if name.lstrip(".") < oldest]
    histories += [join(ledgers, name) for name in files.list_names(ledgers) if name.lstrip(".") < newest]
    runs = [uri for uri in summary["expired"] if uri.startswith(f"{keep_under.rstrip('/')}/")]
    for uri in (*runs, *histories):
        files.remove_tree(uri)
    return [*runs, *histories]


def _stamp(moment: datetime) -> str:
    """Return a name that sorts by time."""
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}"


def _connectors(request: ReadinessRequest, clients: Clients) -> list[ObservedConnector]:
    requested = [(request.source_connector, MirrorSource.name, "source_connector")]
    if request.checkpoint_connector:
        requested.append((request.checkpoint_connector, MirrorCheckpoint.name, "checkpoint_connector"))
    connectors = []
    for name, family, param in requested:
        observed = observe_connector(clients, name)
        if observed.info.family.name != family:
            kind = "MirrorSourceConnector" if family == MirrorSource.name else "MirrorCheckpointConnector"
            raise InvalidRequest(f"{param}: {name!r} is a {observed.info.connector_class}, not a {kind}.")
        if not any(key.startswith("source.cluster.bootstrap") for key in observed.info.config):
            raise InvalidRequest(
                f"{param}: the configuration of {name!r} is unknown, and so are the names of the flow's topics. With "
                "control=storage, set config_topic in the Connect connection to the workers' config topic."
            )
        connectors.append(observed)
    return connectors


def _remaining_rows(observed: Mapping[TopicPartition, Replicated]) -> Iterator[dict[str, Any]]:
    for where, one in observed.items():
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
    """Write what a planned and an unplanned failover would observe of both logs now."""
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, (one.row() for one in remote_partitions))
    write_dataset(directory.kept_mappings, KEPT_MAPPINGS, kept_mappings(rewinds, clusters, remote_partitions))
    without_source = remote_partitions_without_source(flow, clusters.target) if remote_partitions else ()
    write_dataset(directory.left_partitions, MIRROR_PARTITIONS, (one.row() for one in without_source))
