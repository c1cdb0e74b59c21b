"""What triggers watch."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, argument
from airflow_provider_connect_offsets.offsets.requests.place import AwaitedLag
from airflow_provider_connect_offsets.offsets.requests.values import ALL, PatternOrAll, Text
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, GroupConnectionParams


class WatchedParams(Parameters):
    """How often is looked."""

    every: float = argument("Seconds between two looks.", default=30.0)


class WatchedConnectorsParams(WatchedParams, ConnectParams):
    """Which connectors are watched."""

    connectors: PatternOrAll = argument("Regular expression that matches whole names of connectors.", default=ALL)


class WatchedLagParams(WatchedConnectorsParams, AwaitedLag):
    """Which connectors are watched, and how far they may be behind."""

    kafka_conn_id: Text = argument(
        "Airflow connection of the Kafka cluster that the positions refer to.", default="kafka_default"
    )


class WatchedGroupsParams(WatchedParams, GroupConnectionParams):
    """Which consumer groups are watched."""

    groups: PatternOrAll = argument("Regular expression that matches whole names of consumer groups.", default=ALL)
