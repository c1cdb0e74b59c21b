"""Failbacks of consumer groups between two real clusters, with a real MirrorMaker 2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from sandbox import Sandbox
from tests.support.flows.failing_back import FailingBack, Home, Leading, at_the_ends, away_positions, merged, produce
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import commit_groups, committed

pytestmark = pytest.mark.mirror

GROUPS, PARTITIONS = 30, 4
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}


@pytest.fixture
def flowing(sandbox: Sandbox) -> Iterator[Flowing]:
    """A flow that has a restart of its task and a rewind behind it."""
    yield from _flowing(sandbox)


@pytest.fixture
def own_separator(sandbox: Sandbox) -> Iterator[Flowing]:
    """The same, whose remote topics are named with another separator."""
    yield from _flowing(sandbox, {"replication.policy.separator": "_"})


@pytest.fixture
def same_names(sandbox: Sandbox) -> Iterator[Flowing]:
    """The same, whose remote topics keep their names."""
    yield from _flowing(sandbox, IDENTITY)


def _flowing(sandbox: Sandbox, overrides: dict[str, str] | None = None) -> Iterator[Flowing]:
    flowing = Flowing.start(sandbox, partitions=PARTITIONS, overrides=overrides)
    flowing.live_through(150, restart_with=110, rewind_to=170, more=70)
    yield flowing
    flowing.close()


@pytest.fixture
def there(spark: SparkSession, tmp_path: Path, flowing: Flowing) -> FailingOver:
    return FailingOver(spark, tmp_path.as_uri(), flowing)


def test_groups_go_home_from_remote_topics_and_from_what_was_produced_meanwhile(there: FailingOver) -> None:
    """All offsets are exact; two of each three groups have read the target's own topic as well."""
    flowing = there.flowing
    sandbox, random = flowing.sandbox, Random(flowing.mark)
    sandbox.connect.stop(flowing.source_connector)
    flowing.produce(20)  # left behind: the flow was gone before these were replicated
    sandbox.target.create_topic(flowing.topic, partitions=PARTITIONS)
    produce(sandbox.target, flowing.topic, 120, mark="there")
    back = Leading.start(flowing, flowing.topic)
    try:
        back.wait_until_replicated()
        meanwhile = away_positions(flowing, flowing.topic, GROUPS * 2 // 3, random)
        positions = merged(away_positions(flowing, flowing.target_topic, GROUPS, random), meanwhile)
        commit_groups(sandbox.target, positions)
        failing_back = FailingBack(there, back)

        directory, summary = failing_back.translate()
        moved = failing_back.commit(directory, summary["digest"])

        assert (summary["errors"], moved.groups, dict(moved.left)) == ([], GROUPS, {})
        assert summary["partitions"] == PARTITIONS * (GROUPS + GROUPS * 2 // 3)
        assert summary["exact"] >= 0.99 * summary["partitions"]
        copies = flowing.flow.opposite().target_topic(flowing.topic)
        logs = Home.read(flowing, away=(flowing.topic, flowing.target_topic), home=(flowing.topic, copies))
        assert logs.errors_in(directory) == []
        at_home = committed(sandbox.source, positions)
        assert {name: len(offsets) for name, offsets in at_home.items()} == {
            name: len(offsets) for name, offsets in positions.items()
        }
    finally:
        back.close()


def test_without_a_flow_that_leads_back_nothing_may_be_left_unread(
    spark: SparkSession, tmp_path: Path, own_separator: Flowing
) -> None:
    """Who has not read what was produced on the target stays, and is named; who has goes home from the remote topic."""
    flowing = own_separator
    sandbox, there = flowing.sandbox, FailingOver(spark, tmp_path.as_uri(), flowing)
    sandbox.target.create_topic(flowing.topic, partitions=PARTITIONS)
    produce(sandbox.target, flowing.topic, 10, mark="there")
    remote_partition = away_positions(flowing, flowing.target_topic, 2, Random(flowing.mark))
    done, busy = sorted(remote_partition)
    remote_partition[done] |= at_the_ends(flowing, flowing.topic)
    remote_partition[busy] |= {where: end - 3 for where, end in at_the_ends(flowing, flowing.topic).items()}
    commit_groups(sandbox.target, remote_partition)
    failing_back = FailingBack(there, None)

    _, refused = failing_back.translate()
    directory, summary = failing_back.translate(min_coverage=0.5)

    [error] = refused["errors"]
    # Where a group has read all of a topic that isn't at home, there is nothing to be said of it.
    assert error.startswith("8 of 12 partitions are translated, fewer than min_coverage (1) requires.")
    assert f"'{busy}': the target lacks 3 records that the group has not read" in error
    assert summary["errors"] == []
    assert Home.read(flowing, away=(flowing.target_topic,), home=(flowing.topic,)).errors_in(directory) == []
    failing_back.commit(directory, summary["digest"])


@pytest.mark.parametrize(
    ("begins", "compared"),
    [("behind what came from home", 100_000), ("behind what came from home", 40), ("at the start", 100_000)],
)
def test_logs_of_the_same_name(
    spark: SparkSession, tmp_path: Path, same_names: Flowing, begins: str, compared: int
) -> None:
    """What was produced behind the remote topic's end isn't skipped, nor are its copies taken for home's own records.

    Also where that is more than is compared of either log.
    """
    sandbox, topic, random = same_names.sandbox, same_names.topic, Random(same_names.mark)
    there = FailingOver(spark, tmp_path.as_uri(), same_names)
    sandbox.connect.stop(same_names.source_connector)
    ends = {number: end for number, (_start, end) in sandbox.target.log_bounds(topic).items()}
    produce(sandbox.target, topic, 120, mark="there")
    back = Leading.start(same_names, topic, overrides=IDENTITY, begins=ends if begins.startswith("behind") else None)
    try:
        back.wait_until_replicated()
        positions = away_positions(same_names, topic, GROUPS, random)
        commit_groups(sandbox.target, positions)
        failing_back = FailingBack(there, back)

        directory, summary = failing_back.translate(compared=compared)
        moved = failing_back.commit(directory, summary["digest"])

        assert (summary["errors"], moved.groups) == ([], GROUPS)
        assert Home.read(same_names, away=(topic,), home=(topic,)).errors_in(directory) == []
        beyond = [row for row in rows(directory) if row["upstream"] >= ends[row["kafka_partition"]]]
        assert all(row["exact"] for row in beyond)
        if begins.startswith("behind") and compared >= max(ends.values()):
            assert summary["exact"] >= 0.99 * summary["partitions"]
    finally:
        back.close()


def test_records_that_never_left_home_are_not_skipped_either(
    spark: SparkSession, tmp_path: Path, same_names: Flowing
) -> None:
    """They are before the copies, so that a group that has read the others reads some again."""
    sandbox, topic = same_names.sandbox, same_names.topic
    there = FailingOver(spark, tmp_path.as_uri(), same_names)
    sandbox.connect.stop(same_names.source_connector)
    same_names.produce(20)
    ends = {number: end for number, (_start, end) in sandbox.target.log_bounds(topic).items()}
    produce(sandbox.target, topic, 50, mark="there")
    back = Leading.start(same_names, topic, overrides=IDENTITY, begins=ends)
    try:
        back.wait_until_replicated()
        positions = away_positions(same_names, topic, 5, Random(same_names.mark))
        positions[f"{same_names.mark}-0"] = at_the_ends(same_names, topic)
        commit_groups(sandbox.target, positions)

        directory, summary = FailingBack(there, back).translate()

        assert summary["errors"] == []
        assert Home.read(same_names, away=(topic,), home=(topic,)).errors_in(directory) == []
        read_all = [row for row in rows(directory) if row["group"] == f"{same_names.mark}-0"]
        assert {(row["exact"], row["max_rereads"]) for row in read_all} == {(False, 70)}
        FailingBack(there, back).commit(directory, summary["digest"])
    finally:
        back.close()
