"""The commands that a person runs in place of a client, as parts of sentences in messages."""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.strimzi.clusters import StrimziCluster


class CommandsByHand:
    """Names commands of ``kubectl``, for the resources as they were read last; runs and reads nothing.

    Args:
        cluster: The cluster.
    """

    def __init__(self, cluster: StrimziCluster) -> None:
        self._of = cluster

    def by_hand(self, connector: str, state: State) -> str:
        """Name the command that requests RUNNING, PAUSED or STOPPED."""
        value, place = state.value.lower(), self._of.known(connector)
        if place is None:
            return f"set the state of connector {connector!r} to {value} in its resource"
        patch = f'[{{"op":"add","path":"{place.pointer("state")}","value":"{value}"}}]'
        return f"run {self._kubectl('patch', connector)} --type json -p '{patch}'"

    def configure_by_hand(self, name: str) -> str:
        """Name the command that changes a configuration."""
        return f"run {self._kubectl('edit', name)}"

    def delete_by_hand(self, name: str) -> str:
        """Name the command that deletes a connector."""
        return f"run {self._kubectl('delete', name)}"

    def _kubectl(self, verb: str, connector: str) -> str:
        place = self._of.known(connector)
        named = (
            f"kafkaconnector {connector}" if place is None else f"{place.resource.kind.plural} {place.resource.name}"
        )
        return f"kubectl {verb} -n {self._of.namespace} {named}"
