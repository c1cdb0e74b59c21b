"""Values of forms, templates and connections, which are often strings: flags, counts, shares and durations."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.offsets.families import MAX_LONG
from airflow_provider_connect_offsets.offsets.requests.patterns import selection

#: Largest count. It still fits into a ``long`` when multiplied by 1000, as seconds are for milliseconds.
MAX_COUNT = 10**15 - 1


def is_true(value: object) -> bool:
    """Parse a flag; None and an empty string are false. Raises :class:`InvalidInput` for all but true and false."""
    text = str(value).strip().lower()
    if text not in {"true", "false", "none", ""}:
        raise InvalidInput(f"{value!r} is neither true nor false.")
    return text == "true"


def count(value: object, *, param: str, least: int = 0, most: int = MAX_LONG) -> int:
    """Parse a whole number from ``least`` to ``most``; raises :class:`InvalidRequest`, which names ``param``."""
    text = str(value).strip()
    if not re.fullmatch(r"\d{1,19}", text, re.ASCII) or not least <= int(text) <= most:
        raise InvalidRequest(f"{param}: {value!r} is not a whole number from {least} to {most}.")
    return int(text)


def optional_count(value: object, *, param: str, most: int = MAX_LONG) -> int | None:
    """Parse a whole number as :func:`count` does; None for None and for an empty string."""
    return None if value is None or not str(value).strip() else count(value, param=param, most=most)


def share(value: object, *, param: str) -> float:
    """Parse a number from 0 to 1; raises :class:`InvalidRequest`, which names ``param``."""
    try:
        number = float(str(value))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise InvalidRequest(f"{param}: {value!r} is not a number from 0 to 1.")
    return number


def ago(duration: str, *, now: datetime) -> datetime:
    """Return the moment (UTC) that is an ISO 8601 duration like ``PT2H`` before ``now``.

    Raises:
        ValueError: The string isn't such a duration, or the moment lies before the year 1.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - Spark imports requests too, and does not need pydantic for them

    if not duration.startswith("P"):
        raise ValueError("an ISO 8601 duration starts with P")
    try:
        return (now - TypeAdapter(timedelta).validate_python(duration)).astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{duration} ago is before the year 1") from error


def _text(value: object, _param: str) -> str:
    return "" if value is None else str(value)


def _flag(value: object, param: str) -> bool:
    try:
        return is_true(value)
    except InvalidInput as error:
        raise InvalidRequest(f"{param}: {error}") from error


def _configured(value: object, _param: str) -> str:
    return "" if value in (None, CONFIGURED) else str(value)


def _pattern(value: object, param: str) -> str | None:
    return selection(None if value is None else str(value), param=param)


def _pattern_or_all(value: object, param: str) -> str:
    return _pattern(value, param) or ALL


def _pattern_or_empty(value: object, param: str) -> str:
    return _pattern(value, param) or ""


def _name(value: object, param: str) -> str:
    if not (text := _text(value, param).strip()):
        raise InvalidRequest(f"{param}: {value!r} names no connector.")
    return text


def _optional_name(value: object, param: str) -> str:
    return _text(value, param).strip()


#: A string; None, which the form gives for an empty field, becomes the empty string.
Text = Annotated[str, _text]
#: True or false, or a string with either, as templates give it; None and the empty string are false.
Flag = Annotated[bool, _flag]
#: The choice to take what a connector's configuration says; as a value it is the empty string.
CONFIGURED = "configured"
Configured = Annotated[str, _configured]
#: Marks the URI of something that is read, which has to be readable (``offsets.requests.guards``).
URI = "uri"
Uri = Annotated[str, _text, URI]
#: The pattern that matches every name.
ALL = ".*"
#: A regular expression for whole names. If it is empty, it selects nothing or everything, as the parameter says: None.
Pattern = Annotated[str | None, _pattern]
#: The name of a connector, which must be given, and one that may be left empty; without the spaces around it.
Name = Annotated[str, _name]
OptionalName = Annotated[str, _optional_name]
#: A regular expression for whole names; if it is empty, all names.
PatternOrAll = Annotated[str, _pattern_or_all]
#: A regular expression for whole names; if it is empty, it stays empty and means all names.
PatternOrEmpty = Annotated[str, _pattern_or_empty]
