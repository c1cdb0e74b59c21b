"""What sensors await."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.requests.fields import argument
from airflow_provider_connect_offsets.offsets.requests.place import Awaited, AwaitedLag
from airflow_provider_connect_offsets.offsets.requests.values import Text
from airflow_provider_connect_offsets.parameters.connections import (
    ConnectParams,
    GroupConnectionParams,
    SourceConnectionParams,
)
from airflow_provider_connect_offsets.parameters.tasks import (
    OneConnectorParams,
    OneGroupParams,
    RequestedStateParams,
)


class AwaitedStateParams(OneConnectorParams, RequestedStateParams, ConnectParams):
    """A state of a connector."""


class AwaitedPositionParams(OneConnectorParams, Awaited, ConnectParams):
    """How far a connector must have come."""

    kafka_conn_id: Text = argument(
        "Airflow connection of the Kafka cluster that the positions refer to.", default="kafka_default"
    )


class AwaitedLagParams(OneConnectorParams, AwaitedLag, ConnectParams, SourceConnectionParams):
    """How far a MirrorSource may be behind its source."""


class AwaitedGroupParams(OneGroupParams, GroupConnectionParams):
    """A consumer group without members."""
