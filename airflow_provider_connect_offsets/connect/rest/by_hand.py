"""The requests that a person sends in place of a client, as parts of sentences in messages."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State

_VERBS = {State.RUNNING: "resume", State.PAUSED: "pause", State.STOPPED: "stop"}


class RequestsByHand:
    """Names requests of Connect's REST API; sends none."""

    def by_hand(self, connector: str, state: State) -> str:
        """Name the request for RUNNING, PAUSED or STOPPED."""
        return f"send PUT /connectors/{connector}/{_VERBS[state]}"

    def configure_by_hand(self, name: str) -> str:
        """Name the request that changes a configuration."""
        return f"send PUT /connectors/{name}/config"

    def delete_by_hand(self, name: str) -> str:
        """Name the request that deletes a connector."""
        return f"send DELETE /connectors/{name}"
