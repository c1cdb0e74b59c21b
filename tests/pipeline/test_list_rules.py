"""Rules that only lists of offsets can break, as computed offsets keep them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.lists import HEARTBEAT, in_mirror, in_sink, text, written
from tests.support.rows.planning import (
    ERROR,
    ORDERS,
    WARNING,
    Found,
    Log,
    Plan,
    Planner,
    assert_same,
    at_mirror,
    at_sink,
    mirror,
    sink,
    source,
)

OFFSET, PARTITION = "offset field 'kafka_offset' must be", "partition field 'kafka_partition' must be"
FIX = "Correct the entry."


def findings(plan: Plan, *rules: Rule) -> list[tuple[str, str | None, str]]:
    """Severity, partition and message, without the path of the test's file."""
    return [(str(found.severity), found.partition, found.message) for found in plan.of(*rules)]


MIRROR_KEYS = (
    "the partition must have the keys cluster, partition, topic and no other, but has {}, so nothing would read it. "
    "Correct the entry."
)
OFFSET_KEYS = (
    "the offset must have the key offset and no other, but has position, so nothing would read it. Correct the entry."
)


def test_wrong_keys(planner: Planner, tmp_path: Path) -> None:
    """With an extra or missing key it is a different source partition, which no task reads."""
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
    """Whatever a file contains, each entry has one verdict, and nothing else happens."""
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
            "be 0, not 7: MirrorMaker 2 accepts only 0 here, and never reads it. Correct the entry.",
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
                "`sink`, topic `ordres`, partition 0: the cluster does not have this topic. Did you mean `orders`? "
                "Correct the name, or leave the topic out.",
            ),
            Found(
                Rule.UNKNOWN_TOPIC,
                ERROR,
                at_sink(0, "weather"),
                "`sink`, topic `weather`, partition 0: the cluster does not have this topic. Correct the name, or "
                "leave the topic out.",
            ),
            Found(
                Rule.UNKNOWN_PARTITION,
                ERROR,
                at_sink(9),
                "`sink`, topic `orders`, partition 9: the topic does not have this partition. Correct the number, or "
                "leave the partition out.",
            ),
            Found(
                Rule.NOT_CONSUMED,
                ERROR,
                at_sink(0, "other"),
                "`sink`, topic `other`, partition 0: the connector does not read this topic (topics, topics.regex, "
                "topics.exclude), so an offset would change nothing. Leave the topic out, or change the "
                "connector's configuration first.",
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
            "`sink`, topic `orders`, partition 1: it is listed 3 times, with different offsets. Keep one of them.",
        ),
    ]


def test_every_rule_has_a_test() -> None:
    """Whoever adds a rule adds a test of it."""
    tests = "".join(file.read_text() for file in Path(__file__).parents[1].rglob("test_*.py"))

    assert [rule.name for rule in Rule if not re.search(rf'Rule\.{rule.name}\b|"{rule.value}"', tests)] == []
