"""``to=file`` and ``to=connector``: the plan is what the list contains, in every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.lists import LINES, text, written
from tests.support.rows.planning import (
    ERROR,
    ORDERS,
    Connector,
    Found,
    Log,
    Planner,
    Row,
    assert_same,
    at_mirror,
    at_sink,
    mirror,
    read,
    replicated,
    sink,
    source,
)

FORMATS = {
    "rest.json": '{"offsets": [{"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": '
    '{"kafka_offset": 5}}, {"partition": {"kafka_topic": "orders", "kafka_partition": 1}, "offset": null}]}',
    "kip199.json": '{"other": [], "sink": [{"partition": {"kafka_topic": "orders", "kafka_partition": 0}, "offset": '
    '{"kafka_offset": 5}},\n {"partition": {"kafka_partition": 1, "kafka_topic": "orders"}, "offset": null}]}',
    "plain.csv": "orders,0,5\norders,1,\n",
    "header.csv": "topic,partition,offset\norders,0,5\norders,1,\n",
    "other_header.CSV": "\ufeffConnector, Position, Kafka_Partition, Topic\n"
    "sink,5,0,orders\nsink,,1,orders\nelse,7,0,orders\n",
    "json.csv": 'partition,offset\n"{""kafka_topic"":""orders"",""kafka_partition"":0}","{""kafka_offset"": 5}"\n'
    '"{""kafka_topic"":""orders"",""kafka_partition"":1}",\n',
}


@pytest.mark.parametrize("name", FORMATS)
def test_text_formats(planner: Planner, tmp_path: Path, name: str) -> None:
    """KIP-199, REST and CSV of any shape say the same."""
    stands = sink({("orders", 0): 40, ("orders", 1): 30, ("orders", 2): 20})
    logs = {**ORDERS, ("orders", 2): Log(0, 100)}

    plan = planner.plan(stands, logs=logs, to="file", value=text(tmp_path / name, FORMATS[name]))

    assert_same(
        plan.rows,
        [
            Row(at_sink(0), read(40), read(5), 5, "set", f"to=file {tmp_path / name}: 35 records again"),
            Row(at_sink(1), read(30), None, None, "clear", f"to=file {tmp_path / name}: 30 records again"),
            Row(at_sink(2), read(20), read(20), 20, "keep", "not selected"),
        ],
    )
    assert plan.rules == {"rewind", "clear_effect"}


@pytest.mark.parametrize(
    "columns",
    [
        {"topic": ["orders", "orders"], "kafka_partition": [0, 1], "position": [5, None]},
        {
            "partition": [at_mirror(0), '{"topic": "orders", "cluster": "source", "partition": 1}'],
            "offset": ['{"offset": 4}', "null"],
            "connector": ["flow", "flow"],
        },
        {
            "partition": [at_mirror(0), at_mirror(1)],
            "offset": [replicated(4), None],
            "topic": ["orders", "orders"],
            "kafka_partition": [0, 1],
            "position": [99, 99],
        },
    ],
    ids=["positions", "json", "a snapshot"],
)
def test_parquet(planner: Planner, tmp_path: Path, columns: dict[str, list[Any]]) -> None:
    """Parquet may have positions or JSON; where a snapshot has both, the JSON is what was stored."""
    uri = str(tmp_path / "offsets")
    pq.write_table(pa.table(columns), uri)

    plan = planner.plan(mirror({("orders", 1): 30}), to="file", value=uri)

    assert_same(
        plan.rows,
        [
            Row(at_mirror(0), None, replicated(4), 5, "set", f"to=file {uri}: 5 records never"),
            Row(at_mirror(1), replicated(29), None, None, "clear", f"to=file {uri}: 30 records again"),
        ],
    )


def test_selections_choose_from_the_list(planner: Planner, tmp_path: Path) -> None:
    """``topics`` and ``partitions`` narrow a list down."""
    uri = text(tmp_path / "all.csv", "orders,0,5\norders,1,6\nother,0,7\n")
    logs = {**ORDERS, ("other", 0): Log(0, 9)}

    plan = planner.plan(sink(topics="orders,other"), logs=logs, to="file", value=uri, topics="ord.*", partitions="1")

    assert [(row.partition, row.after) for row in plan.rows] == [(at_sink(1), read(6))]


def test_another_connector(planner: Planner) -> None:
    """A connector's offsets are taken as they are."""
    mine, other = sink({("orders", 0): 40}), sink({("orders", 0): 25, ("orders", 1): 35}, name="other")

    plan = planner.plan(mine, other, to="connector", value="other")

    assert_same(
        plan.rows,
        [
            Row(at_sink(0), read(40), read(25), 25, "set", "to=connector other: 15 records again"),
            Row(at_sink(1), None, read(35), 35, "set", "to=connector other: 35 records never"),
        ],
    )


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (
            mirror({("orders", 0): 1}),
            ("the offsets of connector `flow` are of kind mirror_source, but this connector needs kind sink, "
            "so they can't be copied"),
        ),
        (sink(name="flow"), "connector `flow` has no offsets to copy"),
    ],
)  # fmt: skip
def test_a_connector_to_take_nothing_from(planner: Planner, other: Connector, problem: str) -> None:
    """Offsets of another kind, or none, are no offsets for this connector."""
    plan = planner.plan(sink({("orders", 0): 40}), other, to="connector", value="flow")

    assert plan.rows == []
    assert plan.verdicts == [Found(Rule.UNREADABLE, ERROR, None, f"`sink`: {problem}.")]


def test_families_without_positions_take_lists(planner: Planner, tmp_path: Path) -> None:
    """What an offset means need not be known to set it."""
    lines = source(LINES, ({"filename": "/in"}, {"position": 7}), file="/in")
    uri = written(tmp_path / "offsets.json", ({"filename": "/in"}, {"position": 3}))
    twin = source(LINES, ({"filename": "/in"}, {"position": 9}), name="twin", file="/in")

    from_file = planner.plan(lines, logs={}, to="file", value=uri)
    from_twin = planner.plan(lines, twin, logs={}, to="connector", value="twin")

    there = '{"filename":"/in"}'
    assert from_file.rows == [Row(there, '{"position":7}', '{"position":3}', None, "set", f"to=file {uri}")]
    assert from_twin.rows == [Row(there, '{"position":7}', '{"position":9}', None, "set", "to=connector twin")]
    assert from_file.verdicts == from_twin.verdicts == []
