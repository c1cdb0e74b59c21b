"""Either cluster of a MirrorMaker 2 flow, opened from a ``kafka`` connection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.change.readiness import FlowCluster


@contextmanager
def flow_cluster(conn_id: str) -> Iterator[FlowCluster]:
    """Open logs and groups of a ``kafka`` connection's cluster; raises as ``hooks.kafka.kafka_config`` does."""
    # Late, as the Kafka provider's hook imports its client, which no DAG needs for being parsed.
    from airflow_provider_connect_offsets.change.readiness import FlowCluster  # noqa: PLC0415
    from airflow_provider_connect_offsets.hooks.kafka import kafka_config  # noqa: PLC0415
    from airflow_provider_connect_offsets.stores.groups import ConsumerGroups  # noqa: PLC0415
    from airflow_provider_connect_offsets.stores.remaining import RemainingRecords  # noqa: PLC0415
    from airflow_provider_connect_offsets.stores.topic_reader import TopicReader  # noqa: PLC0415

    config = kafka_config(conn_id)
    with RemainingRecords(config) as logs, ConsumerGroups(config) as groups:
        yield FlowCluster(logs, groups, partial(TopicReader, config))
