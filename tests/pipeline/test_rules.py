"""Rules on a request: when they fire, their severity and their message."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.lists import LINES
from tests.support.rows.planning import (
    ERROR,
    INFO,
    MIDDLE,
    ORDERS,
    SHORT,
    WARNING,
    Found,
    Log,
    Planner,
    at_mirror,
    at_sink,
    mirror,
    sink,
    source,
)


def test_beyond_log_end(planner: Planner) -> None:
    """MirrorMaker 2 would replicate everything again; the log end itself is fine."""
    flow = mirror(MIDDLE)

    assert planner.plan(flow, logs=SHORT, to="offset", value="99999").of(Rule.BEYOND_LOG_END) == [
        Found(
            Rule.BEYOND_LOG_END,
            ERROR,
            at_mirror(0),
            "`flow`, topic `orders`, partition 0: position 99999 lies beyond the log end 700. MirrorMaker 2 would "
            "start again at 100 and replicate all 600 records once more. Ask for 100 to 700, or to=latest.",
        )
    ]
    assert "beyond_log_end" not in planner.plan(flow, logs=SHORT, to="offset", value="700").rules


def test_beyond_log_end_of_a_sink_that_starts_at_the_end(planner: Planner) -> None:
    """The consequence is the one that auto.offset.reset has."""
    late = sink(MIDDLE, consumer_override_auto_offset_reset="latest")

    assert planner.plan(late, logs=SHORT, to="shift", value="301").of(Rule.BEYOND_LOG_END) == [
        Found(
            Rule.BEYOND_LOG_END,
            ERROR,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: position 701 lies beyond the log end 700. auto.offset.reset=latest "
            "would then decide where it starts. Ask for 100 to 700, or to=latest.",
        )
    ]


def test_before_log_start(planner: Planner) -> None:
    """An exact position that is gone is an error; the log start itself is fine."""
    assert planner.plan(sink(MIDDLE), logs=SHORT, to="offset", value="99").of(Rule.BEFORE_LOG_START) == [
        Found(
            Rule.BEFORE_LOG_START,
            ERROR,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: position 99 lies before the log start 100: those records are gone. "
            "Ask for 100 to 700, or to=earliest.",
        )
    ]
    assert "before_log_start" not in planner.plan(sink(MIDDLE), logs=SHORT, to="offset", value="100").rules


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ("149", "the record at position 149 is older than retention.ms=60000. If"),
        ("150", "the record at position 150 will be older than retention.ms=60000 within an hour. If"),
        ("200", None),
    ],
)
def test_expiring(planner: Planner, position: str, message: str | None) -> None:
    """Records that the brokers may delete before the connector has read them; kept partitions are none of ours."""
    logs = {("orders", 0): Log(100, 700, expired=150, expiring=200), ("orders", 1): Log(0, 9, expired=9, expiring=9)}

    found = planner.plan(
        mirror({**MIDDLE, ("orders", 1): 3}), logs=logs, to="offset", value=position, partitions="0"
    ).of(Rule.EXPIRING)

    assert [(one.severity, one.partition) for one in found] == ([(WARNING, at_mirror(0))] if message else [])
    assert all(f"topic `orders`, partition 0: {message}" in one.message for one in found)


def test_not_expiring(planner: Planner) -> None:
    """A log end is no record, a log without a limit is null, and so is one of a snapshot of before."""
    logs = {("orders", 0): Log(100, 700, expired=700, expiring=700), ("orders", 1): Log(0, 700)}

    assert "expiring" not in planner.plan(mirror(MIDDLE), logs=logs, to="latest").rules
    assert "expiring" not in planner.plan(mirror(MIDDLE), logs=logs, to="earliest", partitions="1").rules


@pytest.mark.parametrize("requested", [{"to": "shift", "value": "-301"}, {"to": "duration", "value": "P9D"}])
def test_before_log_start_is_clamped(planner: Planner, requested: dict[str, str]) -> None:
    """What counts from somewhere stops at the log start, and says so."""
    logs = {("orders", 0): Log(100, 700, lookup=100)}

    assert planner.plan(sink(MIDDLE), logs=logs, **requested).of(Rule.BEFORE_LOG_START) == [
        Found(
            Rule.BEFORE_LOG_START,
            WARNING,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: it resumes at the log start 100: earlier records are gone.",
        )
    ]


def test_nothing_is_clamped_where_nothing_is_gone(planner: Planner) -> None:
    """A log that still has its first record gives no such warning."""
    logs = {("orders", 0): Log(0, 700, lookup=0)}

    assert planner.plan(sink(MIDDLE), logs=logs, to="duration", value="P9D").rules == {"rewind"}


def test_unknown_topic_in_the_selection(planner: Planner) -> None:
    """A typo is named, and so is what was meant, if that is close."""
    logs = {("flights", 0): Log(0, 10), ("fruits", 0): Log(0, 10)}

    assert planner.plan(sink(topics="flights"), logs=logs, to="earliest", topics="fligths").verdicts == [
        Found(
            Rule.UNKNOWN_TOPIC,
            ERROR,
            None,
            "`sink`: the cluster has no topic that matches `fligths`. Did you mean `flights`? Nothing is selected. "
            "Correct topics.",
        )
    ]
    assert planner.plan(sink(topics="flights"), logs=logs, to="earliest", topics="weather").verdicts == [
        Found(
            Rule.UNKNOWN_TOPIC,
            ERROR,
            None,
            "`sink`: the cluster has no topic that matches `weather`. Nothing is selected. Correct topics.",
        )
    ]


def test_unknown_topic_that_is_stored(planner: Planner) -> None:
    """An offset of a topic that is gone is left alone, unless the request gives it a position of its own."""
    both = sink({("orders", 0): 40, ("gone", 0): 5}, topics="orders,gone")

    assert planner.plan(both, to="latest").of(Rule.UNKNOWN_TOPIC) == [
        Found(
            Rule.UNKNOWN_TOPIC,
            WARNING,
            at_sink(0, "gone"),
            "`sink`, topic `gone`, partition 0: the cluster does not have this topic. It is left alone.",
        )
    ]
    assert planner.plan(both, to="offset", value="5").of(Rule.UNKNOWN_TOPIC) == [
        Found(
            Rule.UNKNOWN_TOPIC,
            ERROR,
            at_sink(0, "gone"),
            "`sink`, topic `gone`, partition 0: the cluster does not have this topic. Correct the name, or leave the "
            "topic out.",
        )
    ]


def test_unknown_partition(planner: Planner) -> None:
    """A partition that is gone is distinguished from a topic that is gone; a range that is too wide gets a hint."""
    shrunk = sink({("orders", 0): 40, ("orders", 7): 5})

    assert planner.plan(shrunk, to="latest").of(Rule.UNKNOWN_PARTITION) == [
        Found(
            Rule.UNKNOWN_PARTITION,
            WARNING,
            at_sink(7),
            "`sink`, topic `orders`, partition 7: the topic does not have this partition. It is left alone.",
        )
    ]
    assert planner.plan(sink(), to="latest", partitions="0,8").of(Rule.UNKNOWN_PARTITION) == [
        Found(
            Rule.UNKNOWN_PARTITION,
            WARNING,
            None,
            "`sink`: partitions=0,8 goes up to 8, but the highest selected partition is 0.",
        )
    ]
    assert "unknown_partition" not in planner.plan(sink(), to="latest", partitions="0-1").rules


def test_not_consumed(planner: Planner) -> None:
    """An offset of a topic that the configuration no longer names is left alone."""
    moved = sink({("orders", 0): 40, ("old", 0): 5})

    assert planner.plan(moved, logs={**ORDERS, ("old", 0): Log(0, 9)}, to="latest").of(Rule.NOT_CONSUMED) == [
        Found(
            Rule.NOT_CONSUMED,
            WARNING,
            at_sink(0, "old"),
            "`sink`, topic `old`, partition 0: the connector does not read this topic (topics, topics.regex, "
            "topics.exclude), so an offset would change nothing. It is left alone.",
        )
    ]


def test_nothing_selected(planner: Planner) -> None:
    """A selection that selects nothing is an error, and says what there is."""
    logs = {**ORDERS, ("other", 0): Log(0, 9)}

    assert planner.plan(sink(), logs=logs, to="latest", topics="other").verdicts == [
        Found(
            Rule.NOTHING_SELECTED,
            ERROR,
            None,
            "`sink`: nothing is selected (topics=other). The cluster has `other`, but the connector reads none of "
            "these partitions, and has no offset for them.",
        )
    ]
    assert planner.plan(sink(), logs=logs, to="latest", partitions="7-9").verdicts == [
        Found(
            Rule.NOTHING_SELECTED,
            ERROR,
            None,
            "`sink`: nothing is selected (partitions=7-9). The connector reads none of these partitions, and has no "
            "offset for them.",
        )
    ]
    [found] = planner.plan(sink({}), logs={("other", 0): Log(0, 9)}, to="latest").verdicts
    assert found.message == (
        "`sink`: there is nothing to change, because it has no offset, and the cluster of its Kafka connection has no "
        "topic that it reads."
    )


def test_a_pattern_that_only_python_reads(planner: Planner) -> None:
    """Topic names are matched by Java, whose patterns differ from Python's here and there."""
    [found] = planner.plan(sink(), to="latest", topics=r"\U0000006frders").verdicts

    assert (found.rule, found.severity) == (Rule.NOTHING_SELECTED, ERROR)
    assert found.message.startswith(r"`sink`: topics=\U0000006frders is not a valid regular expression (Java syntax): ")


