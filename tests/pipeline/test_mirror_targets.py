"""Every ``to`` for a MirrorSource: what is planned for each partition."""

from __future__ import annotations

import pytest

from tests.support.rows.planning import (
    Log,
    Planner,
    Row,
    assert_same,
    at_mirror,
    mirror,
    replicated,
)

# Partition 0 lost its first 10 records, partition 1 is whole, partition 2 was never read and is empty.
LOGS = {("orders", 0): Log(10, 100, lookup=40), ("orders", 1): Log(0, 50), ("orders", 2): Log(0, 0)}
READ = {("orders", 0): 60, ("orders", 1): 20}
M0, M1, M2 = at_mirror(0), at_mirror(1), at_mirror(2)
MIRROR_PLANS = [
    pytest.param(
        {"to": "earliest"},
        [
            Row(M0, replicated(59), replicated(9), 10, "set", "to=earliest: 50 records again"),
            Row(M1, replicated(19), None, 0, "clear", "to=earliest: 20 records again"),
            Row(M2, None, None, None, "keep", "already there"),
        ],
        id="earliest",
    ),
    pytest.param(
        {"to": "latest"},
        [
            Row(M0, replicated(59), replicated(99), 100, "set", "to=latest: 40 records never"),
            Row(M1, replicated(19), replicated(49), 50, "set", "to=latest: 30 records never"),
            Row(M2, None, None, None, "keep", "already there"),
        ],
        id="latest",
    ),
    pytest.param(
        {"to": "current"},
        [
            Row(M0, replicated(59), replicated(59), 60, "keep", "already there"),
            Row(M1, replicated(19), replicated(19), 20, "keep", "already there"),
            Row(M2, None, None, None, "keep", "already there"),
        ],
        id="current",
    ),
    pytest.param(
        {"to": "clear"},
        [
            Row(M0, replicated(59), None, None, "clear", "to=clear: 50 records again"),
            Row(M1, replicated(19), None, None, "clear", "to=clear: 20 records again"),
            Row(M2, None, None, None, "keep", "already there"),
        ],
        id="clear",
    ),
    pytest.param(
        {"to": "datetime", "value": "2026-01-31T10:00:00Z", "partitions": "0"},
        [
            Row(M0, replicated(59), replicated(39), 40, "set", "to=datetime 2026-01-31T10:00:00Z: 20 records again"),
            Row(M1, replicated(19), replicated(19), 20, "keep", "not selected"),
        ],
        id="datetime",
    ),
    pytest.param(
        {"to": "duration", "value": "PT3H", "partitions": "1"},
        [
            Row(M0, replicated(59), replicated(59), 60, "keep", "not selected"),
            Row(M1, replicated(19), replicated(49), 50, "set", "to=duration PT3H: 30 records never"),
        ],
        id="duration",
    ),
    pytest.param(
        {"to": "shift", "value": "-20"},
        [
            Row(M0, replicated(59), replicated(39), 40, "set", "to=shift -20: 20 records again"),
            Row(M1, replicated(19), None, 0, "clear", "to=shift -20: 20 records again"),
            Row(M2, None, None, None, "keep", "already there"),
        ],
        id="shift",
    ),
    pytest.param(
        {"to": "offset", "value": "1", "partitions": "1"},
        [
            Row(M0, replicated(59), replicated(59), 60, "keep", "not selected"),
            Row(M1, replicated(19), replicated(0), 1, "set", "to=offset 1: 19 records again"),
        ],
        id="offset 1 is stored as the record before",
    ),
    pytest.param(
        {"to": "offset", "value": "0", "partitions": "1"},
        [
            Row(M0, replicated(59), replicated(59), 60, "keep", "not selected"),
            Row(M1, replicated(19), None, 0, "clear", "to=offset 0: 20 records again"),
        ],
        id="offset 0 is the absence of an offset",
    ),
    pytest.param(
        {"to": "skip", "value": "3", "topics": "ord.*", "partitions": "0-1"},
        [
            Row(M0, replicated(59), replicated(62), 63, "set", "to=skip 3: 3 records never"),
            Row(M1, replicated(19), replicated(22), 23, "set", "to=skip 3: 3 records never"),
        ],
        id="skip three",
    ),
]


@pytest.mark.parametrize(("requested", "expected"), MIRROR_PLANS)
def test_plans_of_a_mirror_source(planner: Planner, requested: dict[str, str], expected: list[Row]) -> None:
    """A MirrorSource stores the record before the position, and nothing at all for position 0."""
    plan = planner.plan(mirror(READ), logs=LOGS, **requested)

    assert_same(plan.rows, expected)


def test_mirror_maker_never_replicates_internal_topics_nor_its_own_remote_topics(planner: Planner) -> None:
    """What MirrorMaker 2 leaves out whatever ``topics`` says is not planned."""
    names = ("orders", "__consumer_offsets", "mm2-configs.a.internal", "target.orders", "a.target.orders", "x.replica")

    plan = planner.plan(mirror(topics=".*"), logs={(name, 0): Log(0, 9) for name in names}, to="latest")

    assert [row.partition for row in plan.rows] == [at_mirror(0)]
