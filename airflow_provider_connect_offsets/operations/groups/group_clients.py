"""The clients of a change of consumer groups: the same as of connectors, with other stores behind them."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.group_offsets import GroupOffsets
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients, Origin

_CLUSTER = "groups of "


def group_clients(kafka: KafkaCluster, *, timeout: float = 120.0) -> Clients:
    """Return clients of the consumer groups of a Kafka cluster; raises store errors.

    Args:
        kafka: The cluster.
        timeout: Seconds to wait for Kafka.
    """
    offsets = GroupOffsets(kafka.groups)
    # A group may have the name of a connector whose workers use this Kafka: the journals must differ.
    cluster = groups_of(kafka.cluster_id())
    return Clients(offsets, offsets, kafka, timeout=timeout, origin=Origin.GROUP, cluster=cluster)


def groups_of(cluster: str) -> str:
    """Return the name, in journals and plans, of the consumer groups of the Kafka cluster with that id."""
    return f"{_CLUSTER}{cluster}"


def kafka_cluster_of(clients: Clients) -> str:
    """Return the id of the Kafka cluster of a change of consumer groups."""
    return clients.cluster.removeprefix(_CLUSTER)