def test_nothing_to_change(planner: Planner) -> None:
    """A position that is there already is no error."""
    there = sink({("orders", 0): 100, ("orders", 1): 100})

    assert planner.plan(there, to="latest").verdicts == [
        Found(
            Rule.NOTHING_TO_CHANGE,
            INFO,
            None,
            "`sink`: nothing to change: 2 of 2 selected partitions need no change.",
        )
    ]


def test_nothing_to_change_where_nothing_can_be_moved(planner: Planner) -> None:
    """What can't be moved is not there already."""
    gone = sink({("gone", 0): 5}, topics="gone")

    assert [found.message for found in planner.plan(gone, to="latest").of(Rule.NOTHING_TO_CHANGE)] == [
        "`sink`: nothing to change: 0 of 1 selected partitions need no change, 1 can't be moved."
    ]


@pytest.mark.parametrize(
    "requested",
    [
        {"to": "earliest"},
        {"to": "offset", "value": "3"},
        {"to": "skip"},
        {"to": "datetime", "value": "2026-01-01T00:00Z"},
    ],
)
def test_no_position(planner: Planner, requested: dict[str, str]) -> None:
    """A family without positions takes no request for one, and says why."""
    lines = source(LINES, ({"filename": "/in"}, {"position": 7}), file="/in")

    plan = planner.plan(lines, logs={}, **requested)

    assert plan.rows == []
    assert plan.verdicts == [
        Found(
            Rule.NO_POSITION,
            ERROR,
            None,
            f"`source`: to={requested['to']} needs positions in a Kafka log, but this connector ({LINES}) has none: "
            "its offsets count bytes of a file, not records of a Kafka log. Use to=clear, to=file or to=connector.",
        )
    ]
