"""Writes the snapshot that a reset is planned from: a flow's connectors, its logs, and its internal topics."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest, Rejected, UnknownConnector
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.partitions import partitions_of
from airflow_provider_connect_offsets.observe.snapshot import bounds_rows, take_snapshot
from airflow_provider_connect_offsets.observe.stored_records import read_stored_rows
from airflow_provider_connect_offsets.offsets.families import MirrorCheckpoint, MirrorSource, TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.flow_reset import (
    FlowReset,
    OwnTopic,
    flow_of,
    refuse_other_flow,
    shares_syncs,
)
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, LOG_BOUNDS, STORED_RECORDS


@dataclass(frozen=True, slots=True)
class FlowConnectors:
    """The connectors of a flow that is reset.

    Attributes:
        source_connector: Name of the MirrorSource.
        checkpoint_connector: Name of the MirrorCheckpoint; empty: none.
        checkpoints: True if the checkpoints are removed as well.
    """

    source_connector: str
    checkpoint_connector: str = ""
    checkpoints: bool = False


def find_flow(connectors: FlowConnectors, clients: Clients) -> FlowReset:
    """Read the flow from its connectors' configuration, and find other connectors that share its offset syncs.

    Raises:
        InvalidInput: The connectors are not MirrorMaker 2's, or not of one flow; the flow's topics can't be named, or
            are not in the clusters of ``clients``.
        UnknownConnector: A connector does not exist.
        StoreError: A system does not answer, or refuses.
    """
    source = clients.control.info(connectors.source_connector)
    flow = flow_of(source.name, source.family, source.config)
    if connectors.checkpoints and not connectors.checkpoint_connector:
        raise InvalidRequest(
            "Nothing was read or changed. checkpoints=true needs checkpoint_connector: a running MirrorCheckpoint "
            "would write into the topic that is emptied."
        )
    if connectors.checkpoint_connector:
        checkpoint = clients.control.info(connectors.checkpoint_connector)
        refuse_other_flow(flow, checkpoint.name, checkpoint.family, checkpoint.config)
    ours = {connectors.source_connector, connectors.checkpoint_connector}
    others = (name for name in clients.control.connectors() if name not in ours)
    reset = FlowReset(
        source_connector=connectors.source_connector,
        checkpoint_connector=connectors.checkpoint_connector or None,
        checkpoints=connectors.checkpoints,
        flow=flow,
        sharing=tuple(name for name in others if _shares(clients, name, flow)),
    )
    for topic in reset.emptied_topics:
        _refuse_missing(topic, clients.both_clusters.on(topic.side))
    return reset


def take_flow_snapshot(request: Request, reset: FlowReset, clients: Clients, run: ResetDirectory) -> None:
    """Write a snapshot of all that the reset may change or its plan needs; change nothing in Kafka or Connect.

    Writes what ``take_snapshot`` writes, ``flow.json``, the records of the flow's internal topics, and the bounds of
    the remote topics. Raises as ``take_snapshot`` does.
    """
    also = (reset.checkpoint_connector,) if reset.checkpoint_connector else ()
    take_snapshot(request, clients, run, also=also)
    files.write_json(run.flow, reset.as_json())
    keep_records(reset, clients, run)
    stored = read_dataset(run.connector_offsets, CONNECTOR_OFFSETS)
    replicated = {row["topic"] for row in stored if row["connector"] == reset.source_connector and row["topic"]}
    topics = replicated | {row["topic"] for row in read_dataset(run.log_bounds, LOG_BOUNDS)}
    target = clients.both_clusters.target
    bounds = remote_bounds(target, reset.flow, topics, replicated=replicated)
    write_dataset(run.target_bounds, LOG_BOUNDS, bounds_rows(bounds, target.cluster_id()))


def keep_records(reset: FlowReset, clients: Clients, run: ResetDirectory) -> None:
    """Write the records of the flow's internal topics; a topic that does not exist has no records."""
    for topic, dataset in ((reset.syncs, run.sync_records), (reset.checkpoints_topic, run.checkpoint_records)):
        write_dataset(dataset, STORED_RECORDS, read_stored_rows(clients.both_clusters.on(topic.side), topic.topic))


def remote_bounds(
    target: KafkaCluster, flow: Flow, topics: set[str], *, replicated: set[str]
) -> dict[TopicPartition, LogBounds]:
    """Look up the bounds of the existing remote topics of these source topics.

    Raises store errors, among them :class:`AccessDenied` if the user may not see the remote topic of a ``replicated``
    topic.
    """
    counts = target.topics()
    target.refuse_hidden(set(map(flow.target_topic, replicated)) - counts.keys())
    return dict(target.bounds(partitions_of(counts, set(map(flow.target_topic, topics)))))


def _shares(clients: Clients, name: str, flow: Flow) -> bool:
    try:
        info = clients.control.info(name)
    except (UnknownConnector, Rejected):
        return False  # deleted a moment ago, or its plugin is not installed
    return info.family.name in {MirrorSource.name, MirrorCheckpoint.name} and shares_syncs(flow, info.config)


def _refuse_missing(topic: OwnTopic, cluster: KafkaCluster) -> None:
    if not cluster.partitions(topic.topic):
        raise InvalidInput(
            f"Nothing was read or changed. The flow's topic {topic.topic!r} does not exist in the cluster of "
            f"{cluster.servers}. Check that {topic.side}_kafka_conn_id is the connection of the flow's {topic.side} "
            "cluster. If the flow has never run, there is nothing to reset."
        )
