"""What sensors await."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.parameters.connections import ConnectParams
from airflow_provider_connect_offsets.parameters.fields import Parameters, Text, argument
from airflow_provider_connect_offsets.parameters.tasks import OneConnectorParams, RequestedStateParams

_TOPICS = "Regular expression that matches whole names of topics; empty: all."


class AwaitedStateParams(OneConnectorParams, RequestedStateParams, ConnectParams):
    """A state of a connector."""


class AwaitedPositionParams(OneConnectorParams, ConnectParams):
    """How far a connector must have come."""

    topics: Text = argument(_TOPICS, default="")
    partitions: Text = argument("Numbers and ranges of partitions, like ``0,3-5``; empty: all.", default="")
    position: Any = argument(
        "The position that each partition must have reached; None: ``max_lag`` decides.", default=None
    )
    max_lag: Any = argument("How many records may be left to read in each partition.", default=0)
    kafka_conn_id: Text = argument(
        "Airflow connection of the Kafka cluster that the positions refer to.", default="kafka_default"
    )


class AwaitedLagParams(OneConnectorParams, ConnectParams):
    """How far a MirrorSource may be behind its source."""

    topics: Text = argument(_TOPICS, default="")
    max_lag_records: Any = argument("How many records may be left to replicate in each partition.", default=None)
    max_lag_seconds: Any = argument("How old, in seconds, the oldest of them may be.", default=None)
    source_kafka_conn_id: Text = argument("Airflow connection of the flow's source cluster.", default="kafka_source")


class AwaitedGroupParams(Parameters):
    """A consumer group without members."""

    group: Text = argument("Name of the consumer group.")
    kafka_conn_id: Text = argument("Airflow connection of its Kafka cluster.", default="kafka_default")
