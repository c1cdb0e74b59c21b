"""The request that says where a connector or group resumes, in the words of ``kafka-consumer-groups --to-…``."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.document import MAX_LONG
from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.offsets.requests.place import ResumePoint, To
from airflow_provider_connect_offsets.offsets.requests.values import ago

# Characters of a value in messages; the URIs of files are shorter.
_MOST_SHOWN = 1000
_EXPECTED = {
    To.DATETIME: "an ISO 8601 date and time with its offset from UTC, like 2026-01-31T03:00:00+01:00",
    To.DURATION: "an ISO 8601 duration, counted back from now, like PT2H or P1D",
    To.SHIFT: "a signed number of offsets, like -100",
    To.OFFSET: "a position, 0 or greater, or a position in the log of a database (0/16B3748, 0-1-8)",
    To.SKIP: "a number of offsets to skip from the next record on, 1 or more",
    To.FILE: "the URI of a KIP-199 JSON, REST JSON, JSON lines, CSV or Parquet file",
    To.QUERY: "a query in Spark SQL that returns topic, partition and position",
    To.CONNECTOR: "the name of another {noun}",
}


# A position in a database's log has parts: an LSN is 0/16B3748, GTIDs are 0-1-8,5-2-77.
_IN_ANOTHER_LOG = re.compile(r"[\w.-]+(?:[:/][\w.-]+)+|\d+(?:-\d+){2}(?:,\s*\d+(?:-\d+){2})*", re.ASCII)


class Request(ResumePoint, JsonRecord):
    """A parsed request, checked as far as that is possible without observing any system.

    Attributes:
        connector: Name of the connector.
        amount: For ``shift`` and ``skip`` a number of offsets; for ``offset`` a position. Otherwise None, also if the
            ``offset`` is written as another system does (``0/16B3748``); then the family parses ``value``.
        moment: For ``datetime`` and ``duration`` the moment (UTC); otherwise None.
        reference: For ``file`` its URI, for ``query`` its text, for ``connector`` a name; otherwise None.
        noun: What ``connector`` names: a connector, or a consumer group.
        catalogs: Names of the Spark catalogs whose tables a ``query`` may read. The configuration (``guards``) sets
            them, not the requester.
    """

    connector: str
    amount: int | None = None
    moment: datetime | None = None
    reference: str | None = None
    noun: Noun = Noun.CONNECTOR
    catalogs: tuple[str, ...] = ()

    @classmethod
    def of(cls, place: ResumePoint, connector: str, *, now: datetime, noun: Noun = Noun.CONNECTOR) -> Request:
        """Return the request that ``connector`` resumes at a place.

        Args:
            place: Where to resume; for ``skip`` an empty ``value`` means 1.
            connector: Name of the connector.
            now: The moment that a ``duration`` counts back from.
            noun: What ``connector`` is: a connector, or a consumer group.

        Raises:
            InvalidRequest: The values don't fit together; the message says what is expected.
        """
        if not connector or ("/" in connector and noun is Noun.CONNECTOR):
            raise InvalidRequest(
                f"connector: Connect's REST API can't reach the name {connector!r} (it is empty, or has a '/' in it)"
            )
        to, text = place.to, place.value or ("1" if place.to is To.SKIP else "")
        if to.takes_value and not text:
            raise InvalidRequest(f"to={to} needs a value: {_EXPECTED[to].format(noun=noun)}")
        if text and not to.takes_value:
            raise InvalidRequest(f"to={to} takes no value, but {text!r} was given")
        if to is To.CONNECTOR and text == connector:
            raise InvalidRequest(f"to=connector: {text!r} is the {noun} itself. Give another name.")
        if place.columns is not None and to not in {To.FILE, To.QUERY}:
            raise InvalidRequest(f"to={to} reads no table, but columns={str(place.columns)!r} was given")
        return cls(
            **{**place.values(*fields_of(ResumePoint)), "value": text},
            connector=connector,
            noun=noun,
            amount=_parse_amount(to, text),
            moment=_parse_moment(to, text, now),
            reference=text if to.by_list else None,
        )

    @classmethod
    def parse(cls, **given: Any) -> Request:
        """Parse what a person typed: parameters of :class:`ResumePoint`, and the other arguments of :meth:`of`."""
        others = {name: given.pop(name) for name in ("connector", "now", "noun") if name in given}
        return cls.of(ResumePoint.parse(**given), **others)

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
    """Return how the name of a file ends, which shows the kind of file: ``.csv``, in lower case."""
    return PurePosixPath(uri).suffix.lower()


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
