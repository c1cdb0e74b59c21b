"""Whether a sink's converters can convert a record, decided from its bytes; and whether a task failed on one record.

A record is said not to convert only if that is certain. What only Java can decide is ``UNKNOWN``: readers of this
module then let the connector itself decide.

Sources: ``JsonConverter.toConnectData``, ``JsonDeserializer``, ``StringConverter``, ``ByteArrayConverter``,
``RetryWithToleranceOperator.execAndHandleError`` of Kafka 4.3; Jackson's ``ObjectMapper.readTree``, which reads the
first value and ignores what follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_PACKAGE = "org.apache.kafka.connect."
_JSON = f"{_PACKAGE}json.JsonConverter"
#: Converters that take any bytes: Java replaces malformed characters.
_NEVER_FAIL = frozenset({f"{_PACKAGE}storage.StringConverter", f"{_PACKAGE}converters.ByteArrayConverter"})

# Message of the error in which Connect wraps an error of a converter, of a transformation, or of a record that the
# sink itself reported. A sink system that is down ends a task with another error.
_OF_ONE_RECORD = "Tolerance exceeded in error handler"
_BY_JSON = "JsonConverter.toConnectData("

# JsonConverter allows leading zeros, which Python's parser does not.
_LEADING_ZERO = re.compile(r"(?<![\w.])-?0[0-9]")
# Jackson's limits are 1000 characters of a number and 1000 levels; below these, neither parser has a limit.
_LONGEST_NUMBER, _DEEPEST = 300, 500


class Converts(StrEnum):
    """Whether a key or value converts."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Converter:
    """The converter of keys or of values.

    Attributes:
        class_name: Its class; empty: the worker's default, which Connect's REST API does not show.
        envelope: Whether a JSON converter expects ``{"schema": …, "payload": …}``; None: unknown.
    """

    class_name: str = ""
    envelope: bool | None = True

    @classmethod
    def of(cls, config: Mapping[str, str], side: str) -> Converter:
        """Read the converter of ``side`` (``key`` or ``value``) from a connector's configuration."""
        name = f"{side}.converter"
        enabled = config.get(f"{name}.schemas.enable", "true").strip().lower()
        envelope = {"true": True, "false": False}.get(enabled)
        if config.get(f"{name}.schema.content"):  # the payload alone is JSON then (KIP-1054)
            envelope = None
        return cls(config.get(name, "").strip(), envelope)

    def converts(self, raw: bytes | None) -> Converts:
        """Return whether a key or value converts; None, a tombstone's value, converts with any converter."""
        if raw is None or self.class_name in _NEVER_FAIL:
            return Converts.YES
        if self.class_name != _JSON or self.envelope is None:
            return Converts.UNKNOWN
        return _json_converts(raw, envelope=self.envelope)


@dataclass(frozen=True, slots=True)
class Converters:
    """The converters of keys and values of a sink."""

    key: Converter
    value: Converter

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Converters:
        """Read them from a connector's configuration."""
        return cls(Converter.of(config, "key"), Converter.of(config, "value"))

    def unconvertible_part(self, key: bytes | None, value: bytes | None) -> tuple[str, bool]:
        """Return which part of a record does not convert.

        Returns:
            ``key``, ``value``, or empty if no part is known not to convert; and whether all of that is certain.
        """
        answers = {"key": self.key.converts(key), "value": self.value.converts(value)}
        part = next((name for name, answer in answers.items() if answer is Converts.NO), "")
        return part, bool(part) or Converts.UNKNOWN not in answers.values()


def is_of_one_record(trace: str | None) -> bool:
    """Whether a task failed on one record: in a converter, a transformation, or as the sink itself reported it.

    ``trace``: the stack trace of the failed task. Anything else, such as a sink system that is down, is no failure of a
    record, or can't be distinguished from one.
    """
    return _OF_ONE_RECORD in (trace or "")


def is_of_json(trace: str | None) -> bool:
    """Whether a JSON converter raised the error of a failed task."""
    return is_of_one_record(trace) and _BY_JSON in (trace or "")


class _OnlyJavaKnowsError(Exception):
    """Raised where Python's parser and Jackson may differ."""


def _json_converts(raw: bytes, *, envelope: bool) -> Converts:
    text = raw.decode("utf-8", errors="replace")
    start = text.lstrip(" \t\r\n")
    if not start or raw[:3] == b"\xef\xbb\xbf" or 0 in raw[:4] or _is_deep(raw):
        return Converts.UNKNOWN  # empty, or perhaps in another encoding, which Jackson detects
    try:
        value, end = _DECODER.raw_decode(start)
    except (_OnlyJavaKnowsError, RecursionError):
        return Converts.UNKNOWN
    except ValueError:
        return Converts.UNKNOWN if _LEADING_ZERO.search(text) else Converts.NO
    if start[end:].strip(" \t\r\n") or "\ufffd" in text:
        return Converts.UNKNOWN
    return _in_envelope(value) if envelope else Converts.YES


def _in_envelope(value: Any) -> Converts:
    if not isinstance(value, dict) or set(value) != {"schema", "payload"}:
        return Converts.NO
    return Converts.YES if value["schema"] is None else Converts.UNKNOWN  # Java decides whether schema and payload fit


def _is_deep(raw: bytes) -> bool:
    """Whether a value may have more levels than parsers allow: a cheap check, which is true too often."""
    return raw.count(b"[") + raw.count(b"{") > _DEEPEST


def _number(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise _OnlyJavaKnowsError
    return 0


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


_DECODER = json.JSONDecoder(parse_int=_number, parse_float=_number, parse_constant=_no_constant)
