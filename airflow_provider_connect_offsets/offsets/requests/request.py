"""The request where a connector or consumer group resumes, in the words of ``kafka-consumer-groups --to-…``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import PurePosixPath

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.families import MAX_INT, MAX_LONG, ConnectorType
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.columns import TableColumns
from airflow_provider_connect_offsets.offsets.requests.patterns import matches_topic, selection
from airflow_provider_connect_offsets.offsets.requests.values import ago


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


# Characters of a value in messages; the URIs of files are shorter.
_MOST_SHOWN = 1000
_EXPECTED = {
    To.DATETIME: "an ISO 8601 date and time with its offset from UTC, like 2026-01-31T03:00:00+01:00",
    To.DURATION: "an ISO 8601 duration, counted back from now, like PT2H or P1D",
    To.SHIFT: "a signed number of offsets, like -100",
    To.OFFSET: "a position, 0 or greater, or of a connector that reads a database one in its log (0/16B3748, 0-1-8)",
    To.SKIP: "how many offsets to skip from the next record on, 1 or more",
    To.FILE: "the URI of a KIP-199 JSON, REST JSON, JSON lines, CSV or Parquet file",
    To.QUERY: "a query in Spark SQL that returns topic, partition and position",
    To.CONNECTOR: "the name of another {noun}",
}


# A position in the log of another system than Kafka has parts: an LSN is 0/16B3748, GTIDs are 0-1-8,5-2-77.
_IN_ANOTHER_LOG = re.compile(r"[\w.-]+(?:[:/][\w.-]+)+|\d+(?:-\d+){2}(?:,\s*\d+(?:-\d+){2})*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """A selection of partition numbers, as closed ranges: ``0,3-5`` is ``((0, 0), (3, 5))``. In JSON it is the text."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> PartitionSet:
        """Parse text like ``0,3-5``; raises :class:`InvalidRequest`."""
        return cls(tuple(_ranges(text)))

    from_json = parse

    def as_json(self) -> str:
        """Return the text that :meth:`parse` reads."""
        return str(self)

    def __str__(self) -> str:
        return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in self.ranges)

    def __contains__(self, number: int) -> bool:
        return any(low <= number <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Request(JsonRecord):
    """A parsed request, checked as far as that is possible without observing any system.

    Attributes:
        connector: Name of the connector.
        to: Where to resume.
        value: The value as it was typed; empty if ``to`` takes none.
        topics: Pattern for whole topic names; None: all.
        partitions: Partition numbers; None: all.
        amount: Number of offsets of ``shift`` and ``skip``, position of ``offset``; else None, also for an ``offset``
            in another system's notation (``0/16B3748``), which the connector's family reads from ``value``.
        moment: Moment (UTC) of ``datetime`` and ``duration``; else None.
        reference: URI of ``file``, ``query`` itself, name of ``connector``; else None.
        noun: What ``connector`` is: a connector, or a consumer group.
        only_back: True if a partition whose position is before the requested one is left unchanged, so that no unread
            record is skipped.
        columns: Which columns of a ``file`` or ``query`` have topic, partition and position; None: not said.
        catalogs: Names of the Spark catalogs whose tables a ``query`` may read; not of whoever requests it, but of the
            place (``guards``).
    """

    connector: str
    to: To
    value: str = ""
    topics: str | None = None
    partitions: PartitionSet | None = None
    amount: int | None = None
    moment: datetime | None = None
    reference: str | None = None
    noun: str = ConnectorType.SINK.noun
    only_back: bool = False
    columns: TableColumns | None = None
    catalogs: tuple[str, ...] = ()

    @classmethod
    def parse(  # noqa: PLR0913 - what a person typed, each by its name
        cls,
        *,
        connector: str,
        to: str,
        value: str | None = None,
        topics: str | None = None,
        partitions: str | None = None,
        noun: str = ConnectorType.SINK.noun,
        columns: str | None = None,
        now: datetime,
    ) -> Request:
        """Parse what a person typed.

        Args:
            connector: Name of the connector.
            to: A member of :class:`To`.
            value: What goes with ``to``; may be empty or None.
            topics: Pattern for whole topic names; empty or None: all.
            partitions: Numbers and ranges, like ``0,3-5``; empty or None: all.
            noun: What ``connector`` is: a connector, or a consumer group.
            columns: Text that :class:`TableColumns` reads; empty or None: not said.
            now: The moment that a ``duration`` counts back from.

        Raises:
            InvalidRequest: A value can't be used; the message names it and says what is expected.
        """
        if not connector or ("/" in connector and noun == ConnectorType.SINK.noun):
            raise InvalidRequest(
                f"connector: {connector!r} is no name that Connect's REST API can reach (empty, or with a '/' in it)"
            )
        target = _parse_to(to)
        text = (value or "").strip()
        if target is To.SKIP and not text:
            text = "1"
        if target.takes_value and not text:
            raise InvalidRequest(f"to={target} needs a value: {_EXPECTED[target].format(noun=noun)}")
        if text and not target.takes_value:
            raise InvalidRequest(f"to={target} takes no value, but {text!r} was given")
        if target is To.CONNECTOR and text == connector:
            raise InvalidRequest(f"to=connector: {text!r} is the {noun} itself; name another one")
        if columns and columns.strip() and target not in {To.FILE, To.QUERY}:
            raise InvalidRequest(f"to={target} reads no table, but columns={columns.strip()!r} was given")
        return cls(
            connector=connector,
            noun=noun,
            to=target,
            value=text,
            topics=selection(topics, param="topics"),
            partitions=PartitionSet.parse(partitions) if partitions and partitions.strip() else None,
            amount=_parse_amount(target, text),
            moment=_parse_moment(target, text, now),
            reference=text if target.by_list else None,
            columns=TableColumns.parse(columns) if columns and columns.strip() else None,
        )

    def selects(self, topic: str | None, partition: int | None) -> bool:
        """True if ``topics`` and ``partitions`` select a partition; None: it has no topic or no number."""
        if self.topics is not None and (topic is None or not matches_topic(self.topics, topic)):
            return False
        return self.partitions is None or (partition is not None and partition in self.partitions)

    def __str__(self) -> str:
        """Return the typed parameters, like ``to=offset value=5 topics=or.*``."""
        words = [f"to={self.to}"]
        words += [f"value={self.value_shown}"] if self.value else []
        words += [f"topics={self.topics}"] if self.topics else []
        words += [f"partitions={self.partitions}"] if self.partitions else []
        words += [f"columns={self.columns}"] if self.columns else []
        return " ".join(words)

    @property
    def value_shown(self) -> str:
        """The value in one line, cut off if it is a long query."""
        line = " ".join(self.value.split())
        return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"

    @property
    def reads_table(self) -> bool:
        """True if each row of what it reads is a position, and none may be empty or listed twice."""
        is_json_lines = self.to is To.FILE and suffix_of(self.value) == ".jsonl"
        return self.to is To.QUERY or self.columns is not None or is_json_lines


def suffix_of(uri: str) -> str:
    """Return how the name of a file ends, which is what kind of file it is: ``.csv``, in small letters."""
    return PurePosixPath(uri).suffix.lower()


def _parse_to(to: str) -> To:
    try:
        return To(to)
    except ValueError as error:
        raise InvalidRequest(f"to: {to!r} is none of {', '.join(To)}") from error


def _ranges(text: str) -> Iterator[tuple[int, int]]:
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part, re.ASCII)
        if match is None:
            raise InvalidRequest(f"partitions: {part.strip()!r} in {text!r} is neither a number nor a range like 3-5")
        low, high = int(match[1]), int(match[2] or match[1])
        if low > high or high > MAX_INT:
            raise InvalidRequest(f"partitions: the range {part.strip()!r} in {text!r} holds no partition number")
        yield low, high


def _parse_amount(to: To, text: str) -> int | None:
    pattern = {To.SHIFT: r"[+-]?\d+", To.OFFSET: r"\d+", To.SKIP: r"\+?[1-9]\d*"}.get(to)
    if pattern is None or (to is To.OFFSET and _IN_ANOTHER_LOG.fullmatch(text)):
        return None
    if not re.fullmatch(pattern, text, re.ASCII) or abs(int(text)) > MAX_LONG:
        raise _unfit(to, text)
    return int(text)


def _parse_moment(to: To, text: str, now: datetime) -> datetime | None:
    if not to.by_time:
        return None
    try:
        moment = datetime.fromisoformat(text) if to is To.DATETIME else ago(text, now=now)
    except ValueError as error:
        raise _unfit(to, text) from error
    if moment.tzinfo is None:
        raise _unfit(to, text)
    return moment.astimezone(UTC)


def _unfit(to: To, text: str) -> InvalidRequest:
    return InvalidRequest(f"to={to}: the value {text!r} is not {_EXPECTED[to]}")
