"""Regular expressions for whole names: patterns in requests, and Java's patterns in connectors' configurations.

Python matches them here; Java matches them in Spark and Kafka Connect. A pattern that Java and Python read differently
is refused, and so is a pattern that takes too long: someone could keep a worker busy for ever with ``(a|a)+b``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest, UnreadablePattern

if TYPE_CHECKING:
    import regex

# Parts that are looked at separately: escaped characters, and classes. A bracket that closes at once is in the class.
_PLAIN = re.compile(r"\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
# Only within a class: Java's unions and intersections (java.util.regex.Pattern), and Python's characters by number.
_ESCAPED, _ONLY_IN_CLASS = re.compile(r"\\\D", re.DOTALL), re.compile(r"\[|&&|\\\d")
# Braces that repeat nothing, which only Python reads as characters; Python's names, conditions, comments and flags.
_ONLY_PYTHON = re.compile(r"\{(?!\d+(?:,\d*)?\})|\(\?(?:[P#(]|[a-z]*[aL])")
# OverflowError is raised for repetitions beyond 2^32, RecursionError for groups nested hundreds deep.
_REFUSALS = (re.error, OverflowError, RecursionError)
#: Why a pattern may match no group: brokers list only those that the user may describe (Java class ``KafkaApis``).
TO_FIND_GROUPS = "To find one where Kafka has ACLs, the user needs an ACL that allows Describe on the consumer group."
# Seconds for one name; ordinary patterns take microseconds.
_LONGEST = 1.0


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A pattern for whole names, whose matching has a time limit.

    Attributes:
        pattern: The regular expression.
        whose: Names it in errors, like ``topics``.
        refusal: What :meth:`matches` raises if matching takes too long.
    """

    pattern: str
    whose: str
    refusal: type[InvalidInput] = InvalidRequest

    def matches(self, name: str) -> bool:
        """Whether it matches the whole name; raises ``refusal`` after a second, in which other threads go on."""
        try:
            return _compile(self.pattern).fullmatch(name, timeout=_LONGEST, concurrent=True) is not None
        except (TimeoutError, MemoryError) as error:
            raise self.refusal(
                f"{self.whose}: {self.pattern!r} can't be matched with {name!r} within {_LONGEST:g} s, so it is "
                "unknown what it selects. Nothing was changed. Write the pattern without nested repetitions like (a+)+."
            ) from error


def typed_pattern(text: str, *, param: str) -> NamePattern:
    """Check a pattern that someone typed as ``param``; raises :class:`InvalidRequest`."""
    try:
        _check(text)
    except _REFUSALS as error:
        raise InvalidRequest(
            f"{param}: {text!r} is not a regular expression: {error}. Use only syntax that Python and Java both know."
        ) from error
    return NamePattern(text, param)


def selection(text: str | None, *, param: str) -> str | None:
    """Return a pattern that someone typed as ``param``; None if it is empty, which selects all.

    Raises:
        InvalidRequest: It isn't a regular expression.
    """
    return typed_pattern(text or "", param=param).pattern.strip() or None


def matches_topic(pattern: str | None, topic: str) -> bool:
    """Whether ``topics``, as :func:`selection` has returned it, selects a topic; raises :class:`InvalidRequest`."""
    return pattern is None or NamePattern(pattern, "topics").matches(topic)


def configured_pattern(text: str, *, connector: str) -> NamePattern:
    """Check the Java pattern by which ``connector`` is configured to select topics.

    Raises:
        UnreadablePattern: Python does not know it, or reads it in another way.
    """
    try:
        _check(text)
    except _REFUSALS as error:
        raise UnreadablePattern(
            f"{connector!r} is configured to choose topics by {text!r}. Java can match this pattern, but Python can't "
            f"({error}), so it is unknown which topics the connector reads. Nothing was changed. Write the pattern in "
            "syntax that both know, like [A-Za-z] instead of \\p{Alpha}."
        ) from error
    return NamePattern(text, f"the topics of {connector!r}", UnreadablePattern)


def _check(text: str) -> None:
    """Raise one of ``_REFUSALS`` if Python's stricter engine refuses a pattern, or Java reads it differently."""
    for plain in _PLAIN.findall(text):
        if plain.startswith("[") and (found := _ONLY_IN_CLASS.search(_ESCAPED.sub("_", plain), 1)):
            raise re.error(f"Java reads {found.group()!r} differently in a character class")
    re.compile(text)
    if (found := _ONLY_PYTHON.search(_PLAIN.sub("_", text))) is not None:
        raise re.error(f"Java does not know {found.group()!r}")


@cache
def _compile(text: str) -> regex.Pattern[str]:
    """Compile a pattern for the engine with a time limit; :func:`_check` passes only what both engines read alike."""
    # Spark's own Python, which reads requests and matches nothing by this, need not have it.
    import regex  # noqa: PLC0415

    return regex.compile(text, regex.VERSION0)
