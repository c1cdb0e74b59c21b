"""Keys and values have the bytes that workers write, because workers look up keys by their bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, canonical_json
from airflow_provider_connect_offsets.offsets.storage import (
    StoredKey,
    StoredOffsets,
    java_hash,
    key_bytes,
    parse_key,
    parse_value,
    value_bytes,
)
from tests.support.rows.json_maps import MAPS, TEXTS


@pytest.mark.parametrize(
    ("connector", "partition", "expected"),
    [
        (
            "MirrorSourceConnector",
            {"topic": "test-topic-1", "partition": 0, "cluster": "primary"},
            '["MirrorSourceConnector",{"cluster":"primary","partition":0,"topic":"test-topic-1"}]',
        ),
        (
            "checkpoint",
            {"group": "g", "partition": 1, "topic": "t"},
            '["checkpoint",{"partition":1,"topic":"t","group":"g"}]',
        ),
        (
            "heartbeat",
            {"targetClusterAlias": "b", "sourceClusterAlias": "a"},
            '["heartbeat",{"sourceClusterAlias":"a","targetClusterAlias":"b"}]',
        ),
        (
            "größe",
            {"filename": 'a"b\\c\x1f\u2028/é😀'},
            '["größe",{"filename":"a\\"b\\\\c\\u001F\u2028/é\\uD83D\\uDE00"}]',
        ),
    ],
    ids=["source", "checkpoint", "heartbeat", "characters"],
)
def test_a_new_key_is_what_a_worker_would_write(connector: str, partition: dict[str, str | int], expected: str) -> None:
    """Its fields are in the order of a HashMap, without spaces, and only what Jackson escapes is escaped."""
    assert key_bytes(connector, partition).decode() == expected


@pytest.mark.parametrize(("text", "expected"), [("", 0), ("topic", 110546223), ("cluster", 872092154), ("😀", 1772899)])
def test_java_hash(text: str, expected: int) -> None:
    """It equals ``String.hashCode``, over UTF-16."""
    assert java_hash(text) == expected


@given(TEXTS, MAPS)
def test_keys_and_values_can_be_read_again(connector: str, fields: dict[str, str | int]) -> None:
    """They may have any names and values."""
    assert parse_key(key_bytes(connector, fields)) == StoredKey(connector, canonical_json(fields))
    assert parse_value(value_bytes(fields)) == canonical_json(fields)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"\xff",
        b"[",
        b"{}",
        b'["a"]',
        b'["a",{},1]',
        b"[1,{}]",
        b'["a",[]]',
        b'["a",{"b":{}}]',
        b'["a",{"b":1,"b":2}]',
    ],
)
def test_keys_of_another_shape_are_passed_over(raw: bytes | None) -> None:
    """Connect ignores them, too."""
    assert parse_key(raw) is None


def test_tombstones_hold_nothing() -> None:
    """A missing value, an empty value and a JSON null all mean "no offset"."""
    assert parse_value(None) is None
    assert [parse_value(raw) for raw in (b"", b"null", b" null\n")] == [None] * 3


@pytest.mark.parametrize("raw", [b"\xff", b"[]", b"1", b'{"a":{}}', b"{", b'{"a":9223372036854775808}'])
def test_a_value_that_is_none_is_refused(raw: bytes) -> None:
    """It is not taken for a tombstone."""
    with pytest.raises(InvalidDocument):
        parse_value(raw)


def test_the_order_of_many_fields() -> None:
    """The table grows as Java's does, and every field occurs once."""
    fields = {f"field{number}": number for number in range(40)}

    assert json.loads(value_bytes(fields)) == fields


OWN = b'["flow",{"cluster":"c","partition":0,"topic":"t"}]'
SORTED = b'["flow",{"topic":"t","partition":0,"cluster":"c"}]'
PARTITION = canonical_json({"cluster": "c", "partition": 0, "topic": "t"})


def test_what_a_store_contains() -> None:
    """Offsets are listed by connector; tombstones are no offsets, other keys are ignored and counted."""
    stored = StoredOffsets(
        {
            OWN: b'{"offset":7}',
            b'["gone",{"a":1}]': None,
            b'["other",{"a":1}]': b'{"b":2}',
            b"status-x": b"1",
            b'["other",{"a":{}}]': b"{}",
            b'["gone",{"a":1},2]': b"{}",
        }
    )

    assert stored.connectors() == ["flow", "other"]
    assert stored.count_passed_over() == 3
    assert stored.offsets_of("flow").by_partition() == {PARTITION: '{"offset":7}'}
    assert stored.offsets_of("gone") == Offsets()


def test_a_worker_looks_up_the_spelling_that_it_writes() -> None:
    """The order of the records does not matter; a change is written for every spelling."""
    for pairs in ({OWN: b'{"offset":7}', SORTED: b'{"offset":9}'}, {SORTED: b'{"offset":9}', OWN: b'{"offset":7}'}):
        stored = StoredOffsets(pairs)
        assert stored.offsets_of("flow").by_partition() == {PARTITION: '{"offset":7}'}
        changes = Offsets.of([Entry(PARTITION, '{"offset":1}')])
        assert stored.records_for("flow", changes) == {OWN: b'{"offset":1}', SORTED: b'{"offset":1}'}


def test_raw_keys_are_used_again() -> None:
    """A connector that orders its maps differently would never find a new key."""
    stored = StoredOffsets({SORTED: b'{"offset":9}'})
    new = canonical_json({"cluster": "c", "partition": 1, "topic": "t"})
    changes = Offsets.of([Entry(PARTITION, None), Entry(new, '{"offset":3}')])

    assert stored.records_for("flow", changes) == {
        SORTED: None,
        b'["flow",{"cluster":"c","partition":1,"topic":"t"}]': b'{"offset":3}',
    }
