"""Offset documents: reading returns what was written, and invalid documents are refused with one sentence."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidDocument
from airflow_provider_connect_offsets.offsets.document import (
    Entry,
    JsonMap,
    Offsets,
    canonical_json,
    flat_map,
    kip199_document,
    parse_kip199,
    parse_map,
    parse_rest,
    parse_text,
)
from airflow_provider_connect_offsets.offsets.document import check_given as given_offsets

# Half a surrogate pair is no text that UTF-8 can hold.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
PRIMITIVES = st.none() | st.booleans() | NUMBERS | TEXTS
MAPS = st.dictionaries(TEXTS, PRIMITIVES, max_size=4)
ENTRIES = st.builds(Entry.of, MAPS, st.none() | MAPS)
OFFSETS = st.builds(Offsets.of, st.lists(ENTRIES, max_size=5))

ORDERS_0 = {"kafka_topic": "orders", "kafka_partition": 0}
AT_5 = Entry('{"kafka_partition":0,"kafka_topic":"orders"}', '{"kafka_offset":5}')


@given(MAPS)
def test_canonical_text_is_read_back(value: JsonMap) -> None:
    """A map has one JSON string, whatever the order of its fields, and reading the string returns the map."""
    assert parse_map(canonical_json(value)) == value
    assert canonical_json(dict(reversed(list(value.items())))) == canonical_json(value)
    assert canonical_json(parse_map(canonical_json(value))) == canonical_json(value)


@given(OFFSETS)
def test_rest_body_is_read_back(offsets: Offsets) -> None:
    """A body for Connect is read as one from Connect."""
    sent = json.dumps(offsets.as_json())

    assert parse_rest(json.loads(sent)) == offsets
    assert parse_text(sent, ["any", "other"]) == {"any": offsets, "other": offsets}


@given(st.dictionaries(TEXTS, OFFSETS, max_size=3))
def test_kip199_document_is_read_back(offsets: dict[str, Offsets]) -> None:
    """An export can be imported; its entries are sorted so that two exports can be compared."""
    exported = kip199_document(offsets)

    read = parse_kip199(json.loads(exported))

    assert {name: sorted(entries, key=str) for name, entries in read.items()} == {
        name: sorted(entries, key=str) for name, entries in offsets.items()
    }
    assert kip199_document(dict(reversed(list(read.items())))) == exported


def test_kip199_document_has_an_entry_a_line() -> None:
    """Two exports differ in the lines of the entries that differ."""
    assert kip199_document({"b": Offsets.of([AT_5]), "a": Offsets()}) == (
        '{\n  "a": [\n  ],\n  "b": [\n'
        '    {"partition": {"kafka_partition":0,"kafka_topic":"orders"}, "offset": {"kafka_offset":5}}\n  ]\n}\n'
    )


def test_an_offset_may_be_null_or_left_out() -> None:
    """For Connect both mean that none is stored."""
    body = {"offsets": [{"partition": ORDERS_0, "offset": None}, {"partition": ORDERS_0}]}

    assert [entry.offset for entry in parse_rest(body)] == [None, None]


def test_of_duplicates_the_last_counts() -> None:
    """Connect does the same; a final null removes the offset."""
    earlier, later = Entry(AT_5.partition, '{"kafka_offset":1}'), Entry(AT_5.partition, None)

    assert Offsets.of([earlier, AT_5]).by_partition() == {AT_5.partition: '{"kafka_offset":5}'}
    assert Offsets.of([AT_5, later]).by_partition() == {}
    assert len(Offsets.of([earlier, AT_5])) == 2


def test_updated_changes_only_what_is_listed() -> None:
    """Listed partitions are replaced, null removes, the rest stays."""
    stored = Offsets.of([Entry("a", "1"), Entry("b", "2"), Entry("c", "3")])

    after = stored.with_changes(Offsets.of([Entry("b", "9"), Entry("c", None), Entry("d", "4"), Entry("e", None)]))

    assert list(after) == [Entry("a", "1"), Entry("b", "9"), Entry("d", "4")]


def test_only_says_of_each_partition_what_is_stored() -> None:
    """A partition without a stored offset has offset None."""
    stored = Offsets.of([Entry("a", "1"), Entry("b", "2")])

    assert list(stored.select(["c", "a", "c"])) == [Entry("a", "1"), Entry("c", None)]


def test_a_connector_may_be_called_offsets() -> None:
    """Then the connector's name decides which of the two documents it is."""
    document = kip199_document({"offsets": Offsets.of([AT_5])})

    assert parse_text(document, ["offsets"]) == {"offsets": Offsets.of([AT_5])}
    assert parse_text(document, ["offsets", "other"]) == dict.fromkeys(("offsets", "other"), Offsets.of([AT_5]))


