"""States through Strimzi's resources, everything else through Connect's REST API, where that is reachable.

The store of the offsets is ``ConnectRest`` itself. That is the procedure of Cloudera's CSM: the operator would revert a
state that is set over REST, but leaves offsets alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from airflow_provider_connect_offsets.clock import Clock, poll
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    StatusTest,
)
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
from airflow_provider_connect_offsets.exceptions import StoreError
from airflow_provider_connect_offsets.offsets.families import ConnectorType


class StrimziWithRest:
    """A control and a registry; raises what the two clients raise.

    Args:
        strimzi: Requests states, creates, configures and deletes connectors.
        rest: Reads types, configurations and states.
    """

    by_resource: ClassVar[bool] = True

    def __init__(self, strimzi: ConnectStrimzi, rest: ConnectRest) -> None:
        self._strimzi = strimzi
        self._rest = rest

    def require_offset_changes(self) -> None:
        """Raise :class:`Unsupported` or :class:`AccessDenied` if offsets or states can't be changed."""
        self._strimzi.require_state_changes()
        self._rest.require_offset_changes()

    def cluster_names(self) -> tuple[str, str]:
        """Return the id of the workers' Kafka cluster, and the name of their resource."""
        return self._rest.version().kafka_cluster_id, self._strimzi.cluster_id

    def addresses(self, connector: str) -> frozenset[str]:
        """Return the addresses of its workers."""
        return self._rest.addresses(connector)

    def by_hand(self, connector: str, state: State) -> str:
        """Name the command that requests a state."""
        return self._strimzi.by_hand(connector, state)

    def configure_by_hand(self, name: str) -> str:
        """Name the command that changes a configuration."""
        return self._strimzi.configure_by_hand(name)

    def delete_by_hand(self, name: str) -> str:
        """Name the command that deletes a connector."""
        return self._strimzi.delete_by_hand(name)

    def connectors(self) -> list[str]:
        """Return the names of all connectors that have a resource, sorted."""
        return self._strimzi.connectors()

    def overview(self) -> dict[str, ConnectorOverview]:
        """Return the connectors with a resource that REST lists, with type, configuration and state from REST."""
        managed = set(self.connectors())
        return {name: one for name, one in self._rest.overview().items() if name in managed}

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration from the worker; raises also if there is no resource."""
        self._strimzi.info(connector)
        return self._rest.info(connector)

    def status(self, connector: str) -> ConnectorStatus:
        """Return the present state, once the operator has acted on the resource as it is."""
        self._strimzi.status(connector)
        return self._rest.status(connector)

    def await_status(self, connector: str, until: StatusTest, *, timeout: float, clock: Clock) -> ConnectorStatus:
        """Wait until the operator has acted on the resource, then read the state until ``until`` accepts it."""
        deadline = clock.now() + timeout
        self._strimzi.await_status(connector, lambda _: True, timeout=timeout, clock=clock)
        left = max(0.0, deadline - clock.now())
        return poll(lambda: self._rest.status(connector), until, timeout=left, clock=clock)

    def prepare(self, connector: str) -> None:
        """Do nothing: offsets are altered over REST."""

    def stop(self, connector: str) -> None:
        """Request STOPPED in the resource."""
        self._strimzi.stop(connector)

    def pause(self, connector: str) -> None:
        """Request PAUSED in the resource."""
        self._strimzi.pause(connector)

    def resume(self, connector: str) -> None:
        """Request RUNNING in the resource."""
        self._strimzi.resume(connector)

    def restart(self, name: str, *, failed_only: bool) -> None:
        """Request a restart over REST; the operator does not revert it, as the state stays."""
        self._rest.restart(name, failed_only=failed_only)

    def plugins(self) -> dict[str, ConnectorType]:
        """Return the connector classes that are installed, with their types."""
        return self._rest.plugins()

    def create(
        self, name: str, config: Mapping[str, str], *, initial_state: State = State.RUNNING, like: str = ""
    ) -> ConnectorInfo:
        """Create the connector in ``initial_state`` over REST, and then its ``KafkaConnector``.

        An operator before Strimzi's pull request 12974 would create it RUNNING, and only then bring it into its state.
        It leaves a connector alone that already has the configuration of its resource.
        """
        self._strimzi.require_creation(name)
        created = self._rest.create(name, config, initial_state=initial_state)
        try:
            self._strimzi.adopt(name, config, state=initial_state, like=like)
        except StoreError:
            self._rest.delete(name)
            raise
        return created

    def config_problems(self, config: Mapping[str, str]) -> Sequence[str]:
        """Return what is wrong with a configuration, by the plugins of the answering worker."""
        return self._rest.config_problems(config)

    def update_config(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Replace the whole configuration in the resource; the state stays."""
        return self._strimzi.update_config(name, config)

    def delete(self, name: str) -> None:
        """Delete the ``KafkaConnector``; a source's offsets stay stored."""
        self._strimzi.delete(name)
