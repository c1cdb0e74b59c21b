"""``to=file`` and ``to=connector``: entries from elsewhere, read in every format and held against every rule."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from planning import (
    ERROR,
    ORDERS,
    WARNING,
    Connector,
    Found,
    Log,
    Plan,
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

from airflow_provider_connect_offsets.offsets.verdicts import Rule

LINES = "org.apache.kafka.connect.file.FileStreamSourceConnector"
CHECKPOINT = "org.apache.kafka.connect.mirror.MirrorCheckpointConnector"
HEARTBEAT = "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector"
Json = dict[str, Any]


def written(path: Path, *entries: tuple[Json, Json | None]) -> str:
    """Write a REST document; returns its path."""
    body = {"offsets": [{"partition": partition, "offset": offset} for partition, offset in entries]}
    return text(path, json.dumps(body))


def text(path: Path, content: str) -> str:
    """Write a file; returns its path."""
    path.write_text(content)
    return str(path)


def in_sink(partition: Any, topic: str = "orders") -> Json:
    return {"kafka_topic": topic, "kafka_partition": partition}


def in_mirror(partition: Any, topic: str = "orders", cluster: str = "source") -> Json:
    return {"cluster": cluster, "topic": topic, "partition": partition}


OFFSET, PARTITION = "offset field 'kafka_offset' must be", "partition field 'kafka_partition' must be"
FIX = "Correct the entry."

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
    """Parquet, as positions or as JSON; where a snapshot has both, the JSON is what was stored."""
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
    """A connector's offsets are taken as they stand."""
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
            ("the offsets of connector `flow` (mirror_source) mean something else than those of this one (sink), so "
            "they can't be taken"),
        ),
        (sink(name="flow"), "connector `flow` has no offsets to take"),
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


def findings(plan: Plan, *rules: Rule) -> list[tuple[str, str | None, str]]:
    """Severity, partition and message, without the path of the test's file."""
    return [(str(found.severity), found.partition, found.message) for found in plan.of(*rules)]


MIRROR_KEYS = (
    "the partition must have the keys cluster, partition, topic and no other, but has {}; nothing would read it. "
    "Correct the entry."
)
OFFSET_KEYS = (
    "the offset must have the key offset and no other, but has position; nothing would read it. Correct the entry."
)


def test_wrong_keys(planner: Planner, tmp_path: Path) -> None:
    """A key too many or too few makes another partition, which nothing reads."""
    uri = written(
        tmp_path / "o.json",
        ({**in_mirror(0), "x": 1}, {"offset": 5}),
        ({"topic": "orders", "partition": 1}, {"offset": 5}),
        (in_mirror(1), {"position": 5}),
    )

    assert findings(planner.plan(mirror(), to="file", value=uri), Rule.WRONG_KEYS) == [
        (
            "error",
            '{"cluster":"source","partition":0,"topic":"orders","x":1}',
            "`flow`, topic `orders`, partition 0: " + MIRROR_KEYS.format("cluster, partition, topic, x"),
        ),
        (
            "error",
            at_mirror(1),
            "`flow`, topic `orders`, partition 1: " + OFFSET_KEYS,
        ),
        (
            "error",
            '{"partition":1,"topic":"orders"}',
            "`flow`, topic `orders`, partition 1: " + MIRROR_KEYS.format("partition, topic"),
        ),
    ]


WRONG = [
    (0, "5", Rule.WRONG_TYPE, f'{OFFSET} a whole number up to {2**63 - 2}, not "5"'),
    (1, 5.5, Rule.WRONG_TYPE, f"{OFFSET} a whole number up to {2**63 - 2}, not 5.5"),
    (2, True, Rule.WRONG_TYPE, f"{OFFSET} a whole number up to {2**63 - 2}, not true"),
    (3, 10**30, Rule.WRONG_TYPE, f"{OFFSET} a whole number up to {2**63 - 2}, not {10**30}"),
    (4, 2**63 - 1, Rule.WRONG_TYPE, f"{OFFSET} a whole number up to {2**63 - 2}, not {2**63 - 1}"),
    (5, -1, Rule.NEGATIVE, f"{OFFSET} 0 or greater, not -1"),
    (-1, 5, Rule.NEGATIVE, f"{PARTITION} 0 or greater, not -1"),
    (2**31, 5, Rule.WRONG_TYPE, f"{PARTITION} a whole number up to {2**31 - 1}, not {2**31}"),
    ("0", 5, Rule.WRONG_TYPE, f'{PARTITION} a whole number up to {2**31 - 1}, not "0"'),
]


