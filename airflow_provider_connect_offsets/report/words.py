"""Texts for numbers, times, positions and requests, the same in reports, tables and questions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.words import quantify

NOTHING_STORED = "no offset"


def number_or_unknown(number: int | None) -> str:
    """Write a number, or ``unknown``."""
    return "unknown" if number is None else f"{number:,}"


def moment(time: datetime) -> str:
    """Write a time in UTC, to the second."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def seconds(number: float) -> str:
    """Write a duration in seconds, with fractions below 10."""
    return f"{number:.2f} s" if number < 10 else f"{number:,.0f} s"


def position(offset: str | None, number: int | None) -> str:
    """Write the position of an offset if it has one, else the stored offset (canonical JSON)."""
    if number is None:
        return offset or NOTHING_STORED
    return f"{number:,}"


def uris(datasets: Mapping[str, str]) -> dict[str, str]:
    """Return URIs without secrets, by name."""
    return {name: mask_text(uri) for name, uri in datasets.items()}


def request(request: Request, *, name: str = "") -> str:
    """Write the request as a sentence; ``name``: what the connector is called in it, if not by its name."""
    return mask_text(f"{_target(request, name or f'`{request.connector}`')}, {_selection(request)}.")


def _target(request: Request, name: str) -> str:
    amount = request.amount or 0
    since = "" if request.moment is None else moment(request.moment)
    return {
        To.EARLIEST: f"Resume {name} at the first record that is still in each log",
        To.LATEST: f"Resume {name} at the end of each log",
        To.CURRENT: f"Leave {name} at its position",
        To.CLEAR: f"Remove the stored offsets of {name}",
        To.DATETIME: f"Resume {name} at the first record from {since} or later",
        To.DURATION: f"Resume {name} at the first record from {since} or later ({request.value} back)",
        To.SHIFT: f"Move {name} {quantify(abs(amount), 'offset')} {'back' if amount < 0 else 'forward'}",
        To.OFFSET: f"Resume {name} at position {request.value if request.amount is None else f'{amount:,}'}",
        To.SKIP: f"Skip the next {'record' if amount == 1 else f'{amount:,} offsets'} of {name}",
        To.FILE: f"Set the offsets of {name} to those in {request.reference}",
        To.QUERY: f"Set the offsets of {name} to those that the query returns: {request.value_shown}",
        To.CONNECTOR: f"Set the offsets of {name} to those of {request.noun} `{request.reference}`",
    }[request.to]


def _selection(request: Request) -> str:
    if request.topics is None and request.partitions is None:
        return "in all its partitions"
    topics = "all topics" if request.topics is None else f"topics that match `{request.topics}`"
    if request.partitions is None:
        return f"in {topics}"
    text = str(request.partitions)
    return f"in {'partition' if text.isdigit() else 'partitions'} {text} of {topics}"
