"""Every ``to`` for a sink: what is planned for each partition; and which topics and families can be planned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.planning import (
    ORDERS,
    Log,
    Planner,
    Row,
    assert_same,
    at_sink,
    mirror,
    read,
    sink,
    source,
)

# Partition 0 lost its first 10 records, partition 1 is whole, partition 2 was never read and is empty.
LOGS = {("orders", 0): Log(10, 100, lookup=40), ("orders", 1): Log(0, 50), ("orders", 2): Log(0, 0)}
READ = {("orders", 0): 60, ("orders", 1): 20}
S0, S1, S2 = at_sink(0), at_sink(1), at_sink(2)

SINK_PLANS = [
    pytest.param(
        {"to": "earliest"},
        [
            Row(S0, read(60), read(10), 10, "set", "to=earliest: 50 records again"),
            Row(S1, read(20), read(0), 0, "set", "to=earliest: 20 records again"),
            Row(S2, None, read(0), 0, "set", "to=earliest"),
        ],
        id="earliest",
    ),
    pytest.param(
        {"to": "latest"},
        [
            Row(S0, read(60), read(100), 100, "set", "to=latest: 40 records never"),
            Row(S1, read(20), read(50), 50, "set", "to=latest: 30 records never"),
            Row(S2, None, read(0), 0, "set", "to=latest"),
        ],
        id="latest",
    ),
    pytest.param(
        {"to": "current"},
        [
            Row(S0, read(60), read(60), 60, "keep", "already there"),
            Row(S1, read(20), read(20), 20, "keep", "already there"),
            Row(S2, None, None, None, "keep", "already there"),
        ],
        id="current",
    ),
    pytest.param(
        {"to": "clear"},
        [
            Row(S0, read(60), None, None, "clear", "to=clear: 50 records again"),
            Row(S1, read(20), None, None, "clear", "to=clear: 20 records again"),
            Row(S2, None, None, None, "keep", "already there"),
        ],
        id="clear",
    ),
    pytest.param(
        {"to": "datetime", "value": "2026-01-31T10:00:00+01:00"},
        [
            Row(S0, read(60), read(40), 40, "set", "to=datetime 2026-01-31T10:00:00+01:00: 20 records again"),
            Row(S1, read(20), read(50), 50, "set", "to=datetime 2026-01-31T10:00:00+01:00: 30 records never"),
            Row(S2, None, read(0), 0, "set", "to=datetime 2026-01-31T10:00:00+01:00"),
        ],
        id="datetime, and the log end where the moment lies after the last record",
    ),
    pytest.param(
        {"to": "duration", "value": "PT3H", "partitions": "0"},
        [
            Row(S0, read(60), read(40), 40, "set", "to=duration PT3H: 20 records again"),
            Row(S1, read(20), read(20), 20, "keep", "not selected"),
        ],
        id="duration, in one partition",
    ),
    pytest.param(
        {"to": "shift", "value": "-55"},
        [
            Row(S0, read(60), read(10), 10, "set", "to=shift -55: 50 records again"),
            Row(S1, read(20), read(0), 0, "set", "to=shift -55: 20 records again"),
            Row(S2, None, read(0), 0, "set", "to=shift -55"),
        ],
        id="shift back, and not behind the log start",
    ),
    pytest.param(
        {"to": "shift", "value": "+5", "partitions": "0-1"},
        [
            Row(S0, read(60), read(65), 65, "set", "to=shift +5: 5 records never"),
            Row(S1, read(20), read(25), 25, "set", "to=shift +5: 5 records never"),
        ],
        id="shift forward",
    ),
    pytest.param(
        {"to": "offset", "value": "20"},
        [
            Row(S0, read(60), read(20), 20, "set", "to=offset 20: 40 records again"),
            Row(S1, read(20), read(20), 20, "keep", "already there"),
            Row(S2, None, read(20), 20, "set", "to=offset 20"),
        ],
        id="offset",
    ),
    pytest.param(
        {"to": "skip", "partitions": "1"},
        [
            Row(S0, read(60), read(60), 60, "keep", "not selected"),
            Row(S1, read(20), read(21), 21, "set", "to=skip 1: 1 record never"),
        ],
        id="skip one",
    ),
]


@pytest.mark.parametrize(("requested", "expected"), SINK_PLANS)
def test_plans_of_a_sink(planner: Planner, requested: dict[str, str], expected: list[Row]) -> None:
    """A sink stores the position itself; a partition it has not read yet is planned as well."""
    plan = planner.plan(sink(READ), logs=LOGS, **requested)

    assert_same(plan.rows, expected)


def test_a_skip_begins_with_the_record_that_is_read_next(planner: Planner) -> None:
    """Markers of transactions at the position are no records; a shift counts them, as it counts offsets."""
    logs = {**LOGS, ("orders", 1): replace(LOGS["orders", 1], record=23)}

    skipped = planner.plan(sink(READ), logs=logs, to="skip", partitions="1")
    shifted = planner.plan(sink(READ), logs=logs, to="shift", value="1", partitions="1")

    kept = Row(S0, read(60), read(60), 60, "keep", "not selected")
    assert_same(skipped.rows, [kept, Row(S1, read(20), read(24), 24, "set", "to=skip 1: 1 record never")])
    assert_same(shifted.rows, [kept, Row(S1, read(20), read(21), 21, "set", "to=shift 1: 1 record never")])


def test_a_rewind_moves_nothing_forward(planner: Planner) -> None:
    """What has not come as far as the moment stays, and so does what has no known position."""
    moment = "2026-01-31T10:00:00+01:00"

    plan = planner.plan(sink(READ), logs=LOGS, to="datetime", value=moment, only_back=True)

    behind = "is before the requested position, and the request only moves back"
    assert_same(
        plan.rows,
        [
            Row(S0, read(60), read(40), 40, "set", f"to=datetime {moment}: 20 records again"),
            Row(S1, read(20), read(20), 20, "keep", behind),
            Row(S2, None, read(0), 0, "set", f"to=datetime {moment}"),
        ],
    )


def test_starting_at_the_end_counts_from_the_end(planner: Planner) -> None:
    """With auto.offset.reset=latest a position without an offset is the log end, and clearing skips to it."""
    late = sink({("orders", 0): 60}, consumer_override_auto_offset_reset="latest")

    assert_same(
        planner.plan(late, to="shift", value="-5").rows,
        [
            Row(S0, read(60), read(55), 55, "set", "to=shift -5: 5 records again"),
            Row(S1, None, read(95), 95, "set", "to=shift -5: 5 records again"),
        ],
    )
    assert_same(
        planner.plan(late, to="clear").rows,
        [
            Row(S0, read(60), None, None, "clear", "to=clear: 40 records never"),
            Row(S1, None, None, None, "keep", "already there"),
        ],
    )


def test_topics_of_the_cluster_that_are_not_read_are_left_out(planner: Planner) -> None:
    """Only what a connector reads is planned: a pattern selects within that, and must match whole names."""
    logs = {("orders", 0): Log(0, 9), ("orders.eu", 0): Log(0, 9), ("other", 0): Log(0, 9), ("xorders", 0): Log(0, 9)}
    both = sink({}, topics_regex="orders.*", topics="")

    assert_same(
        planner.plan(both, logs=logs, to="latest", topics="orders|other").rows,
        [Row(at_sink(0), None, read(9), 9, "set", "to=latest: 9 records never")],
    )
    assert_same(
        planner.plan(both, logs=logs, to="offset", value="3").rows,
        [
            Row(at_sink(0), None, read(3), 3, "set", "to=offset 3: 3 records never"),
            Row(at_sink(0, "orders.eu"), None, read(3), 3, "set", "to=offset 3: 3 records never"),
        ],
    )


FILE_STREAM = "org.apache.kafka.connect.file.FileStreamSourceConnector"


def test_a_family_without_positions_can_be_cleared(planner: Planner) -> None:
    """Clearing needs no position."""
    lines = source(FILE_STREAM, ({"filename": "/in"}, {"position": 7}), file="/in")

    assert_same(
        planner.plan(lines, logs={}, to="clear").rows,
        [Row('{"filename":"/in"}', '{"position":7}', None, None, "clear", "to=clear")],
    )


def test_the_digest_is_that_of_the_plan_read_back(planner: Planner) -> None:
    """Spark and Python give one digest for one plan; names and offsets of any alphabet are the same to both."""
    name = "Zähler → 表\u2028\u007f"
    strange = mirror({("orders", 0): 60}, name=name)

    plan = planner.plan(strange, logs=ORDERS, to="shift", value="-5")

    assert plan.plan.changed_rows()
    assert plan.counts.digest == plan.plan.digest
    assert planner.plan(strange, logs=ORDERS, to="shift", value="-6").counts.digest != plan.plan.digest


def test_the_largest_shift_is_a_verdict(planner: Planner) -> None:
    """The largest shift overflows no number: it is an error for each partition."""
    plan = planner.plan(sink(READ), logs=LOGS, to="shift", value=str(2**63 - 1))

    assert {(found.rule, found.partition) for found in plan.of(Rule.BEYOND_LOG_END)} == {
        ("beyond_log_end", partition) for partition in (S0, S1, S2)
    }
