"""What the reset of a MirrorMaker 2 flow goes through, opened from Airflow connections: a worker and two clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, Control, open_clients, workspace_uri

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
    from airflow_provider_connect_offsets.operations.flow.flow_reset import ResetJournals
    from airflow_provider_connect_offsets.saga.journal import Journal


@dataclass(frozen=True, slots=True)
class FlowConnections:
    """The Airflow connections of a flow, and how its connectors are reached (``hooks.clients.Control``)."""

    connect_conn_id: str
    source_kafka_conn_id: str
    target_kafka_conn_id: str
    control: str = Control.REST


@dataclass(frozen=True, slots=True)
class FlowClusters:
    """The doors of a reset while they are open."""

    opened: ConnectCluster

    @property
    def clients(self) -> Clients:
        """The doors."""
        return self.opened.clients

    @property
    def cluster(self) -> str:
        """The id of the Kafka cluster that Connect works on."""
        return self.opened.cluster

    def held(self, reset: FlowReset) -> ResetJournals:
        """The journals that a reset holds: of both connectors, and of the topics that it empties."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import ResetJournals
        from airflow_provider_connect_offsets.workspace.layout import rewinds_root

        beside = [self.opened.journal(reset.checkpoint_connector)] if reset.checkpoint_connector else []
        history = rewinds_root(workspace_uri(), cluster=self.cluster, connector=reset.source_connector)
        locks = (*beside, *self._topic_journals(reset))
        return ResetJournals(self.opened.journal(reset.source_connector), locks, history)

    def _topic_journals(self, reset: FlowReset) -> Iterator[Journal]:
        from airflow_provider_connect_offsets.saga.journal import Journal
        from airflow_provider_connect_offsets.workspace.layout import journal_root

        for where in reset.emptied:
            cluster = self.clients.clusters[where.side].cluster_id()
            yield Journal(journal_root(workspace_uri()), cluster=cluster, connector=f"topic {where.topic}")


@contextmanager
def open_flow(connections: FlowConnections, *, timeout: float = 120.0) -> Iterator[FlowClusters]:
    """Open what a reset goes through; timeout: seconds for each state. Raises as ``hooks.clients.open_clients``."""
    # Late, as the Kafka provider's hook imports its client, which no DAG needs for being parsed.
    from airflow_provider_connect_offsets.hooks.kafka import kafka_config
    from airflow_provider_connect_offsets.kafka.mirror_cluster import MirrorCluster
    from airflow_provider_connect_offsets.offsets.flow import Side

    names = {Side.SOURCE: connections.source_kafka_conn_id, Side.TARGET: connections.target_kafka_conn_id}
    with (
        MirrorCluster(kafka_config(names[Side.SOURCE])) as source,
        MirrorCluster(kafka_config(names[Side.TARGET])) as target,
        open_clients(
            connections.connect_conn_id,
            connections.source_kafka_conn_id,
            control=connections.control,
            timeout=timeout,
        ) as opened,
    ):
        clusters = {Side.SOURCE: source, Side.TARGET: target}
        named = {
            "connect_conn_id": connections.connect_conn_id,
            "source_kafka_conn_id": connections.source_kafka_conn_id,
            "target_kafka_conn_id": connections.target_kafka_conn_id,
        }
        yield FlowClusters(replace(opened, clients=replace(opened.clients, clusters=clusters, connections=named)))
