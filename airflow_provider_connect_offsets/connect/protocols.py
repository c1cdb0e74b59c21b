"""The two protocols of all clients of offsets and connectors, and their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

from airflow_provider_connect_offsets.clock import Clock, poll
from airflow_provider_connect_offsets.masking import one_line
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType, Family, family_of

#: Value of settings that keep a new connector from working until it is STOPPED.
HELD = "held-until-stopped"


class State(StrEnum):
    """States of a connector or task, as Connect names them."""

    UNASSIGNED = "UNASSIGNED"
    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    STOPPED = "STOPPED"
    FAILED = "FAILED"
    RESTARTING = "RESTARTING"


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """One task: its number, its state, the worker that runs it, and a stack trace if it failed."""

    number: int
    state: State
    worker: str
    trace: str | None = None


def first_line(trace: str | None) -> str | None:
    """Return the first line of a stack trace, with secrets masked; None if there is no trace."""
    return one_line(trace.strip().splitlines()[0]) if trace and trace.strip() else None


@dataclass(frozen=True, slots=True)
class ConnectorStatus:
    """State of a connector and of its tasks, as in ``GET /connectors/{c}/status``.

    ``requested``: if the status was read from a resource of Strimzi, the state that the resource requests; else None.
    """

    state: State
    worker: str
    tasks: tuple[TaskStatus, ...] = ()
    trace: str | None = None
    requested: State | None = None

    @property
    def is_passing(self) -> bool:
        """Whether the state will change without anyone's request.

        Workers write UNASSIGNED and RESTARTING. Strimzi's operator may have observed a connector a moment before it
        reached the state that its resource requests, and observes it again up to two minutes later.
        """
        if self.state in {State.UNASSIGNED, State.RESTARTING}:
            return True
        return self.state is not State.FAILED and self.requested not in {None, self.state}

    @property
    def is_stopped(self) -> bool:
        """Whether the connector is STOPPED without tasks; only then its offsets may be changed."""
        return self.state is State.STOPPED and not self.tasks

    @property
    def failed_tasks(self) -> tuple[TaskStatus, ...]:
        """The tasks that failed."""
        return tuple(task for task in self.tasks if task.state is State.FAILED)

    @property
    def has_failed(self) -> bool:
        """Whether the connector or any of its tasks has failed."""
        return self.state is State.FAILED or bool(self.failed_tasks)

    @property
    def cause(self) -> str:
        """First line of the first stack trace, with secrets masked."""
        traces = [self.trace, *(task.trace for task in self.failed_tasks)]
        return next(filter(None, map(first_line, traces)), "no trace")


#: Whether a status is the one that is waited for.
StatusTest: TypeAlias = Callable[[ConnectorStatus], bool]


@dataclass(frozen=True, slots=True)
class ConnectorInfo:
    """A connector's name, type and configuration, which has secrets: mask them before they leave the process."""

    name: str
    type: ConnectorType
    config: Mapping[str, str]

    @property
    def is_held(self) -> bool:
        """Whether it is a new connector whose creation is not complete, and which is kept from working."""
        return HELD in self.config.values()

    @property
    def connector_class(self) -> str:
        """The configured ``connector.class``."""
        return self.config.get("connector.class", "")

    @property
    def family(self) -> Family:
        """Family of the connector, which has the rules of its offsets."""
        return family_of(self.type, self.connector_class)

    @property
    def group_id(self) -> str | None:
        """Consumer group of a sink, according to its own configuration; None for a source."""
        if self.type is not ConnectorType.SINK:
            return None
        return self.config.get("consumer.override.group.id") or f"connect-{self.name}"


@dataclass(frozen=True, slots=True)
class ConnectorOverview:
    """A connector as a listing of all connectors shows it."""

    info: ConnectorInfo
    status: ConnectorStatus


@dataclass(frozen=True, slots=True)
class WriteReply:
    """The reply of a store to a change that it accepted.

    Attributes:
        message: The reply's text.
        externally_managed: Whether the connector does not implement ``alterOffsets``, so that it may keep its position
            elsewhere.
    """

    message: str
    externally_managed: bool = False


