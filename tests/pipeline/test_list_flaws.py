"""Files that are no list of offsets, or have invalid rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.lists import LINES, text
from tests.support.rows.planning import (
    ERROR,
    Found,
    Planner,
    assert_same,
    at_sink,
    read,
    sink,
    source,
)

UNREADABLE_FILES = {
    "empty.json": ("", "the file is empty"),
    "truncated.json": ('{"offsets": [{"partition": {"a": 1}, "off', "the file is not valid JSON, or was cut off: "),
    "nested.json": (
        '{"offsets": [{"partition": {"a": {"b": 1}}, "offset": null}]}',
        "entry 1: the partition may have only primitive values, but its field 'a' is {\"b\": 1}",
    ),
    "other.json": ('{"else": []}', "the file has no offsets of connector 'sink' (its connectors: 'else')"),
    "list.json": ("[1, 2]", "a KIP-199 document must look like "),
    "nothing.json": ('{"offsets": []}', "has no offsets of this connector"),
    "surrogate.json": (
        '{"offsets": [{"partition": {"a": "\\ud800"}, "offset": null}]}',
        "which can't be written as JSON",
    ),
    "infinite.json": ('{"offsets": [{"partition": {"a": 1e999}, "offset": null}]}', "which can't be written as JSON"),
    "empty.csv": ("", "the file is empty"),
    "only_header.csv": ("topic,partition,offset\n", "has no offsets of this connector"),
    "two.csv": ("orders,0\n", "it has no header, and its first row has 2 columns instead of topic,partition,position"),
    "twice.csv": ("topic,topic,offset\n", "its header has a column twice: topic,topic,offset"),
    "strange.csv": (
        "topic,when\norders,now\n",
        "its columns are topic, when. It must have partition and offset (JSON)",
    ),
    "torn.parquet": ("PAR1", "is not a Parquet file"),
    "other_connector.csv": (
        "connector,topic,partition,offset\nelse,orders,0,1\n",
        "has no offsets of this connector",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE_FILES)
def test_unreadable_files(planner: Planner, tmp_path: Path, name: str) -> None:
    """A file that can't be used ends in one sentence that names it, and in an empty plan."""
    content, problem = UNREADABLE_FILES[name]
    uri = text(tmp_path / name, content)

    plan = planner.plan(sink({("orders", 0): 40}), to="file", value=uri)

    [found] = plan.verdicts
    assert (found.rule, found.severity, plan.rows) == (Rule.UNREADABLE, ERROR, [])
    assert found.message.startswith(f"`sink`: the file {uri} ")
    assert problem in found.message
    assert "\n" not in found.message
    assert len(found.message) < 400 + len(uri)


@pytest.mark.parametrize("uri", ["/nowhere/o.json", "/nowhere/o.csv", "/nowhere/offsets", "nosuch://x/o.json"])
def test_files_that_are_not_there(planner: Planner, uri: str) -> None:
    """A missing file, or a file system that Spark doesn't know, is a verdict too."""
    [found] = planner.plan(sink(), to="file", value=uri).verdicts

    assert (found.rule, found.severity) == (Rule.UNREADABLE, ERROR)
    assert found.message.startswith(f"`sink`: the file {uri} can't be read: ")
    assert not re.search(r"SQLSTATE|Exception|\[[A-Z_]+\]", found.message)


def test_positions_for_a_family_that_has_none(planner: Planner, tmp_path: Path) -> None:
    """Positions of topics mean nothing to a connector that reads no topic."""
    uri = text(tmp_path / "o.csv", "orders,0,5\n")

    [found] = planner.plan(source(LINES, file="/in"), logs={}, to="file", value=uri).verdicts

    assert found.message == (
        f"`source`: the file {uri} can't be used: it lists positions in topics, which this connector does "
        "not have: its offsets count bytes of a file, not records of a Kafka log. List partition and offset as JSON "
        "instead."
    )


def test_broken_entries(planner: Planner, tmp_path: Path) -> None:
    """Rows that are no offsets are errors, one by one; a row that was cut off doesn't pass for a removal."""
    rows = ["orders,0,5", "orders,x,5", "orders,1,1e3", "orders,1,-5", ",1,5", "orders,1", "orders,1,5,9"]
    uri = text(tmp_path / "o.csv", "\n".join(rows) + f"\norders,1,{10**30}")

    plan = planner.plan(sink(), to="file", value=uri)

    assert [(row.partition, row.after) for row in plan.rows] == [(at_sink(0), read(5))]
    assert_same(
        plan.of(Rule.UNREADABLE),
        [
            Found(Rule.UNREADABLE, ERROR, None, f"`sink`, an entry of the list: {problem}.")
            for problem in (
                'the row ["orders", "x", "5"] has no topic, or its partition is not a whole number, 0 or greater',
                'the row [null, "1", "5"] has no topic, or its partition is not a whole number, 0 or greater',
                'the position of the row ["orders", "1", "1e3"] is not a whole number, 0 or greater',
                'the position of the row ["orders", "1", "-5"] is not a whole number, 0 or greater',
                f'the position of the row ["orders", "1", "{10**30}"] is not a whole number, 0 or greater',
                "the row orders,1 has too few or too many columns",
                "the row orders,1,5,9 has too few or too many columns",
            )
        ],
    )


def test_broken_json_columns(planner: Planner, tmp_path: Path) -> None:
    """Each row whose JSON columns can't be read gets a verdict of its own."""
    cells = ['"{""a"":', '"[1]"', '"{""a"": {}}"', '"{""a"":1,""a"":2}"']
    uri = text(tmp_path / "o.csv", "partition,offset\n" + "\n".join(f"{cell},{cells[1]}" for cell in cells[1:]) + "\n")

    plan = planner.plan(source("com.example.Tide"), logs={}, to="file", value=uri)

    assert plan.rows == []
    assert plan.rules == {"unreadable"}
    assert len(plan.verdicts) == 3
