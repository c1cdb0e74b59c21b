"""Regular expressions that people type, and those of connectors' configurations, which are Java's.

Python matches them here; Java matches them in Spark and Kafka Connect. A pattern that one of them reads in another way
is refused.
"""

from __future__ import annotations

import re

from airflow_provider_connect_offsets.exceptions import InvalidRequest, UnreadablePattern

# Union and intersection of classes (java.util.regex.Pattern), which Python reads as characters.
_CLASS_IN_CLASS = re.compile(r"(?<!\\)\[(?:[^\]\\]|\\.)*?(?:\[|&&)")
# OverflowError is raised for repetitions beyond 2^32, RecursionError for groups nested hundreds deep.
_REFUSALS = (re.error, OverflowError, RecursionError)


def typed_pattern(text: str, *, param: str) -> re.Pattern[str]:
    """Compile a pattern that someone typed as ``param``; raises :class:`InvalidRequest`."""
    try:
        return re.compile(text)
    except _REFUSALS as error:
        raise InvalidRequest(
            f"{param}: {text!r} is no regular expression: {error}. Write it with what Python and Java both know."
        ) from error


def selection(text: str | None, *, param: str) -> str | None:
    """Return a pattern that someone typed as ``param``; None if it is empty, which selects all.

    Raises:
        InvalidRequest: It is no regular expression.
    """
    return typed_pattern(text or "", param=param).pattern.strip() or None


def configured_pattern(text: str, *, connector: str) -> re.Pattern[str]:
    """Compile the Java pattern by which ``connector`` is configured to select topics.

    Raises:
        UnreadablePattern: Python does not know it, or reads it in another way.
    """
    try:
        if _CLASS_IN_CLASS.search(text):
            raise re.error("a class within a class")
        return re.compile(text)
    except _REFUSALS as error:
        raise UnreadablePattern(
            f"{connector!r} is configured to choose topics by {text!r}, which Java can match, but Python can't "
            f"({error}), so the topics that it reads are unknown. Nothing was changed. Write the pattern with what "
            "both know, like [A-Za-z] in place of \\p{Alpha}."
        ) from error
