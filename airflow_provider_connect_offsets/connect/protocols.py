"""The two protocols behind which every door to offsets stands, and the values that pass through them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType, Family, family_of
from airflow_provider_connect_offsets.offsets.kept_config import without_credentials


class State(StrEnum):
    """States of a connector or task, in Connect's words."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task: its number, state, the worker that runs it, and the stack trace where it failed."""

    number: int
    state: State
    worker: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """State of a connector and of its tasks, as ``GET /connectors/{c}/status`` tells it."""

    state: State
    worker: str
    tasks: tuple[TaskStatus, ...] = ()
    trace: str | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether the connector is STOPPED without tasks; only then its offsets may be changed."""
        return self.state is State.STOPPED and not self.tasks

    @property
    def failed_tasks(self) -> tuple[TaskStatus, ...]:
        """Tasks that failed."""
        return tuple(task for task in self.tasks if task.state is State.FAILED)

    @property
    def has_failed(self) -> bool:
        """Whether the connector or any of its tasks has failed."""
        return self.state is State.FAILED or bool(self.failed_tasks)

    @property
    def cause(self) -> str:
        """The first line of the first stack trace there is; logins in addresses are masked."""
        traces = [self.trace, *(task.trace for task in self.failed_tasks)]
        first = next((trace.strip().splitlines()[0] for trace in traces if trace and trace.strip()), "no trace")
        return without_credentials(first)


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector's name, type and configuration (with its secrets: mask them before they leave the process)."""

    name: str
    type: ConnectorType
    config: Mapping[str, str]

    @property
    def connector_class(self) -> str:
        """The configured ``connector.class``."""
        return self.config.get("connector.class", "")

    @property
    def family(self) -> Family:
        """What its offsets mean."""
        return family_of(self.type, self.connector_class)

    @property
    def group_id(self) -> str | None:
        """The consumer group of a sink (as far as its own configuration tells); None for a source."""
        if self.type is not ConnectorType.SINK:
            return None
        return self.config.get("consumer.override.group.id") or f"connect-{self.name}"


@dataclass(frozen=True, slots=True)
class WriteReply:
    """What the store said to a change that it accepted.

    ``externally_managed``: the connector does not implement ``alterOffsets``, so it may keep its position elsewhere.
    """

    message: str
    externally_managed: bool = False


class OffsetStore(Protocol):
    """Reads and writes the offsets of connectors."""

    def read_offsets(self, connector: str) -> Offsets:
        """Read all offsets of ``connector``; raises :class:`~.exceptions.UnknownConnector` and other store errors."""

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); others stay. Does not read back."""

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of ``connector``. Does not read back."""


class ConnectorControl(Protocol):
    """Looks at connectors and starts and stops them; ``stop``, ``pause`` and ``resume`` are asynchronous."""

    def require_offset_changes(self) -> None:
        """Raise :class:`~.exceptions.Unsupported` where offsets can't be changed, whatever the connector."""

    def connectors(self) -> list[str]:
        """Names of all connectors, sorted."""

    def info(self, connector: str) -> ConnectorInfo:
        """Type and configuration."""

    def status(self, connector: str) -> ConnectorStatus:
        """State of the connector and of its tasks."""

    def stop(self, connector: str) -> None:
        """Ask for STOPPED."""

    def pause(self, connector: str) -> None:
        """Ask for PAUSED."""

    def resume(self, connector: str) -> None:
        """Ask for RUNNING."""
