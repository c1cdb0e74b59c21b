"""Frozen dataclasses as JSON and back, by the types of their fields; standard library only, so Spark jobs can use it.

Import path: ``airflow_provider_connect_offsets.offsets.json_codec``. Derive a dataclass from :class:`JsonRecord`::

    @dataclass(frozen=True, slots=True)
    class Outcome(JsonRecord):
        result: Result                    # an enum: its value
        started_at: datetime              # ISO 8601 string
        offsets: tuple[MovedOffset, ...]  # a list of objects

    Outcome.from_json(outcome.as_json()) == outcome

A class with another representation defines ``as_json`` and ``from_json`` itself, as :class:`Offsets` does; the codec
calls them also where the class is the type of a field. :func:`encode` and :func:`decode` serve any other value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import UnionType
from typing import Any, Self, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


class JsonRecord:
    """Base of dataclasses that are written as a JSON object with a key for each field."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """Return the fields as values that ``json.dumps`` writes; :meth:`from_json` reads them."""
        return _encode_fields(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Read what :meth:`as_json` returned, by this version or another one.

        Args:
            value: The parsed JSON object. A missing key gives the field's default; unknown keys are ignored.

        Raises:
            TypeError: A key without default is missing, or a value does not have its field's type.
            ValueError: A string isn't a member of the field's enum, or isn't an ISO 8601 time.
        """
        return cast("Self", _decode_fields(cls, value))


def encode(value: object) -> Any:  # noqa: PLR0911 - one for each kind of value
    """Convert a value to what ``json.dumps`` writes.

    Args:
        value: A dataclass (an object of its fields), an enum (its value), a ``datetime`` (ISO 8601), a mapping with
            text keys, a tuple or list, text, a number, a bool, None, or an object with a method ``as_json``; nested as
            deep as needed.

    Raises:
        TypeError: The value, or one inside it, has another type.
    """
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {_text_key(key): encode(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [encode(item) for item in value]
    return _encode_fields(value)


def decode(kind: type[_T], value: object) -> _T:
    """Read a value of type ``kind``, a class or a generic like ``tuple[int, ...]``, from parsed JSON.

    Raises:
        TypeError: ``value`` has another type.
        ValueError: A string isn't a member of an enum, or isn't an ISO 8601 time.
    """
    return cast("_T", _decode(kind, value))


def _encode_fields(value: object) -> dict[str, Any]:
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} can't be written as JSON: {value!r}")
    return {field.name: encode(getattr(value, field.name)) for field in fields(value)}


def _text_key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"the key of a JSON object must be text, not {key!r}")
    return key.value if isinstance(key, Enum) else key


def _decode(kind: Any, value: Any) -> Any:  # noqa: PLR0911 - one for each kind of type
    origin = get_origin(kind) or kind
    if origin in {Any, object}:
        return value
    if origin in {Union, UnionType}:
        return _decode_union(kind, value)
    if hasattr(origin, "from_json"):
        return origin.from_json(value)
    if is_dataclass(origin):
        return _decode_fields(origin, value)
    if issubclass(origin, Enum):
        return origin(value)
    if origin is datetime:
        return datetime.fromisoformat(value)
    if issubclass(origin, Mapping):
        _require(value, Mapping, kind)
        of_key, of_item = get_args(kind) or (str, Any)
        return {_decode(of_key, key): _decode(of_item, item) for key, item in value.items()}
    if origin in {tuple, list, Sequence}:
        return _decode_sequence(kind, value)
    if origin is float and type(value) is int:
        return float(value)
    _require(value, origin, kind)
    return value


def _decode_union(kind: Any, value: Any) -> Any:
    options = get_args(kind)
    if value is None and type(None) in options:
        return None
    errors = []
    # An int is a float too, so a type that fits exactly goes first.
    for option in sorted(options, key=lambda option: option is not type(value)):
        try:
            return _decode(option, value)
        except (TypeError, ValueError) as error:
            errors.append(error)
    raise errors[0]


def _decode_sequence(kind: Any, value: Any) -> Any:
    _require(value, list | tuple, kind)
    kinds = get_args(kind)
    if get_origin(kind) is tuple and kinds[-1] is not ...:
        return tuple(_decode(of_item, item) for of_item, item in zip(kinds, value, strict=True))
    items = [_decode(kinds[0] if kinds else Any, item) for item in value]
    return items if (get_origin(kind) or kind) is list else tuple(items)


def _decode_fields(kind: Any, value: Any) -> Any:
    _require(value, Mapping, kind)
    kinds = _field_types(kind)
    return kind(**{name: _decode(kinds[name], value[name]) for name in kinds if name in value})


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _require(value: object, expected: Any, kind: Any) -> None:
    """Raise :class:`TypeError` unless ``value`` is of a class; a bool does not count as a number."""
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is int):
        raise TypeError(f"expected {getattr(kind, '__name__', kind)}, not {value!r}")