class OffsetStore(Protocol):
    """Reads and writes the offsets of connectors."""

    def read_offsets(self, connector: str) -> Offsets:
        """Return all offsets of ``connector``; raises :class:`~.exceptions.UnknownConnector` and other store errors."""

    def write_offsets(self, connector: str, changes: Offsets) -> WriteReply:
        """Overwrite the listed partitions (offset None removes); others stay. Does not read back."""

    def reset_offsets(self, connector: str) -> WriteReply:
        """Remove all offsets of ``connector``. Does not read back."""


@runtime_checkable
class SharedStore(OffsetStore, Protocol):
    """A store that several clients can read at once, each in a thread of its own."""

    def another(self) -> AbstractContextManager[OffsetStore]:
        """Return another client of the same store, which is closed at the end of its ``with``."""


class ConnectorControl(Protocol):
    """Observes, starts and stops connectors; ``stop``, ``pause`` and ``resume`` return before the state changes.

    Attributes:
        by_resource: Whether states are requested in resources of Strimzi, whose operator reverts any other state.
    """

    by_resource: ClassVar[bool] = False

    def require_offset_changes(self) -> None:
        """Raise :class:`~.exceptions.Unsupported` if this client can't change the offsets of any connector."""

    def addresses(self, connector: str) -> frozenset[str]:
        """Return addresses that only this Connect cluster has, if another cluster may have the same name in journals.

        Connect's REST API does not say which cluster answers, only which Kafka cluster its workers use, and on which
        workers a connector is.
        """
        del connector
        return frozenset()

    def cluster_names(self) -> tuple[str, str]:
        """Return the name of the Connect cluster in journals and datasets, and its other name, empty if it has none."""
        return "", ""

    def connectors(self) -> list[str]:
        """Return the names of all connectors, sorted."""

    def overview(self) -> Mapping[str, ConnectorOverview]:
        """Return all connectors with type, configuration and state; new ones may be missing."""

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration."""

    def status(self, connector: str) -> ConnectorStatus:
        """Return the state of the connector and of its tasks."""

    def await_status(self, connector: str, until: StatusTest, *, timeout: float, clock: Clock) -> ConnectorStatus:
        """Return the first status that ``until`` accepts, or the last one after ``timeout`` seconds."""
        return poll(lambda: self.status(connector), until, timeout=timeout, clock=clock)

    def prepare(self, connector: str) -> None:
        """Prepare a change of offsets, as far as the connector need not be STOPPED for it; by default do nothing."""
        del connector

    def stop(self, connector: str) -> None:
        """Request STOPPED."""

    def pause(self, connector: str) -> None:
        """Request PAUSED."""

    def resume(self, connector: str) -> None:
        """Request RUNNING."""

    def by_hand(self, connector: str, state: State) -> str:
        """Say what a person does to request RUNNING, PAUSED or STOPPED, as a part of a sentence, in lower case.

        For messages about what could not be done: it calls no server, and raises nothing.
        """


class ConnectorRegistry(Protocol):
    """Creates, configures, restarts and deletes connectors; a storage of offsets can do none of that."""

    def plugins(self) -> Mapping[str, ConnectorType]:
        """Return the connector classes that are installed, with their types."""

    def create(self, name: str, config: Mapping[str, str], *, initial_state: State, like: str = "") -> ConnectorInfo:
        """Create a connector in ``initial_state``; copy what isn't configuration (labels) from connector ``like``."""

    def config_problems(self, config: Mapping[str, str]) -> Sequence[str]:
        """Return what is wrong with a configuration, each a sentence; empty also if only a change of it can tell."""
        del config
        return ()

    def update_config(self, name: str, config: Mapping[str, str]) -> ConnectorInfo:
        """Replace the whole configuration of a connector; its state stays."""

    def restart(self, name: str, *, failed_only: bool) -> None:
        """Request a restart of the connector and its tasks (KIP-745), or only of what has failed; its state stays."""

    def delete(self, name: str) -> None:
        """Delete a connector; the offsets of a source stay stored."""

    def configure_by_hand(self, name: str) -> str:
        """Say what a person does to change a configuration, like ``ConnectorControl.by_hand``."""

    def delete_by_hand(self, name: str) -> str:
        """Say what a person does to delete a connector, like ``ConnectorControl.by_hand``."""
