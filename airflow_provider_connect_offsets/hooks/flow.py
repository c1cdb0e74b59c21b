"""The clients of the reset of a MirrorMaker 2 flow, opened from Airflow connections: a worker and two clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, open_clients, workspace_uri
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.parameters.connections import FlowConnectionParams
from airflow_provider_connect_offsets.workspace.layout import journal_root, rewinds_root

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.offsets.requests.flow_reset import FlowReset
    from airflow_provider_connect_offsets.operations.flow.flow_reset import ResetJournals
    from airflow_provider_connect_offsets.saga.journal import Journal


@dataclass(frozen=True, slots=True)
class FlowClusters(ConnectCluster):
    """The open clients of a flow: its Connect cluster, and in ``clients.clusters`` both Kafka clusters."""

    def journals_of(self, reset: FlowReset) -> ResetJournals:
        """Return the journals of a reset: of both connectors, and of the topics that it empties."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import ResetJournals

        checkpoints = [self.journal(reset.checkpoint_connector)] if reset.checkpoint_connector else []
        history = rewinds_root(workspace_uri(), cluster=self.cluster, connector=reset.source_connector)
        locks = (*checkpoints, *self._topic_journals(reset))
        return ResetJournals(self.journal(reset.source_connector), locks, history)

    def _topic_journals(self, reset: FlowReset) -> Iterator[Journal]:
        from airflow_provider_connect_offsets.saga.journal import Journal

        for emptied in reset.emptied:
            cluster = self.clients.clusters[emptied.side].cluster_id()
            yield Journal(journal_root(workspace_uri()), cluster=cluster, resource=f"topic {emptied.topic}")


@contextmanager
def open_flow(connections: FlowConnectionParams, *, timeout: float | None = None) -> Iterator[FlowClusters]:
    """Open the clients of a reset.

    Args:
        connections: The connections of the flow.
        timeout: Seconds to wait for each state of a connector; None: as ``control`` has it.

    Raises:
        InvalidInput: A connection is missing or can't be used.
        StoreError: Connect or Kafka does not answer, or refuses.
    """
    # Imported late: the Kafka provider's hook imports confluent_kafka, which parsing a DAG does not need.
    from airflow_provider_connect_offsets.hooks.kafka import kafka_config
    from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster

    source_id, target_id = connections.source_kafka_conn_id, connections.target_kafka_conn_id
    both = connections.model_dump(include={"source_kafka_conn_id", "target_kafka_conn_id"})
    with (
        KafkaCluster(kafka_config(source_id)) as source,
        KafkaCluster(kafka_config(target_id)) as target,
        open_clients(connections, source_id, timeout=timeout) as connect,
    ):
        clusters = {Side.SOURCE: source, Side.TARGET: target}
        named = {**connections.used_connections(), **both}
        yield FlowClusters(replace(connect.clients, clusters=clusters, connections=named))