def test_wrong_types_and_negative_numbers(planner: Planner, tmp_path: Path) -> None:
    """Whatever stands in a file ends as one verdict for each entry, and as nothing else."""
    entries = [(in_sink(partition), {"kafka_offset": offset}) for partition, offset, _, _ in WRONG]
    logs = {("orders", number): Log(0, 100) for number in range(6)}

    plan = planner.plan(sink(), logs=logs, to="file", value=written(tmp_path / "o.json", *entries))

    assert_same(
        [(found.partition, found.severity, found.rule, found.message.partition(": ")[2]) for found in plan.verdicts],
        [
            (json.dumps(in_sink(partition), sort_keys=True, separators=(",", ":")), ERROR, rule, f"{message}. {FIX}")
            for partition, _, rule, message in WRONG
        ],
    )


def test_foreign_alias(planner: Planner, tmp_path: Path) -> None:
    """Connect takes any alias, and any null offset; nobody would read either."""
    uri = written(
        tmp_path / "o.json", (in_mirror(0, cluster="sorce"), {"offset": 5}), (in_mirror(1, cluster="x"), None)
    )

    assert findings(planner.plan(mirror(), to="file", value=uri), Rule.FOREIGN_ALIAS) == [
        (
            "error",
            at_mirror(0, cluster="sorce"),
            (
                "`flow`, topic `orders`, partition 0: the source cluster alias is 'sorce', but the connector is "
                "configured with 'source', so it would never read this offset. Correct the entry."
            ),
        ),
        (
            "error",
            at_mirror(1, cluster="x"),
            (
                "`flow`, topic `orders`, partition 1: the source cluster alias is 'x', but the connector is configured "
                "with 'source', so it would never read this offset. Correct the entry."
            ),
        ),
    ]


def test_only_zero(planner: Planner, tmp_path: Path) -> None:
    """Checkpoint and heartbeat take nothing but 0."""
    beat = {"sourceClusterAlias": "source", "targetClusterAlias": "target"}
    uri = written(tmp_path / "o.json", (beat, {"offset": 7}))
    zero = written(tmp_path / "zero.json", (beat, {"offset": 0}))

    assert planner.plan(source(HEARTBEAT), logs={}, to="file", value=uri).verdicts == [
        Found(
            Rule.ONLY_ZERO,
            ERROR,
            '{"sourceClusterAlias":"source","targetClusterAlias":"target"}',
            '`source`, partition `{"sourceClusterAlias":"source","targetClusterAlias":"target"}`: the offset must '
            "be 0, not 7: MirrorMaker 2 refuses any other here, and never reads it. Correct the entry.",
        )
    ]
    assert planner.plan(source(HEARTBEAT), logs={}, to="file", value=zero).verdicts == []


def test_topics_and_partitions_of_a_list(planner: Planner, tmp_path: Path) -> None:
    """What the cluster hasn't got, and what the connector doesn't read, is an error in a list; hints come with it."""
    uri = text(tmp_path / "o.csv", "ordres,0,5\norders,9,5\nother,0,5\nweather,0,5\n")
    logs = {**ORDERS, ("other", 0): Log(0, 9)}

    plan = planner.plan(sink(), logs=logs, to="file", value=uri)

    assert_same(
        plan.of(Rule.UNKNOWN_TOPIC, Rule.UNKNOWN_PARTITION, Rule.NOT_CONSUMED),
        [
            Found(
                Rule.UNKNOWN_TOPIC,
                ERROR,
                at_sink(0, "ordres"),
                "`sink`, topic `ordres`, partition 0: the cluster has no such topic. Did you mean `orders`? Correct "
                "the name, or leave it out.",
            ),
            Found(
                Rule.UNKNOWN_TOPIC,
                ERROR,
                at_sink(0, "weather"),
                "`sink`, topic `weather`, partition 0: the cluster has no such topic. Correct the name, or leave it "
                "out.",
            ),
            Found(
                Rule.UNKNOWN_PARTITION,
                ERROR,
                at_sink(9),
                "`sink`, topic `orders`, partition 9: the topic has no such partition. Correct the number, or leave it "
                "out.",
            ),
            Found(
                Rule.NOT_CONSUMED,
                ERROR,
                at_sink(0, "other"),
                "`sink`, topic `other`, partition 0: the connector's configuration (topics, topics.regex, "
                "topics.exclude) does not make it read this topic, so an offset would change nothing. Leave it out, or "
                "change the configuration first.",
            ),
        ],
    )


