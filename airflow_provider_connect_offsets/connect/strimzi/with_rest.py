"""State by the custom resources of Strimzi, offsets by Connect's REST API."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi


class StrimziWithRest(ConnectRest):
    """The connectors of a Connect cluster whose REST API is reachable beside its resources."""

    def __init__(self, strimzi: ConnectStrimzi, rest: ConnectRest) -> None:
        self.strimzi, self.rest = strimzi, rest

    def by_hand(self, connector: str, state: State) -> str:
        """As of the resource."""
        return self.strimzi.by_hand(connector, state)
