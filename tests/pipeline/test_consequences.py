"""Rules on the consequences of a change: when they fire, their severity and their message."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from airflow_provider_connect_offsets.offsets.verdicts import Rule
from tests.support.rows.lists import LINES
from tests.support.rows.planning import (
    ERROR,
    INFO,
    MIDDLE,
    SHORT,
    WARNING,
    Connector,
    Found,
    Planner,
    assert_same,
    at_mirror,
    at_sink,
    mirror,
    sink,
    source,
)

FOREIGN: tuple[JsonMap, JsonMap] = ({"cluster": "typo", "topic": "orders", "partition": 0}, {"offset": 50})


def test_rewind_and_skip(planner: Planner) -> None:
    """Records that are delivered again or never are counted for each partition."""
    plan = planner.plan(sink({("orders", 0): 41, ("orders", 1): 39}), to="offset", value="40")

    assert_same(
        plan.verdicts,
        [
            Found(
                Rule.REWIND,
                WARNING,
                at_sink(0),
                "`sink`, topic `orders`, partition 0: 1 record is delivered again.",
            ),
            Found(Rule.SKIP, WARNING, at_sink(1), "`sink`, topic `orders`, partition 1: 1 record is never delivered."),
        ],
    )
    assert (plan.counts.records_again, plan.counts.records_skipped) == (1, 1)


def test_only_records_that_exist_are_counted(planner: Planner) -> None:
    """A position before the log start counts as the log start."""
    plan = planner.plan(sink({("orders", 0): 5}), logs=SHORT, to="offset", value="103")

    assert [found.message for found in plan.verdicts] == [
        "`sink`, topic `orders`, partition 0: 3 records are never delivered."
    ]


def test_clear_effect(planner: Planner) -> None:
    """A verdict says what follows from the removal of an offset."""
    for reset, effect in (
        ("", "auto.offset.reset=earliest decides: it resumes at 100."),
        ("latest", "auto.offset.reset=latest decides: it resumes at 700."),
        ("none", "auto.offset.reset=none decides: its task will fail."),
        (
            "by_duration:P1D",
            "auto.offset.reset=by_duration decides: it resumes that long before the time when it starts.",
        ),
    ):
        cleared = sink(MIDDLE, consumer_override_auto_offset_reset=reset)

        assert planner.plan(cleared, logs=SHORT, to="clear").of(Rule.CLEAR_EFFECT) == [
            Found(
                Rule.CLEAR_EFFECT,
                WARNING,
                at_sink(0),
                f"`sink`, topic `orders`, partition 0: its offset is removed, so {effect}",
            )
        ]


def test_clear_effect_where_there_are_no_positions(planner: Planner) -> None:
    """Families that have no positions say it in their own words."""
    lines = source(LINES, ({"filename": "/in"}, {"position": 7}), file="/in")

    assert planner.plan(lines, logs={}, to="clear").verdicts == [
        Found(
            Rule.CLEAR_EFFECT,
            WARNING,
            '{"filename":"/in"}',
            '`source`, partition `{"filename":"/in"}`: its offset is removed: it reads its file again from the first '
            "byte.",
        )
    ]


def test_garbage_can_be_cleared(planner: Planner) -> None:
    """An offset that nothing reads is no error when it goes, and nothing is said of records."""
    plan = planner.plan(mirror(stored=[FOREIGN]), to="clear")

    assert plan.verdicts == [
        Found(
            Rule.CLEAR_EFFECT,
            WARNING,
            at_mirror(0, cluster="typo"),
            "`flow`, topic `orders`, partition 0: its offset is removed; the connector does not read this partition, "
            "so nothing else changes.",
        )
    ]
    assert (plan.counts.clear, plan.counts.records_again) == (1, 0)


def test_garbage_is_left_alone(planner: Planner) -> None:
    """An offset that nothing reads does not keep the others from being moved."""
    plan = planner.plan(mirror(MIDDLE, stored=[FOREIGN]), logs=SHORT, to="latest")

    assert plan.of(Rule.FOREIGN_ALIAS) == [
        Found(
            Rule.FOREIGN_ALIAS,
            WARNING,
            at_mirror(0, cluster="typo"),
            "`flow`, topic `orders`, partition 0: the source cluster alias is 'typo', but the connector is configured "
            "with 'source', so it would never read this offset. It is left alone.",
        )
    ]
    assert [(row.partition, row.action, row.reason) for row in plan.rows] == [
        (at_mirror(0), "set", "to=latest: 300 records never"),
        (at_mirror(0, cluster="typo"), "keep", "left alone"),
    ]


def test_from_latest(planner: Planner) -> None:
    """A MirrorSource that leaves records out gives up at-least-once; a sink may."""
    assert planner.plan(mirror(MIDDLE), logs=SHORT, to="latest").of(Rule.FROM_LATEST) == [
        Found(
            Rule.FROM_LATEST,
            WARNING,
            None,
            "`flow`: to=latest leaves out all records that are not replicated yet, which gives up at-least-once "
            "delivery.",
        )
    ]
    late = mirror(MIDDLE, source_consumer_auto_offset_reset="latest")
    assert planner.plan(late, logs=SHORT, to="offset", value="300").of(Rule.FROM_LATEST) == [
        Found(
            Rule.FROM_LATEST,
            WARNING,
            None,
            "`flow`: source.consumer.auto.offset.reset=latest starts at the log end if no offset is stored, which "
            "gives up at-least-once delivery.",
        )
    ]
    assert "from_latest" not in planner.plan(sink(MIDDLE), logs=SHORT, to="latest").rules


def test_no_stored_zero(planner: Planner) -> None:
    """Position 0 can't be stored, and what happens without an offset would be something else."""
    for reset, instead in (
        ("latest", "it would start at the log end instead"),
        ("none", "its task would fail instead"),
    ):
        late = mirror({("orders", 0): 40}, source_consumer_auto_offset_reset=reset)

        assert planner.plan(late, to="earliest", partitions="0").of(Rule.NO_STORED_ZERO) == [
            Found(
                Rule.NO_STORED_ZERO,
                ERROR,
                at_mirror(0),
                "`flow`, topic `orders`, partition 0: MirrorSource can't store an offset for position 0. With "
                f"source.consumer.auto.offset.reset={reset}, {instead}. Set this property to earliest first.",
            )
        ]
    assert "no_stored_zero" not in planner.plan(mirror({("orders", 0): 40}), to="earliest").rules


