"""Regular expressions: those that people type, and those of connectors' configurations, which are Java's.

Here Python matches, in Spark and in Kafka Connect Java does. What one of them reads in another way is never guessed at.
"""

from __future__ import annotations

import re

from airflow_provider_connect_offsets.exceptions import InvalidRequest, UnreadablePattern

# Union and intersection of classes (java.util.regex.Pattern), which Python takes for characters.
_CLASS_IN_CLASS = re.compile(r"(?<!\\)\[(?:[^\]\\]|\\.)*?(?:\[|&&)")
# The second is raised for repetitions beyond 2^32, the third for groups within hundreds of groups.
_REFUSALS = (re.error, OverflowError, RecursionError)


def typed_pattern(text: str, *, param: str) -> re.Pattern[str]:
    """Compile what someone typed as ``param``; raises :class:`InvalidRequest`."""
    try:
        return re.compile(text)
    except _REFUSALS as error:
        raise InvalidRequest(
            f"{param}: {text!r} is no regular expression: {error}. Write it with what Python and Java both know."
        ) from error


def configured_pattern(text: str, *, connector: str) -> re.Pattern[str]:
    """Compile a Java pattern by which ``connector`` is configured to choose topics.

    Raises :class:`UnreadablePattern` where Python doesn't know it, or reads it in another way.
    """
    try:
        if _CLASS_IN_CLASS.search(text):
            raise re.error("a class within a class")
        return re.compile(text)
    except _REFUSALS as error:
        raise UnreadablePattern(
            f"{connector!r} is configured to choose topics by {text!r}, which Java can match, but Python can't "
            f"({error}): so nobody can tell here which topics it reads. Nothing was changed. Write it with what both "
            "know, like [A-Za-z] in place of \\p{Alpha}."
        ) from error
