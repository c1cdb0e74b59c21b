"""What is waited for: a state, a group without members. Each is one look, which says what it saw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, ConnectorInfo, ConnectorStatus, State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning
from airflow_provider_connect_offsets.observe.clients import Clients, Groups
from airflow_provider_connect_offsets.offsets.document import parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.patterns import configured_pattern

_AWAITED = (State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED)


@dataclass(frozen=True, slots=True)
class Observation:
    """What was seen: whether it is as awaited, and a sentence for the log."""

    reached: bool
    sentence: str


def observe_state(control: ConnectorControl, connector: str, state: str) -> Observation:
    """Whether ``connector`` and all its tasks are RUNNING, PAUSED, STOPPED (without tasks) or FAILED (any of them).

    Raises :class:`InvalidRequest` for another word, and :class:`NotRunning` where it has failed and RUNNING or PAUSED
    is awaited, as waiting would not mend it. Being stopped, a connector may have failed as it likes.
    """
    if state not in set(_AWAITED):
        raise InvalidRequest(f"{connector!r}: {state!r} is none of {', '.join(_AWAITED)}.")
    status = control.status(connector)
    tasks = ", ".join(task.state.value for task in status.tasks) or "none"
    sentence = f"{connector!r} is {status.state}; its tasks: {tasks}."
    if state == State.FAILED:
        return Observation(status.has_failed, sentence)
    if status.has_failed and state != State.STOPPED:
        raise NotRunning(f"{connector!r} was awaited to be {state}, but has failed: {status.cause}")
    return Observation(is_in(status, State(state)), sentence)


def observe_group(groups: Groups, group: str) -> Observation:
    """Whether consumer group ``group`` has no members; one that nobody ever heard of has none."""
    inactive = groups.state(group).inactive
    return Observation(inactive, f"Consumer group {group!r} {'has no members' if inactive else 'has members'}.")


def stored_positions(clients: Clients, info: ConnectorInfo) -> Mapping[TopicPartition, int | None]:
    """Where the connector resumes, of each partition that it has an offset for."""
    found = {}
    for entry in clients.offsets.read_offsets(info.name):
        where = info.family.topic_partition(parse_map(entry.partition))
        if where is not None:
            found[where] = info.family.position(None if entry.offset is None else parse_map(entry.offset))
    return found


def consumed_partitions(clients: Clients, info: ConnectorInfo) -> list[TopicPartition]:
    """All partitions that its configuration makes it read, as far as that can be told.

    Raises :class:`UnreadablePattern`, and store errors.
    """
    pattern = info.family.consumed_topics(info.config)
    if pattern is None or clients.logs is None:
        return []
    wanted = configured_pattern(pattern, connector=info.name)
    never = configured_pattern(info.family.excluded_topics(info.config) or r"(?!)", connector=info.name)
    topics = clients.logs.topics().items()
    counts = {name: count for name, count in topics if wanted.fullmatch(name) and not never.fullmatch(name)}
    return [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]


def is_in(status: ConnectorStatus, state: State, *, tasks: int | None = None) -> bool:
    """Whether a connector and its tasks are in ``state``; one that runs has tasks, unless it had none (``tasks`` 0)."""
    if state is State.STOPPED:
        return status.is_stopped
    # From STOPPED a paused connector has no tasks; a running one gets them a moment after its state.
    awaited = state is State.RUNNING and tasks != 0
    if awaited and not status.tasks:
        return False
    return status.state is state and all(task.state is state for task in status.tasks)
