"""What was written is read again, with the same bytes and timestamps."""

from __future__ import annotations

import time

import pytest

from sandbox import Record, Sandbox, SandboxError

LONG_AGO = 1_000_000_000_000  # 2001


def test_records_come_back_as_they_were_written(sandbox: Sandbox) -> None:
    """Values, keys, nulls, order and timestamps survive, also timestamps that any retention would delete."""
    sandbox.source.create_topic("round-trip")

    written = sandbox.source.produce(
        "round-trip", ["a", b"\xff", None], keys=["k", None, b""], partition=0, timestamps=[LONG_AGO, LONG_AGO + 5, 7]
    )

    assert written == 3
    assert sandbox.source.consume("round-trip") == [
        Record("round-trip", 0, 0, LONG_AGO, b"k", b"a"),
        Record("round-trip", 0, 1, LONG_AGO + 5, None, b"\xff"),
        Record("round-trip", 0, 2, 7, b"", None),
    ]


def test_records_without_a_time_get_the_present_one(sandbox: Sandbox) -> None:
    """Like those of any producer, they have the time of their production."""
    sandbox.source.create_topic("now")
    before = time.time_ns() // 1_000_000
    sandbox.source.produce("now", ["a"])

    assert before <= sandbox.source.consume("now")[0].timestamp_ms <= time.time_ns() // 1_000_000


def test_reading_starts_where_requested_and_ends_at_the_end(sandbox: Sandbox) -> None:
    """One start for all partitions, one for each, or one partition alone."""
    topic = "starts"
    sandbox.source.create_topic(topic, partitions=3)
    for partition in range(3):
        sandbox.source.produce(topic, map(str, range(10)), partition=partition)

    def places(records: list[Record]) -> list[tuple[int, int]]:
        return [(record.partition, record.offset) for record in records]

    assert len(sandbox.source.consume(topic)) == 30
    assert places(sandbox.source.consume(topic, start=9)) == [(0, 9), (1, 9), (2, 9)]
    assert places(sandbox.source.consume(topic, start={0: 8, 1: 10, 2: 9})) == [(0, 8), (0, 9), (2, 9)]
    assert places(sandbox.source.consume(topic, partition=1, start=8)) == [(1, 8), (1, 9)]
    assert sandbox.source.consume(topic, start=10) == []


def test_bounds_follow_deleted_records(sandbox: Sandbox) -> None:
    """What retention would do can be done at will, and reading then starts at what is left."""
    topic = "bounds"
    sandbox.source.create_topic(topic, partitions=2)
    sandbox.source.produce(topic, map(str, range(10)), partition=0)

    sandbox.source.delete_records(topic, {0: 4})

    assert sandbox.source.log_bounds(topic) == {0: (4, 10), 1: (0, 0)}
    assert [record.offset for record in sandbox.source.consume(topic)] == [4, 5, 6, 7, 8, 9]


def test_a_compacted_topic_is_read_to_its_end(sandbox: Sandbox) -> None:
    """Topics are created with any configuration."""
    sandbox.source.create_topic("compacted", config={"cleanup.policy": "compact"})
    sandbox.source.produce("compacted", ["1", "2"], keys=["a", "a"])

    assert [record.value for record in sandbox.source.consume("compacted")][-1] == b"2"


def test_topics_appear_and_go(sandbox: Sandbox) -> None:
    """After the call it is so, and nothing brings a deleted topic back."""
    sandbox.target.create_topic("short-lived")
    assert "short-lived" in sandbox.target.topics()

    sandbox.target.delete_topic("short-lived")

    assert "short-lived" not in sandbox.target.topics()
    with pytest.raises(SandboxError, match="no topic short-lived"):
        sandbox.target.consume("short-lived")
    with pytest.raises(SandboxError, match="1 of 1 records were not delivered"):
        sandbox.target.produce("short-lived", ["a"])
    assert "short-lived" not in sandbox.target.topics()


def test_many_records_fit_through_a_full_queue(sandbox: Sandbox) -> None:
    """More records than librdkafka can queue arrive in order."""
    sandbox.source.create_topic("many")

    assert sandbox.source.produce("many", map(str, range(150_000)), partition=0) == 150_000

    assert [int(record.value or b"-1") for record in sandbox.source.consume("many")] == list(range(150_000))


def test_the_clusters_are_two(sandbox: Sandbox) -> None:
    """A topic of the source is none of the target."""
    sandbox.source.create_topic("only-here")

    assert "only-here" not in sandbox.target.topics()
    assert sandbox.source.bootstrap != sandbox.target.bootstrap


def test_the_admin_client_is_the_librarys(sandbox: Sandbox) -> None:
    """For everything that the sandbox has no word for."""
    with sandbox.target.admin() as admin:
        assert len(admin.describe_cluster().result().nodes) == 1
