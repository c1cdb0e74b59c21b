"""The snapshot of a whole flow: its connectors and logs, and, raw, the topics in which it keeps records of its own."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest, Rejected, UnknownConnector
from airflow_provider_connect_offsets.observe.clients import Bounds, Clients, FlowCluster
from airflow_provider_connect_offsets.observe.snapshot import bounds_rows, take_snapshot
from airflow_provider_connect_offsets.observe.stored_records import stored_rows
from airflow_provider_connect_offsets.offsets.families import MirrorCheckpoint, MirrorSource, TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
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
class Asked:
    """Of a flow: its connectors (no MirrorCheckpoint: ""), and whether checkpoints are to be removed as well."""

    source_connector: str
    checkpoint_connector: str = ""
    checkpoints: bool = False


def find_flow(asked: Asked, clients: Clients) -> FlowReset:
    """Find out from the connectors' own configuration which flow theirs is, and who else shares its syncs.

    Raises :class:`InvalidInput` where they are none of MirrorMaker 2's or not of one flow, where names can't be told,
    and where the flow's topics aren't in the clusters that ``clients`` lead to; :class:`UnknownConnector`, store
    errors.
    """
    source = clients.control.info(asked.source_connector)
    flow = flow_of(source.name, source.family, source.config)
    if asked.checkpoints and not asked.checkpoint_connector:
        raise InvalidRequest(
            "Nothing was read or changed. checkpoints=true needs checkpoint_connector: while it runs, it would write "
            "into the topic that is emptied."
        )
    if asked.checkpoint_connector:
        checkpoint = clients.control.info(asked.checkpoint_connector)
        refuse_other_flow(flow, checkpoint.name, checkpoint.family, checkpoint.config)
    ours = {asked.source_connector, asked.checkpoint_connector}
    others = (name for name in clients.control.connectors() if name not in ours)
    reset = FlowReset(
        source_connector=asked.source_connector,
        checkpoint_connector=asked.checkpoint_connector or None,
        checkpoints=asked.checkpoints,
        flow=flow,
        sharing=tuple(name for name in others if _shares(clients, name, flow)),
    )
    for where in reset.emptied:
        _refuse_missing(where, clients.clusters[where.side])
    return reset


def take_flow_snapshot(
    request: Request, reset: FlowReset, clients: Clients, run: ResetDirectory, *, cluster: str
) -> None:
    """Write all that the reset could change, and what its plan needs; change nothing.

    That is what ``take_snapshot`` writes, ``flow.json``, the records of the flow's own topics, and the bounds of the
    remote topics. Raises as it does.
    """
    also = (reset.checkpoint_connector,) if reset.checkpoint_connector else ()
    take_snapshot(request, clients, run, cluster=cluster, also=also)
    files.write_json(run.flow, reset.as_json())
    keep_records(reset, clients, run)
    stored = read_dataset(run.connector_offsets, CONNECTOR_OFFSETS)
    known = {row["topic"] for row in stored if row["connector"] == reset.source_connector and row["topic"]}
    known |= {row["topic"] for row in read_dataset(run.log_bounds, LOG_BOUNDS)}
    target = clients.clusters[Side.TARGET]
    bounds = remote_bounds(target, reset.flow, known)
    write_dataset(run.target_bounds, LOG_BOUNDS, bounds_rows(bounds, target.servers))


def keep_records(reset: FlowReset, clients: Clients, run: ResetDirectory) -> None:
    """Write the records of the flow's own topics as they are; none where there is no checkpoints topic."""
    syncs, checkpoints = reset.syncs, reset.stored_checkpoints
    of_syncs = clients.clusters[syncs.side].records(syncs.topic)
    write_dataset(run.sync_records, STORED_RECORDS, stored_rows(syncs.topic, of_syncs))
    target, topic = clients.clusters[checkpoints.side], checkpoints.topic
    told = target.records(topic) if target.partitions(topic) else ()
    write_dataset(run.checkpoint_records, STORED_RECORDS, stored_rows(topic, told))


def remote_bounds(target: FlowCluster, flow: Flow, topics: set[str]) -> dict[TopicPartition, Bounds]:
    """Log start and log end offsets of the remote topics of these source topics; only those that exist."""
    counts = target.topics()
    remote_partitions = {name for name in map(flow.target_topic, topics) if name in counts}
    return dict(
        target.bounds(TopicPartition(name, number) for name in remote_partitions for number in range(counts[name]))
    )


def _shares(clients: Clients, name: str, flow: Flow) -> bool:
    try:
        info = clients.control.info(name)
    except (UnknownConnector, Rejected):
        return False  # deleted a moment ago, or of a plugin that isn't there
    return info.family.name in {MirrorSource.name, MirrorCheckpoint.name} and shares_syncs(flow, info.config)


def _refuse_missing(where: OwnTopic, cluster: FlowCluster) -> None:
    if not cluster.partitions(where.topic):
        raise InvalidInput(
            f"Nothing was read or changed. There is no topic {where.topic!r} in the cluster of {cluster.servers}, "
            f"where the flow should have it. Let {where.side}_kafka_conn_id lead to the flow's {where.side} cluster; "
            "where the flow has never run, there is nothing to reset."
        )
