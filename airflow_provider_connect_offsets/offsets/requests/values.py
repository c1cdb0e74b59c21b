"""Values of forms, templates and connections, which are often texts: flags, counts, shares and durations."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.offsets.families import MAX_LONG

#: Largest count that still fits a ``long`` in thousandths, as seconds in milliseconds do.
MAX_COUNT = 10**15 - 1


def is_true(value: object) -> bool:
    """Parse a flag; None and an empty text are false. Raises :class:`InvalidInput` for anything but true and false."""
    text = str(value).strip().lower()
    if text not in {"true", "false", "none", ""}:
        raise InvalidInput(f"{value!r} is neither true nor false.")
    return text == "true"


def count(value: object, *, param: str, most: int = MAX_LONG) -> int:
    """Parse a whole number from 0 to ``most``; raises :class:`InvalidRequest`, which names ``param``."""
    text = str(value).strip()
    if not re.fullmatch(r"\d{1,19}", text, re.ASCII) or int(text) > most:
        raise InvalidRequest(f"{param}: {value!r} is not a whole number, 0 or greater.")
    return int(text)


def optional_count(value: object, *, param: str, most: int = MAX_LONG) -> int | None:
    """Parse a whole number as :func:`count` does; None for None and for an empty text."""
    return None if value is None or not str(value).strip() else count(value, param=param, most=most)


def share(value: object, *, param: str) -> float:
    """Parse a number from 0 to 1; raises :class:`InvalidRequest`, which names ``param``."""
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise InvalidRequest(f"{param}: {value!r} is not a share from 0 to 1.")
    return number


def ago(duration: str, *, now: datetime) -> datetime:
    """Return the moment (UTC) that is an ISO 8601 duration like ``PT2H`` before ``now``.

    Raises:
        ValueError: The text is no such duration, or the moment lies before the year 1.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - Spark imports requests too, and does not need pydantic for them

    if not duration.startswith("P"):
        raise ValueError("an ISO 8601 duration starts with P")
    try:
        return (now - TypeAdapter(timedelta).validate_python(duration)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{duration} ago lies before the year 1") from error
