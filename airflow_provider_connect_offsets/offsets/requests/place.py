"""Parameters that many operations share: which partitions, where they resume, and what is awaited of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.families import MAX_INT
from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, argument, choice, optional
from airflow_provider_connect_offsets.offsets.requests.patterns import matches_topic
from airflow_provider_connect_offsets.offsets.requests.values import Flag, Pattern

TOPIC, PARTITION, POSITION, LAST = "topic", "partition", "position", "last"
_ROLES = (TOPIC, PARTITION, POSITION, LAST)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table whose rows say where each partition resumes; in JSON, the string that was typed.

    Attributes:
        topic: Column with the topic.
        partition: Column with the partition's number.
        position: Column with the next offset to be read; None: ``last``, or the names of the table's columns decide.
        last: Column with the last offset that was delivered, so that the partition resumes one after it; likewise.
    """

    topic: str = TOPIC
    partition: str = PARTITION
    position: str | None = None
    last: str | None = None

    @classmethod
    def parse(cls, text: str) -> TableColumns:
        """Parse a string like ``topic=kafka_topic,partition=part,last=max_offset``; raises :class:`InvalidRequest`."""
        named: dict[str, str] = {}
        for part in text.split(","):
            role, _, column = (word.strip() for word in part.partition("="))
            if role not in _ROLES or not column or role in named:
                raise InvalidRequest(
                    f"columns: {part.strip()!r} in {text!r} is not valid. Write each of {', '.join(_ROLES)} at most "
                    "once, with the name of a column, like topic=kafka_topic,partition=part,last=max_offset"
                )
            named[role] = column
        if POSITION in named and LAST in named:
            raise InvalidRequest(
                f"columns: {text!r} has both position (the next offset to be read) and last (the last offset that was "
                "delivered). Keep only the column that the table has."
            )
        return cls(**named)

    from_json = parse

    def as_json(self) -> str:
        """Return the string that :meth:`parse` reads."""
        return str(self)

    def __str__(self) -> str:
        named = {TOPIC: self.topic, PARTITION: self.partition, POSITION: self.position, LAST: self.last}
        return ",".join(f"{role}={column}" for role, column in named.items() if column is not None)


class To(StrEnum):
    """Where to resume."""

    EARLIEST = "earliest"
    LATEST = "latest"
    CURRENT = "current"
    CLEAR = "clear"
    DATETIME = "datetime"
    DURATION = "duration"
    SHIFT = "shift"
    OFFSET = "offset"
    SKIP = "skip"
    FILE = "file"
    QUERY = "query"
    CONNECTOR = "connector"

    @property
    def takes_value(self) -> bool:
        """True if it needs a value."""
        return self not in {To.EARLIEST, To.LATEST, To.CURRENT, To.CLEAR}

    @property
    def by_time(self) -> bool:
        """True if it names a moment, for which the offset is looked up in the log."""
        return self in {To.DATETIME, To.DURATION}

    @property
    def by_list(self) -> bool:
        """True if it takes a list of offsets: from a file, a query or another connector."""
        return self in {To.FILE, To.QUERY, To.CONNECTOR}

    @property
    def needs_position(self) -> bool:
        """True if it needs offsets that are positions in a Kafka log."""
        return not self.by_list and self is not To.CLEAR

    @property
    def is_relative(self) -> bool:
        """True if it counts from the connector's position, which changes while the connector runs."""
        return self in {To.SHIFT, To.SKIP}


