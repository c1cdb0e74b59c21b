"""What is waited for: a state, positions, a group without members. Each is one look, which says what it saw."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.change.doors import Bounds, Doors, Groups
from airflow_provider_connect_offsets.change.steps import is_in
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning
from airflow_provider_connect_offsets.offsets.document import parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.request import PartitionSet
from airflow_provider_connect_offsets.stores.protocols import ConnectorControl, ConnectorInfo, State

_AWAITED = (State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED)
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen: whether it is as awaited, and a sentence for the log."""

    reached: bool
    sentence: str


def look_at_state(control: ConnectorControl, connector: str, state: str) -> Look:
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
        return Look(status.has_failed, sentence)
    if status.has_failed and state != State.STOPPED:
        raise NotRunning(f"{connector!r} was awaited to be {state}, but has failed: {status.cause}")
    return Look(is_in(status, State(state)), sentence)


def look_at_group(groups: Groups, group: str) -> Look:
    """Whether consumer group ``group`` has no members; one that nobody ever heard of has none."""
    inactive = groups.state(group).inactive
    return Look(inactive, f"Consumer group {group!r} {'has no members' if inactive else 'has members'}.")


@dataclass(frozen=True, slots=True)
class Awaited:
    """Positions that are awaited: at least ``position`` in each partition, or at most ``max_lag`` records left to read.

    ``topics``: a pattern for whole names, None for all; ``partitions``: None for all.
    """

    topics: str | None = None
    partitions: PartitionSet | None = None
    position: int | None = None
    max_lag: int = 0

    @classmethod
    def parse(cls, *, topics: str = "", partitions: str = "", position: object = None, max_lag: object = 0) -> Awaited:
        """Read what a template may have made texts; raises :class:`InvalidRequest`."""
        try:
            re.compile(topics)
        except re.error as error:
            raise InvalidRequest(f"topics: {topics!r} is no regular expression: {error}") from error
        return cls(
            topics.strip() or None,
            PartitionSet.parse(partitions) if partitions.strip() else None,
            None if position in (None, "") else _count(position, "position"),
            _count(max_lag, "max_lag"),
        )

    def selects(self, where: TopicPartition) -> bool:
        """Whether that partition is waited for."""
        in_topics = self.topics is None or re.fullmatch(self.topics, where.topic) is not None
        numbers = self.partitions.ranges if self.partitions else ()
        return in_topics and (not numbers or any(low <= where.partition <= high for low, high in numbers))


def look_at_positions(doors: Doors, connector: str, awaited: Awaited) -> Look:
    """Whether ``connector`` has come as far as ``awaited`` in all partitions that it reads or has an offset for.

    A partition without an offset is at its log's start. Raises :class:`InvalidRequest` where the family has no
    positions, where no partition is selected, and where ``doors`` has no logs to look at.
    """
    if doors.logs is None:
        raise InvalidRequest(f"{connector!r}: kafka_conn_id must name the cluster that its positions refer to.")
    info = doors.control.info(connector)
    if not info.family.has_positions:
        raise InvalidRequest(f"{connector!r}: offsets of a {info.connector_class} are no positions in a log.")
    stored = stored_positions(doors, info)
    known = {*stored, *consumed_partitions(doors, info)}
    selected = sorted(filter(awaited.selects, known), key=lambda where: (where.topic, where.partition))
    if not selected:
        raise InvalidRequest(f"{connector!r} has no partition of topics {awaited.topics!r} to wait for.")
    bounds = doors.logs.bounds(selected)
    behind = [text for where in selected if (text := _behind(where, stored.get(where), bounds.get(where), awaited))]
    if not behind:
        return Look(reached=True, sentence=f"{connector!r} is there in all of {len(selected)} partitions.")
    more = f" and {len(behind) - _NAMED} more" if len(behind) > _NAMED else ""
    return Look(reached=False, sentence=f"{connector!r}: {'; '.join(behind[:_NAMED])}{more}.")


def stored_positions(doors: Doors, info: ConnectorInfo) -> Mapping[TopicPartition, int | None]:
    """Where the connector resumes, of each partition that it has an offset for."""
    found = {}
    for entry in doors.offsets.read_offsets(info.name):
        where = info.family.topic_partition(parse_map(entry.partition))
        if where is not None:
            found[where] = info.family.position(None if entry.offset is None else parse_map(entry.offset))
    return found


def consumed_partitions(doors: Doors, info: ConnectorInfo) -> list[TopicPartition]:
    """All partitions that its configuration makes it read, as far as that can be told."""
    pattern = info.family.consumed_topics(info.config)
    if pattern is None or doors.logs is None:
        return []
    never = re.compile(info.family.excluded_topics(info.config) or r"(?!)")
    topics = doors.logs.topics().items()
    counts = {name: count for name, count in topics if re.fullmatch(pattern, name) and not never.fullmatch(name)}
    return [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]


def _behind(where: TopicPartition, position: int | None, log: Bounds | None, awaited: Awaited) -> str:
    """Say how far a partition has to go; empty where it is there, or its topic is gone."""
    if log is None:
        return ""
    stands = log.log_start if position is None else position
    target = awaited.position if awaited.position is not None else log.log_end - awaited.max_lag
    return f"{where.topic}-{where.partition} is at {stands:,}, not {target:,} yet" if stands < target else ""


def _count(value: object, name: str) -> int:
    text = str(value).strip()
    if not re.fullmatch(r"\d+", text, re.ASCII):
        raise InvalidRequest(f"{name}: {value!r} is no number of records, 0 or greater.")
    return int(text)
