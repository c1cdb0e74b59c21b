"""The clients for a change of consumer groups: the same class as for connectors, with other stores behind it."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_provider_connect_offsets.connect.group_offsets import GroupOffsets
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients, Origin

_CLUSTER = "groups of "


def group_clients(
    kafka: KafkaCluster, workspace: str = "", *, timeout: float = 120.0, connections: Mapping[str, str] | None = None
) -> Clients:
    """Return clients of the consumer groups of a Kafka cluster; raises store errors.

    Args:
        kafka: The cluster.
        workspace: URI of the workspace that has the journals; empty: set later.
        timeout: Seconds to wait for Kafka.
        connections: As in :class:`Clients`.
    """
    offsets = GroupOffsets(kafka.groups)
    # A group may have the name of a connector whose workers use this Kafka: the journals must differ.
    cluster = groups_of(kafka.cluster_id())
    return Clients(
        offsets,
        offsets,
        kafka,
        timeout=timeout,
        origin=Origin.GROUP,
        cluster=cluster,
        connections=connections or {},
        workspace=workspace,
    )


def unlisted_groups(clients: Clients) -> dict[str, str]:
    """Return the groups that aren't consumer groups, and why each is left alone; empty for a change of connectors."""
    return clients.control.unlisted_groups() if isinstance(clients.control, GroupOffsets) else {}


def groups_of(cluster: str) -> str:
    """Return the name, in journals and plans, of the consumer groups of the Kafka cluster with that id."""
    return f"{_CLUSTER}{cluster}"


def kafka_cluster_of(clients: Clients) -> str:
    """Return the id of the Kafka cluster of a change of consumer groups."""
    return clients.cluster.removeprefix(_CLUSTER)
