"""The clients of a snapshot of a Connect cluster, opened from Airflow connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.hooks.clients import open_connect_cluster
from airflow_provider_connect_offsets.observe.cluster_snapshot import SnapshotClients
from airflow_provider_connect_offsets.offsets.families import MirrorSource, Sink

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.parameters.snapshots import SnapshotConnectionParams

# Seconds that a request waits for a connector that a worker does not know yet, or for the end of a rebalance.
_TIMEOUT = 30.0


@contextmanager
def open_snapshot_clients(named: SnapshotConnectionParams) -> Iterator[SnapshotClients]:
    """Open the clients of a snapshot; raises as ``open_connect_cluster``."""
    from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster

    clusters = {Sink.name: named.kafka_conn_id, MirrorSource.name: named.source_kafka_conn_id}
    with ExitStack() as stack:
        opened = stack.enter_context(open_connect_cluster(named, rest_timeout=_TIMEOUT, patient=False))
        yield SnapshotClients(
            control=opened.control,
            offsets=opened.offsets,
            logs={
                family: stack.enter_context(kafka_cluster(name, patient=False))
                for family, name in clusters.items()
                if name
            },
            cluster=opened.control.cluster_names()[0],
            origin=opened.origin,
            connections={
                "control": named.control,
                **named.used_connections(),
                **named.values("kafka_conn_id", "source_kafka_conn_id"),
            },
        )