def test_many_connectors_of_one_document() -> None:
    """Those that it lacks are left out; if it lacks all of them, it is the wrong file."""
    document = kip199_document({"a": Offsets.of([AT_5]), "b": Offsets()})

    assert parse_text(document, ["b", "a", "c"]) == {"a": Offsets.of([AT_5]), "b": Offsets()}
    with pytest.raises(InvalidDocument, match=r"no offsets of any of these connectors \(its connectors: 'a', 'b'\)"):
        parse_text(document, ["c", "d"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the file is empty"),
        (" \n\t", "the file is empty"),
        ('{"offsets": [{"part', "the file is not valid JSON, or was cut off: Unterminated string"),
        ("offsets", "the file is not valid JSON, or was cut off: Expecting value"),
        ("[" * 100_000, "the file is not valid JSON, or was cut off: maximum recursion depth"),
        ('{"offsets": [{"partition": {"a": NaN}}]}', "NaN is not a JSON number"),
        ('{"offsets": [{"partition": {"a": 1e999}}]}', "which can't be written as JSON"),
        ('{"offsets": [{"partition": {"a": "\\ud800"}}]}', "which can't be written as JSON"),
        ('{"offsets": [{"partition": {"\\udfff": 1}}]}', "which can't be written as JSON"),
        ('{"offsets": [{"partition": {"a": 1, "a": 2}}]}', "field 'a' occurs twice in one object"),
        ('{"sink": [], "sink": []}', "field 'sink' occurs twice in one object"),
        ('{"offsets": [{"partition": {"a": {"b": 1}}}]}', "entry 1: the partition may have only primitive values"),
        (
            '{"offsets": [{"partition": {}, "offset": {"a": [1]}}]}',
            "entry 1: the offset may have only primitive values",
        ),
        ('{"offsets": [{"partition": null}]}', "entry 1: the partition must be a JSON object, not null"),
        ('{"offsets": [{"partition": {}, "offset": 5}]}', "entry 1: the offset must be a JSON object, not 5"),
        ('{"offsets": [{"offset": {}}]}', 'entry 1 must be {"partition"'),
        ('{"offsets": [{"partition": {}, "offsets": {}}]}', 'entry 1 must be {"partition"'),
        ('{"offsets": [7]}', 'entry 1 must be {"partition"'),
        ('{"offsets": {}}', 'an offsets document must look like {"offsets": ['),
        ('{"sink": {}}', 'a KIP-199 document must look like {"<connector>": ['),
        ("[]", 'a KIP-199 document must look like {"<connector>": ['),
        ('{"sink": [{}]}', "connector 'sink', entry 1 must be {"),
        ('{"b": [], "a": []}', "the file has no offsets of connector 'sink' (its connectors: 'a', 'b')"),
        ("{}", "the file has no offsets of connector 'sink' (its connectors: none)"),
    ],
)
def test_what_is_no_document(text: str, sentence: str) -> None:
    """One sentence explains what is wrong with a file."""
    with pytest.raises(InvalidDocument) as caught:
        parse_text(text, ["sink"])

    assert sentence in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "1", '{"a": {}}', '{"a": 1, "a": 2}', '{"a": Infinity}', '{"a":'])
def test_what_is_no_map(text: str) -> None:
    """A partition or offset is a flat object without duplicate fields."""
    with pytest.raises(InvalidDocument):
        parse_map(text)


def test_a_number_too_long_to_read() -> None:
    """Python refuses numbers of thousands of digits; the error is ours."""
    with pytest.raises(InvalidDocument, match="is not valid JSON"):
        parse_map(f'{{"a": {"9" * 5000}}}')


def test_flat_map_names_what_it_read() -> None:
    """The sentence has the caller's name for the value."""
    with pytest.raises(InvalidDocument, match="the header must be a JSON object, not 3"):
        flat_map(3, what="the header")


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
@pytest.mark.parametrize("of", ["partition", "offset"])
def test_a_number_beyond_64_bits_is_refused(number: int, of: str) -> None:
    """It was written and read back as it is, and the worker resumed at another one."""
    entry = {"partition": {"table": "orders"}, "offset": {"incrementing": 1}} | {of: {"id": number}}

    with pytest.raises(InvalidDocument, match=rf"has id={number}, which does not fit into 64 bits"):
        given_offsets(parse_rest({"offsets": [entry]}))


def test_a_byte_order_mark_is_no_damage() -> None:
    """Editors put it in front of UTF-8 text."""
    assert parse_text('\ufeff{"c": []}', ["c"]) == {"c": Offsets()}