def test_bounds_of_a_list(planner: Planner, tmp_path: Path) -> None:
    """Positions in a list must lie within the log."""
    uri = text(tmp_path / "o.csv", "orders,0,9\norders,1,101\n")
    logs = {("orders", 0): Log(10, 100), ("orders", 1): Log(0, 100)}

    plan = planner.plan(sink(), logs=logs, to="file", value=uri)

    assert [(found.rule, found.severity, found.partition) for found in plan.verdicts if found.severity == "error"] == [
        ("before_log_start", "error", at_sink(0)),
        ("beyond_log_end", "error", at_sink(1)),
    ]


def test_duplicates(planner: Planner, tmp_path: Path) -> None:
    """Named twice with one offset is a warning, with two an error; no offset counts as one."""
    uri = text(tmp_path / "o.csv", "orders,0,5\norders,0,5\norders,1,5\norders,1,6\norders,1,\n")

    assert planner.plan(sink(), to="file", value=uri).of(Rule.DUPLICATE) == [
        Found(
            Rule.DUPLICATE,
            WARNING,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: it is listed 2 times, always with the same offset.",
        ),
        Found(
            Rule.DUPLICATE,
            ERROR,
            at_sink(1),
            "`sink`, topic `orders`, partition 1: it is listed 3 times, with different offsets. Keep the one that is "
            "meant.",
        ),
    ]


UNREADABLE_FILES = {
    "empty.json": ("", "the file is empty"),
    "truncated.json": ('{"offsets": [{"partition": {"a": 1}, "off', "the file is no JSON, or was cut off: "),
    "nested.json": (
        '{"offsets": [{"partition": {"a": {"b": 1}}, "offset": null}]}',
        "entry 1: the partition may hold only primitive values, but its field 'a' holds {\"b\": 1}",
    ),
    "other.json": ('{"else": []}', "the file holds no offsets of connector 'sink'; it names 'else'"),
    "list.json": ("[1, 2]", "a KIP-199 document looks like "),
    "nothing.json": ('{"offsets": []}', "holds no offsets of this connector"),
    "surrogate.json": ('{"offsets": [{"partition": {"a": "\\ud800"}, "offset": null}]}', "which no JSON document can"),
    "infinite.json": ('{"offsets": [{"partition": {"a": 1e999}, "offset": null}]}', "which no JSON document can"),
    "empty.csv": ("", "the file is empty"),
    "only_header.csv": ("topic,partition,offset\n", "holds no offsets of this connector"),
    "two.csv": ("orders,0\n", "it has no header, and 2 columns instead of topic,partition,position"),
    "twice.csv": ("topic,topic,offset\n", "its header names a column twice: topic,topic,offset"),
    "strange.csv": (
        "topic,when\norders,now\n",
        "its columns are topic, when; expected are partition and offset (JSON)",
    ),
    "torn.parquet": ("PAR1", "is not a Parquet file"),
    "other_connector.csv": (
        "connector,topic,partition,offset\nelse,orders,0,1\n",
        "holds no offsets of this connector",
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
        f"`source`: the file {uri} can't be used: it lists positions of topics, and this connector has none: its "
        "offsets count bytes of a file, not records of a Kafka log. Give partition and offset as JSON."
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
                'the row ["orders", "x", "5"] names no topic and partition',
                'the row [null, "1", "5"] names no topic and partition',
                'the row ["orders", "1", "1e3"] has no position that is a whole number from 0 on',
                'the row ["orders", "1", "-5"] has no position that is a whole number from 0 on',
                f'the row ["orders", "1", "{10**30}"] has no position that is a whole number from 0 on',
                "the row orders,1 has too few or too many columns",
                "the row orders,1,5,9 has too few or too many columns",
            )
        ],
    )


def test_broken_json_columns(planner: Planner, tmp_path: Path) -> None:
    """The same for columns of JSON."""
    cells = ['"{""a"":', '"[1]"', '"{""a"": {}}"', '"{""a"":1,""a"":2}"']
    uri = text(tmp_path / "o.csv", "partition,offset\n" + "\n".join(f"{cell},{cells[1]}" for cell in cells[1:]) + "\n")

    plan = planner.plan(source("com.example.Tide"), logs={}, to="file", value=uri)

    assert plan.rows == []
    assert plan.rules == {"unreadable"}
    assert len(plan.verdicts) == 3


def test_every_rule_has_a_test() -> None:
    """Whoever adds a rule adds a test of it."""
    folder = Path(__file__).parent
    tests = "".join((folder / name).read_text() for name in ("test_rules.py", "test_lists.py"))

    assert [rule.name for rule in Rule if not re.search(rf"Rule\.{rule.name}\b", tests)] == []
