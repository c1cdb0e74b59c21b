"""What sensors await."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.parameters.change import SelectionParams, TopicsParams
from airflow_provider_connect_offsets.parameters.connections import (
    ConnectParams,
    GroupConnectionParams,
    SourceConnectionParams,
)
from airflow_provider_connect_offsets.parameters.fields import Text, argument
from airflow_provider_connect_offsets.parameters.tasks import OneConnectorParams, RequestedStateParams


class AwaitedStateParams(OneConnectorParams, RequestedStateParams, ConnectParams):
    """A state of a connector."""


class AwaitedPositionParams(OneConnectorParams, SelectionParams, ConnectParams):
    """How far a connector must have come."""

    position: Any = argument(
        "The position that each partition must have reached; None: ``max_lag`` decides.", default=None
    )
    max_lag: Any = argument("How many records may be left to read in each partition.", default=0)
    kafka_conn_id: Text = argument(
        "Airflow connection of the Kafka cluster that the positions refer to.", default="kafka_default"
    )


class AwaitedLagParams(OneConnectorParams, TopicsParams, ConnectParams, SourceConnectionParams):
    """How far a MirrorSource may be behind its source."""

    max_lag_records: Any = argument("How many records may be left to replicate in each partition.", default=None)
    max_lag_seconds: Any = argument("How old, in seconds, the oldest of them may be.", default=None)


class AwaitedGroupParams(GroupConnectionParams):
    """A consumer group without members."""

    group: Text = argument("Name of the consumer group.")
