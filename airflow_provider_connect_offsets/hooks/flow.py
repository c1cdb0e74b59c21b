"""The clients of the reset of a MirrorMaker 2 flow, opened from Airflow connections: a worker and two clusters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.parameters.connections import FlowConnectionParams

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients


@contextmanager
def open_flow(connections: FlowConnectionParams, *, timeout: float | None = None) -> Iterator[Clients]:
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
    from airflow_provider_connect_offsets.observe.clusters import Clusters

    source_id, target_id = connections.source_kafka_conn_id, connections.target_kafka_conn_id
    both = connections.model_dump(include={"source_kafka_conn_id", "target_kafka_conn_id"})
    with (
        KafkaCluster(kafka_config(source_id)) as source,
        KafkaCluster(kafka_config(target_id)) as target,
        open_clients(connections, source_id, timeout=timeout) as clients,
    ):
        named = {**connections.used_connections(), **both}
        yield replace(clients, clusters=Clusters(source, target), connections=named)
