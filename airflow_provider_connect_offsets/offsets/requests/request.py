"""Requests: what someone asks for, in Kafka's own words where it has them (``kafka-consumer-groups --to-…``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.families import MAX_INT, MAX_LONG
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern


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
    CONNECTOR = "connector"

    @property
    def takes_value(self) -> bool:
        """Whether a value goes with it."""
        return self not in {To.EARLIEST, To.LATEST, To.CURRENT, To.CLEAR}

    @property
    def by_time(self) -> bool:
        """Whether it names a moment that has to be looked up in the log."""
        return self in {To.DATETIME, To.DURATION}

    @property
    def by_list(self) -> bool:
        """Whether it takes whole entries from elsewhere."""
        return self in {To.FILE, To.CONNECTOR}

    @property
    def needs_position(self) -> bool:
        """Whether it makes sense only where offsets are positions in a Kafka log."""
        return not self.by_list and self is not To.CLEAR

    @property
    def is_relative(self) -> bool:
        """Whether it counts from where the connector stands, so that it moves with a running connector."""
        return self in {To.SHIFT, To.SKIP}


_EXPECTED = {
    To.DATETIME: "an ISO 8601 date and time with its offset from UTC, like 2026-01-31T03:00:00+01:00",
    To.DURATION: "an ISO 8601 duration, counted back from now, like PT2H or P1D",
    To.SHIFT: "a signed number of records, like -100",
    To.OFFSET: "a position, 0 or greater",
    To.SKIP: "how many records to skip, 1 or more",
    To.FILE: "the URI of a KIP-199 JSON, REST JSON, CSV or Parquet file",
    To.CONNECTOR: "the name of another connector",
}


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """A selection of partition numbers, as closed ranges; ``0,3-5`` is ``((0, 0), (3, 5))``."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, text: str) -> PartitionSet:
        """Read ``0,3-5``; raises :class:`InvalidRequest`."""
        return cls(tuple(_ranges(text)))

    def __str__(self) -> str:
        """Write it as it was read."""
        return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in self.ranges)

    def __contains__(self, number: int) -> bool:
        return any(low <= number <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for, checked as far as it can be without looking at the world.

    ``amount`` is the number of ``shift``, ``offset`` and ``skip``; ``moment`` the time of ``datetime``, ``duration``;
    ``reference`` the URI of ``file`` or the name of ``connector``. ``topics`` is a pattern that must match whole names;
    None selects all, and so does None for ``partitions``. ``only_back``: partitions that have not come as far as the
    place that is asked for stay where they are, instead of skipping what they have not read.
    """

    connector: str
    to: To
    value: str = ""
    topics: str | None = None
    partitions: PartitionSet | None = None
    amount: int | None = None
    moment: datetime | None = None
    reference: str | None = None
    only_back: bool = False

    @classmethod
    def parse(
        cls,
        *,
        connector: str,
        to: str,
        value: str | None = None,
        topics: str | None = None,
        partitions: str | None = None,
        now: datetime,
    ) -> Request:
        """Read what a person typed; raises :class:`InvalidRequest` with a sentence that says what was expected."""
        if not connector or "/" in connector:
            raise InvalidRequest(
                f"connector: {connector!r} is no name that Connect's REST API can reach (empty, or with a '/' in it)"
            )
        target = _parse_to(to)
        text = (value or "").strip()
        if target is To.SKIP and not text:
            text = "1"
        if target.takes_value and not text:
            raise InvalidRequest(f"to={target} needs a value: {_EXPECTED[target]}")
        if text and not target.takes_value:
            raise InvalidRequest(f"to={target} takes no value, but {text!r} was given")
        if target is To.CONNECTOR and text == connector:
            raise InvalidRequest(f"to=connector: {text!r} is the connector itself; name another one")
        return cls(
            connector=connector,
            to=target,
            value=text,
            topics=_parse_topics(topics),
            partitions=PartitionSet.parse(partitions) if partitions and partitions.strip() else None,
            amount=_parse_amount(target, text),
            moment=_parse_moment(target, text, now),
            reference=text if target.by_list else None,
        )

    def selects(self, topic: str | None, partition: int | None) -> bool:
        """Whether ``topics`` and ``partitions`` select a partition of Kafka, or one that has no such name or number."""
        if self.topics is not None and (topic is None or not re.fullmatch(self.topics, topic)):
            return False
        return self.partitions is None or (partition is not None and partition in self.partitions)

    def as_json(self) -> dict[str, Any]:
        """Write it for a dataset; :meth:`from_json` reads it."""
        return {
            "connector": self.connector,
            "to": self.to.value,
            "value": self.value,
            "topics": self.topics,
            "partitions": None if self.partitions is None else str(self.partitions),
            "amount": self.amount,
            "moment": None if self.moment is None else self.moment.isoformat(),
            "reference": self.reference,
            "only_back": self.only_back,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Request:
        """Read what :meth:`as_json` wrote."""
        return cls(
            connector=fields["connector"],
            to=To(fields["to"]),
            value=fields["value"],
            topics=fields["topics"],
            partitions=None if fields["partitions"] is None else PartitionSet.parse(fields["partitions"]),
            amount=fields["amount"],
            moment=None if fields["moment"] is None else datetime.fromisoformat(fields["moment"]),
            reference=fields["reference"],
            only_back=fields.get("only_back", False),
        )

    def __str__(self) -> str:
        """Say it in the words in which it was asked."""
        words = [f"to={self.to}"]
        words += [f"value={self.value}"] if self.value else []
        words += [f"topics={self.topics}"] if self.topics else []
        words += [f"partitions={self.partitions}"] if self.partitions else []
        return " ".join(words)


def _parse_to(to: str) -> To:
    try:
        return To(to)
    except ValueError as error:
        raise InvalidRequest(f"to: {to!r} is none of {', '.join(To)}") from error


def _parse_topics(topics: str | None) -> str | None:
    if not topics or not topics.strip():
        return None
    return typed_pattern(topics, param="topics").pattern.strip()


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
    if pattern is None:
        return None
    if not re.fullmatch(pattern, text, re.ASCII) or abs(int(text)) > MAX_LONG:
        raise _unfit(to, text)
    return int(text)


def _parse_moment(to: To, text: str, now: datetime) -> datetime | None:
    if to is To.DATETIME:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise _unfit(to, text) from error
        if moment.tzinfo is None:
            raise _unfit(to, text)
        return moment.astimezone(UTC)
    if to is To.DURATION:
        try:
            return (now - parse_duration(text)).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise _unfit(to, text) from error
    return None


def parse_duration(text: str) -> timedelta:
    """Read an ISO 8601 duration; raises :class:`ValueError`."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - Spark reads requests too, and needs no pydantic for it

    if not text.startswith("P"):
        raise ValueError("an ISO 8601 duration starts with P")
    return TypeAdapter(timedelta).validate_python(text)


def _unfit(to: To, text: str) -> InvalidRequest:
    return InvalidRequest(f"to={to}: the value {text!r} is not {_EXPECTED[to]}")