def test_assumed_position(planner: Planner) -> None:
    """Where nothing is stored, the verdict says what is counted from; if that is unknown, it is an error."""
    assert planner.plan(sink(), to="skip", partitions="0").of(Rule.ASSUMED_POSITION) == [
        Found(
            Rule.ASSUMED_POSITION,
            WARNING,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: no offset is stored, so the request counts from 0, where the "
            "connector would start (auto.offset.reset=earliest).",
        )
    ]
    lost = planner.plan(sink(consumer_override_auto_offset_reset="none"), to="skip", partitions="0")
    assert lost.of(Rule.ASSUMED_POSITION) == [
        Found(
            Rule.ASSUMED_POSITION,
            ERROR,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: no offset is stored and auto.offset.reset=none, so there is no "
            "position to count from. Ask for a position with to=offset.",
        )
    ]
    assert "assumed_position" not in planner.plan(sink({("orders", 0): 1}), to="skip", partitions="0").rules


def test_unpinned_skip(planner: Planner) -> None:
    """Skipping at a failed sink may skip a good record, unless its polls are of one record."""
    failed = sink({("orders", 0): 40}, failed=True)

    assert planner.plan(failed, to="skip", partitions="0").of(Rule.UNPINNED_SKIP) == [
        Found(
            Rule.UNPINNED_SKIP,
            WARNING,
            at_sink(0),
            "`sink`, topic `orders`, partition 0: tasks have failed, and position 40 is where the failed poll began. "
            "The bad record may be a later one: up to 499 good records may come before it, and would be skipped "
            "instead. To find the bad record, set consumer.override.max.poll.records=1, restart the failed tasks, "
            "and request the skip again when they have failed again.",
        )
    ]
    pinned = sink({("orders", 0): 40}, failed=True, consumer_override_max_poll_records="1")
    healthy = sink({("orders", 0): 40})
    for unsuspicious in (pinned, healthy):
        assert "unpinned_skip" not in planner.plan(unsuspicious, to="skip", partitions="0").rules


def test_external_offsets(planner: Planner) -> None:
    """Where a connector is known to keep its position elsewhere too, or where nothing is known, that is said."""
    [slot] = planner.plan(
        source("io.debezium.connector.postgresql.PostgresConnector", ({"server": "db"}, {"lsn": 1})),
        logs={},
        to="clear",
    ).of(Rule.EXTERNAL_OFFSETS)
    [unknown] = planner.plan(source("com.example.Tide", ({"sea": "north"}, {"wave": 1})), logs={}, to="clear").of(
        Rule.EXTERNAL_OFFSETS
    )

    assert slot == Found(
        Rule.EXTERNAL_OFFSETS,
        WARNING,
        None,
        "`source`: io.debezium.connector.postgresql.PostgresConnector also keeps its position in its PostgreSQL "
        "replication slot, so changing Connect's offsets alone may not move it: PostgreSQL sends no changes from "
        "before the LSN that the slot has confirmed, and reports no error.",
    )
    assert unknown == Found(
        Rule.EXTERNAL_OFFSETS,
        INFO,
        None,
        "`source`: the meaning of the offsets of com.example.Tide is unknown, so they are not checked. The "
        "connector may also keep its position elsewhere.",
    )


def test_an_offsets_topic_of_its_own(planner: Planner) -> None:
    """A verdict says what Kafka does with partitions without an offset, and with a removal; a sink has none."""
    own = {"offsets.storage.topic": "own"}
    stored: list[tuple[JsonMap, JsonMap | None]] = [({"sea": "north"}, {"wave": 1}), ({"sea": "south"}, None)]
    tide = Connector("source", ConnectorType.SOURCE, "com.example.Tide", own, stored=stored)

    [missing, removal] = planner.plan(tide, logs={}, to="clear").of(Rule.OWN_OFFSETS_TOPIC)

    assert (missing.severity, removal.severity) == (WARNING, WARNING)
    assert "`own`, which has no offset for 1 of its partitions" in missing.message
    assert "exactly.once.source.support" in removal.message
    whole = Connector("source", ConnectorType.SOURCE, "com.example.Tide", {}, stored=stored)
    assert Rule.OWN_OFFSETS_TOPIC not in planner.plan(whole, logs={}, to="clear").rules
    ignored = sink({("orders", 0): 40}, offsets_storage_topic="own")
    assert Rule.OWN_OFFSETS_TOPIC not in planner.plan(ignored, to="clear").rules
