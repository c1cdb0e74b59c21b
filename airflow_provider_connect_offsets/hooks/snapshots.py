"""The clients of a snapshot of a Connect cluster, opened from Airflow connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.hooks.clients import Control, open_clients
from airflow_provider_connect_offsets.offsets.families import MirrorSource, Sink

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.cluster_snapshot import SnapshotClients
    from airflow_provider_connect_offsets.parameters.snapshots import SnapshotConnectionParams

# Seconds to wait for a connector that a worker does not know yet, or for the end of a rebalance.
_TIMEOUT = 30.0


@contextmanager
def open_snapshot_clients(named: SnapshotConnectionParams) -> Iterator[SnapshotClients]:
    """Open the clients of a snapshot; raises as ``open_clients``."""
    from airflow_provider_connect_offsets.hooks.kafka import kafka_logs
    from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
    from airflow_provider_connect_offsets.observe.cluster_snapshot import AT_ONCE, SnapshotClients

    clusters = {Sink.name: named.kafka_conn_id, MirrorSource.name: named.source_kafka_conn_id}
    with ExitStack() as stack:
        opened = stack.enter_context(
            open_clients(named.connect_conn_id, None, control=named.control, timeout=_TIMEOUT)
        ).clients
        hook = KafkaConnectHook(named.connect_conn_id, timeout=_TIMEOUT)
        more = range(AT_ONCE if named.control == Control.REST else 0)
        yield SnapshotClients(
            control=opened.control,
            stores=[stack.enter_context(hook.get_conn()) for _ in more] or [opened.offsets],
            logs={family: stack.enter_context(kafka_logs(name)) for family, name in clusters.items() if name},
            cluster=opened.cluster,
            origin=opened.origin,
        )
