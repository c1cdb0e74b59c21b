"""The JSON codec: what it writes of a dataclass is what it reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum, StrEnum
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord, decode, encode


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(Enum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True, slots=True)
class Inner:
    number: int
    share: float
    text: str = "default"


@dataclass(frozen=True, slots=True)
class Ranges:
    """A class with a representation of its own."""

    low: int
    high: int

    def as_json(self) -> str:
        return f"{self.low}-{self.high}"

    @classmethod
    def from_json(cls, value: str) -> Self:
        low, high = value.split("-")
        return cls(int(low), int(high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer(JsonRecord):
    inner: Inner
    colour: Colour
    level: Level | None
    at: datetime | None
    flag: bool
    many: tuple[Inner, ...]
    pairs: tuple[tuple[str, str], ...]
    by_name: Mapping[str, Inner]
    by_colour: Mapping[Colour, int]
    primitive: str | int | float | bool | None
    anything: Mapping[str, Any]
    ranges: Ranges | None = None
    offsets: Offsets = field(default_factory=Offsets)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
INNERS = st.builds(Inner, number=st.integers(), share=FLOATS, text=st.text())
PRIMITIVES = st.none() | st.booleans() | st.integers() | FLOATS | st.text()
JSON = st.recursive(PRIMITIVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)
OUTERS = st.builds(
    Outer,
    inner=INNERS,
    at=st.none() | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))])),
    many=st.lists(INNERS, max_size=3).map(tuple),
    pairs=st.lists(st.tuples(st.text(), st.text()), max_size=3).map(tuple),
    by_name=st.dictionaries(st.text(), INNERS, max_size=3),
    by_colour=st.dictionaries(st.sampled_from(Colour), st.integers()),
    primitive=PRIMITIVES,
    anything=st.dictionaries(st.text(), JSON, max_size=3),
    ranges=st.none() | st.builds(Ranges, st.integers(0), st.integers(0)),
    offsets=st.just(Offsets.of([Entry('{"p":1}', '{"o":2}'), Entry('{"p":2}', None)])),
)


@given(value=OUTERS)
def test_a_dataclass_survives_json(value: Outer) -> None:
    """What is read is equal to what was written, with the same types."""
    read = Outer.from_json(json.loads(json.dumps(value.as_json())))

    assert read == value
    assert type(read.primitive) is type(value.primitive)
    assert type(read.colour) is Colour


def test_what_is_written() -> None:
    """Keys are the names of fields, in their order; enums are written as their values and times in ISO 8601."""
    value = Outer(
        inner=Inner(1, 0.5),
        colour=Colour.RED,
        level=Level.HIGH,
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        flag=True,
        many=(Inner(2, 1.0, "x"),),
        pairs=(("a", "b"),),
        by_name={},
        by_colour={Colour.BLUE: 3},
        primitive=None,
        anything={"deep": [1, {"x": None}]},
        ranges=Ranges(0, 3),
        offsets=Offsets.of([Entry('{"p":1}', None)]),
    )

    assert json.dumps(value.as_json()) == (
        '{"inner": {"number": 1, "share": 0.5, "text": "default"}, "colour": "red", "level": 2, '
        '"at": "2026-01-02T03:04:05+00:00", "flag": true, "many": [{"number": 2, "share": 1.0, "text": "x"}], '
        '"pairs": [["a", "b"]], "by_name": {}, "by_colour": {"blue": 3}, "primitive": null, '
        '"anything": {"deep": [1, {"x": null}]}, "ranges": "0-3", '
        '"offsets": {"offsets": [{"partition": {"p": 1}, "offset": null}]}}'
    )


def test_a_missing_key_gives_the_default_and_an_unknown_one_is_ignored() -> None:
    """So that other versions' files can be read."""
    assert decode(Inner, {"number": 1, "share": 2, "later": "x"}) == Inner(1, 2.0)


@pytest.mark.parametrize(
    "value",
    [
        {"number": 1},
        {"number": "1", "share": 0.5},
        {"number": True, "share": 0.5},
        {"number": 1.5, "share": 0.5},
        {"number": 1, "share": "0.5"},
        {"number": 1, "share": 0.5, "text": None},
        [1, 0.5],
        None,
    ],
)
def test_a_value_of_another_type_is_refused(value: object) -> None:
    """Nothing is converted silently, and nothing is taken for a field's value that isn't one."""
    with pytest.raises(TypeError):
        decode(Inner, value)


def test_a_text_that_is_no_member_is_refused() -> None:
    """The errors are those of the enum and the time."""
    with pytest.raises(ValueError, match="green"):
        decode(Colour, "green")
    with pytest.raises(ValueError, match="noon"):
        decode(datetime, "noon")
    with pytest.raises(ValueError, match="shorter"):
        decode(tuple[int, int], [1])


@pytest.mark.parametrize("value", [b"bytes", {1: 2}, {"set"}, object()])
def test_what_json_has_no_form_for_is_refused(value: object) -> None:
    """Rather than written in a form that can't be read back."""
    with pytest.raises(TypeError):
        encode(value)
