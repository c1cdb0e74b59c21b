"""How numbers, moments, positions and requests are said to people; the page and the tables say them alike."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from airflow_provider_connect_offsets.offsets.requests.request import Request, To

NOTHING_STORED = "nothing stored"

_CREDENTIALS = re.compile(r"(?<=://)[^/\s]+@")


def count(number: int, thing: str) -> str:
    """Say how many: ``1 record``, ``1,200 records``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def moment(time: datetime) -> str:
    """Say when, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def seconds(number: float) -> str:
    """Say how long; fractions matter only for the first seconds."""
    return f"{number:.2f} s" if number < 10 else f"{number:,.0f} s"


def position(offset: str | None, number: int | None) -> str:
    """Say where an offset stands: its position where it has one, else what is stored (canonical JSON)."""
    if number is None:
        return offset or NOTHING_STORED
    return f"{number:,}"


def without_credentials(text: str) -> str:
    """Leave out login and password of a URI in ``text``: a page is sent around."""
    return _CREDENTIALS.sub("", text)


def request(asked: Request) -> str:
    """Say in a sentence what was asked for."""
    return without_credentials(f"{_aim(asked)}, {_selection(asked)}.")


def _aim(asked: Request) -> str:
    name, amount = f"`{asked.connector}`", asked.amount or 0
    since = "" if asked.moment is None else moment(asked.moment)
    return {
        To.EARLIEST: f"Resume {name} at the first record that is still in each log",
        To.LATEST: f"Resume {name} at the end of each log",
        To.CURRENT: f"Leave {name} where it stands",
        To.CLEAR: f"Remove the stored offsets of {name}",
        To.DATETIME: f"Resume {name} at the first record of {since} or later",
        To.DURATION: f"Resume {name} at the first record of {since} or later ({asked.value} back)",
        To.SHIFT: f"Move {name} {count(abs(amount), 'record')} {'back' if amount < 0 else 'forward'}",
        To.OFFSET: f"Resume {name} at position {amount:,}",
        To.SKIP: f"Skip {'the next record' if amount == 1 else f'the next {amount:,} records'} of {name}",
        To.FILE: f"Give {name} the offsets in {asked.reference}",
        To.CONNECTOR: f"Give {name} the offsets of connector `{asked.reference}`",
    }[asked.to]


def _selection(asked: Request) -> str:
    if asked.topics is None and asked.partitions is None:
        return "in all its partitions"
    topics = "all topics" if asked.topics is None else f"topics that match `{asked.topics}`"
    if asked.partitions is None:
        return f"in {topics}"
    text = str(asked.partitions)
    return f"in {'partition' if text.isdigit() else 'partitions'} {text} of {topics}"
