"""Connectors and their offsets by the custom resources of Strimzi."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    WriteReply,
)
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType


class ConnectStrimzi:
    """The connectors of one ``KafkaConnect`` or ``KafkaMirrorMaker2``."""

    def __init__(
        self, api: Any, *, namespace: str, cluster: str = "", timeout: float = 300.0, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        self.api, self.namespace, self.cluster = api, namespace, cluster
        self.timeout, self.clock = timeout, clock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close all connections."""

    @property
    def cluster_id(self) -> str:
        """Name of the Connect cluster in journals, datasets and assets."""
        raise NotImplementedError

    def describe(self) -> str:
        """Describe the resource in one sentence."""
        raise NotImplementedError

    def require_offset_changes(self) -> None:
        """Raise :class:`Unsupported` if offsets of no connector can be changed."""
        raise NotImplementedError

    def connectors(self) -> list[str]:
        """Return the names of all connectors, sorted."""
        raise NotImplementedError

    def overview(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors with type, configuration and state."""
        raise NotImplementedError

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration."""
        raise NotImplementedError

    def status(self, connector: str) -> ConnectorStatus:
        """Return the state of the connector and of its tasks."""
        raise NotImplementedError

    def stop(self, connector: str) -> None:
        """Request STOPPED."""
        raise NotImplementedError

    def pause(self, connector: str) -> None:
        """Request PAUSED."""
        raise NotImplementedError

    def resume(self, connector: str) -> None:
        """Request RUNNING."""
        raise NotImplementedError

    def by_hand(self, connector: str, state: State) -> str:
        """Say what a person runs to request a state; calls nothing."""
        patch = f'\'{{"spec":{{"state":"{state.value.lower()}"}}}}\''
        return f"run kubectl -n {self.namespace} patch kafkaconnector {connector} --type merge -p {patch}"

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets."""
        raise NotImplementedError

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions."""
        raise NotImplementedError

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets."""
        raise NotImplementedError

    def plugins(self) -> Mapping[str, ConnectorType]:
        """Return the connector classes that are installed, with their types."""
        raise NotImplementedError

    def create(self, name: str, config: Mapping[str, str], *, initial_state: State) -> ConnectorInfo:
        """Create a connector in ``initial_state``."""
        raise NotImplementedError

    def update_config(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Replace the whole configuration of a connector."""
        raise NotImplementedError

    def delete(self, name: str) -> None:
        """Delete a connector."""
        raise NotImplementedError

    def configure_by_hand(self, name: str) -> str:
        """Say what a person runs to change a configuration; calls nothing."""
        return f"run kubectl -n {self.namespace} edit kafkaconnector {name}"

    def delete_by_hand(self, name: str) -> str:
        """Say what a person runs to delete a connector; calls nothing."""
        return f"run kubectl -n {self.namespace} delete kafkaconnector {name}"