#: ``to`` of a request, and what the form calls it.
TO: dict[str, str] = {
    "earliest": "earliest: the first record that is still there",
    "latest": "latest: after the last record",
    "datetime": "datetime: the first record at or after a moment",
    "duration": "duration: this long before now",
    "shift": "shift: this many offsets back or forward",
    "offset": "offset: exactly this position, LSN or GTIDs",
    "skip": "skip: after the next record, or after this many offsets",
    "clear": "clear: remove the offset, so that auto.offset.reset decides",
    "file": "file: the offsets in a file",
    "query": "query: the positions that a Spark SQL query returns",
    "connector": "connector: where another connector resumes",
    "current": "current: change nothing, show positions and log offsets",
}


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """A selection of partition numbers, as closed ranges: ``0,3-5`` is ``((0, 0), (3, 5))``. In JSON it is a string."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> PartitionSet:
        """Parse a string like ``0,3-5``; raises :class:`InvalidRequest`."""
        return cls(tuple(_ranges(text)))

    from_json = parse

    def as_json(self) -> str:
        """Return the string that :meth:`parse` reads."""
        return str(self)

    def __str__(self) -> str:
        return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in self.ranges)

    def __contains__(self, number: int) -> bool:
        return any(low <= number <= high for low, high in self.ranges)


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part, re.ASCII)
        if match is None:
            raise InvalidRequest(f"partitions: {part.strip()!r} in {text!r} is neither a number nor a range like 3-5")
        low, high = int(match[1]), int(match[2] or match[1])
        if low > high or high > MAX_INT:
            raise InvalidRequest(f"partitions: the range {part.strip()!r} in {text!r} has no valid partition number")
        yield low, high


def parse_to(value: object, param: str) -> To:
    """Parse where to resume; raises :class:`InvalidRequest`."""
    try:
        return To(str(value))
    except ValueError as error:
        raise InvalidRequest(f"{param}: {value!r} is none of {', '.join(To)}") from error


def _partitions(value: object, _param: str) -> PartitionSet | None:
    text = "" if value is None else str(value).strip()
    return PartitionSet.parse(text) if text else None


def _columns(value: object, _param: str) -> TableColumns | None:
    text = "" if value is None else str(value).strip()
    return TableColumns.parse(text) if text else None


def _value(value: object, _param: str) -> str:
    return "" if value is None else str(value).strip()


class Topics(Parameters, section=Section.WHERE):
    """Which topics are concerned."""

    topics: Pattern = optional(
        "Topics",
        "Regular expression that matches whole names of topics. Empty: all topics.",
        example="orders-.*",
        default=None,
    )

    def selects_topic(self, topic: str | None) -> bool:
        """Whether a topic is concerned; None, of a partition that has no topic, only if all are."""
        return self.topics is None or (topic is not None and matches_topic(self.topics, topic))


class Selection(Topics, section=Section.WHERE):
    """Which partitions are concerned."""

    partitions: Annotated[PartitionSet | None, _partitions] = optional(
        "Partitions", "Partition numbers and ranges. Empty: all partitions.", example="0,3-5", default=None
    )

    def selects(self, topic: str | None, partition: int | None) -> bool:
        """Whether a partition is concerned; None: it has no topic or no number."""
        numbered = self.partitions is None or (partition is not None and partition in self.partitions)
        return self.selects_topic(topic) and numbered


class Awaited(Selection):
    """Positions that are awaited in every selected partition."""

    position: int | None = argument(
        "The position that each partition must reach. None: ``max_lag`` decides.", default=None
    )
    max_lag: int = argument("How many records may be left to read in each partition.", default=0)


class AwaitedLag(Topics):
    """A lag that is awaited in every selected partition; without either bound no record may be left to replicate."""

    max_lag_records: int | None = argument("How many records may be left to replicate in each partition.", default=None)
    max_lag_seconds: int | None = argument(
        "How old, in seconds, the oldest record that is left to replicate may be.", default=None
    )


class ResumePoint(Selection, section=Section.WHERE):
    """Where to resume."""

    first: ClassVar[tuple[str, ...]] = ("connector", "connectors", "groups", "to", "value")

    to: Annotated[To, parse_to] = choice(
        "Resume at", "Where to resume.", section=Section.WHAT, values=TO, default=To.CURRENT
    )
    value: Annotated[str, _value] = optional(
        "Value",
        "The value for Resume at: a time, a duration (PT2H), a number of offsets, a position, a URI, a query, or a "
        "connector's name. Empty for earliest, latest, current and clear.",
        section=Section.WHAT,
        example="2026-01-31T03:00:00+01:00",
        default="",
    )
    columns: Annotated[TableColumns | None, _columns] = optional(
        "Columns of the table",
        "For file and query: the columns that contain topic, partition, and either position (the next offset to be "
        "read) or last (the last offset that was delivered). Empty: the columns have these names.",
        example="topic=kafka_topic, partition=part, last=max_offset",
        default=None,
    )
    only_back: Flag = argument(
        "Whether to leave partitions alone that have not reached this position, so that no unread record is skipped.",
        default=False,
    )
