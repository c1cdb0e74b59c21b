"""Observations that sensors and triggers repeat: a connector's state, a consumer group's members, stored positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorInfo, ConnectorStatus, State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning
from airflow_provider_connect_offsets.kafka.group_kinds import why_left_alone
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.partitions import partitions_of
from airflow_provider_connect_offsets.offsets.document import parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import configured_pattern
from airflow_provider_connect_offsets.words import as_sentence

_AWAITED = (State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED)


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of one observation.

    Attributes:
        reached: True if the awaited state is reached.
        sentence: Describes what was observed, for the log.
    """

    reached: bool
    sentence: str


def observe_state(control: ConnectorControl, connector: str, state: str) -> Observation:
    """Compare a connector and all its tasks with ``state``.

    Args:
        control: Control over the connector.
        connector: Its name.
        state: RUNNING, PAUSED, STOPPED (without tasks) or FAILED (the connector or any task).

    Raises:
        InvalidRequest: ``state`` is none of these.
        NotRunning: The connector has failed while RUNNING or PAUSED is awaited; waiting does not repair that.
        StoreError: Connect does not answer, or refuses.
    """
    if state not in set(_AWAITED):
        raise InvalidRequest(f"{connector!r}: {state!r} is none of {', '.join(_AWAITED)}.")
    status = control.status(connector)
    tasks = ", ".join(task.state.value for task in status.tasks) or "none"
    sentence = f"{connector!r} is {status.state}; its tasks: {tasks}."
    if state == State.FAILED:
        return Observation(status.has_failed, sentence)
    if status.has_failed and state != State.STOPPED:
        raise NotRunning(f"{connector!r} should become {state}, but it has failed: {as_sentence(status.cause)}")
    return Observation(is_in(status, State(state)), sentence)


def observe_group(groups: ConsumerGroups, group: str) -> Observation:
    """Observe whether a consumer group has no members, as is the case for an unknown group.

    Raises:
        InvalidRequest: It isn't a consumer group, so its members can't be observed.
        StoreError: Kafka does not answer, or refuses.
    """
    status = groups.state(group)
    if status.kind:
        raise InvalidRequest(f"{why_left_alone(group, status.kind)} Its members are unknown.")
    inactive = status.inactive
    return Observation(inactive, f"Consumer group {group!r} {'has no members' if inactive else 'has members'}.")


def stored_positions(clients: Clients, info: ConnectorInfo) -> Mapping[TopicPartition, int | None]:
    """Read the position of each partition that the connector has an offset for; raises store errors."""
    positions = {}
    for entry in clients.offsets.read_offsets(info.name):
        where = info.family.topic_partition(parse_map(entry.partition))
        if where is not None:
            positions[where] = info.family.position_in(entry.offset)
    return positions


def consumed_partitions(clients: Clients, info: ConnectorInfo) -> list[TopicPartition]:
    """List all partitions that the connector's configuration selects.

    Returns:
        Empty if the configuration is unknown, or ``clients`` have no logs.

    Raises:
        UnreadablePattern: A configured pattern can't be read.
        StoreError: Kafka does not answer, or refuses.
    """
    if clients.logs is None or (selects := consumes(info)) is None:
        return []
    counts = clients.logs.topics()
    return partitions_of(counts, filter(selects, counts))


def consumes(info: ConnectorInfo) -> Callable[[str], bool] | None:
    """Return a function that is true for the topics that a connector's configuration selects; None if unknown.

    Raises :class:`UnreadablePattern`.
    """
    pattern = info.family.consumed_topics(info.config)
    if pattern is None:
        return None
    included = configured_pattern(pattern, connector=info.name)
    excluded = configured_pattern(info.family.excluded_topics(info.config) or r"(?!)", connector=info.name)
    return lambda topic: included.matches(topic) and not excluded.matches(topic)


def is_in(status: ConnectorStatus, state: State, *, tasks: int | None = None) -> bool:
    """Whether a connector and its tasks are in ``state``.

    A RUNNING connector has at least one task, unless ``tasks`` is 0, which means that it is configured for no tasks.
    """
    if state is State.STOPPED:
        return status.is_stopped
    # A connector that is paused from STOPPED has no tasks; a running connector gets its tasks a moment after its state.
    if state is State.RUNNING and tasks != 0 and not status.tasks:
        return False
    return status.state is state and all(task.state is state for task in status.tasks)
