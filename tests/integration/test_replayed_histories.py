"""Histories of the model replayed on real topics: logs, offset syncs and translations are the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox
from tests.support.flows.failing_over import FailingOver, rows
from tests.support.flows.groups import commit_groups
from tests.support.model.mirror_logs import of_log
from tests.support.model.mirror_replayed import Replay, replaying
from tests.support.model.mirror_rows import Answer
from tests.support.model.mirror_world import Ending

pytestmark = pytest.mark.mirror

TOPICS, ROUNDS, SEED, GROUPS = 16, 3, 1, 6


@pytest.fixture(scope="module")
def replay(sandbox: Sandbox) -> Iterator[Replay]:
    """All of it has happened, and all is replicated."""
    with replaying(sandbox, TOPICS, SEED) as replay:
        replay.run(ROUNDS)
        yield replay


def test_the_logs_are_those_of_the_model(replay: Replay) -> None:
    """Each record has the content, timestamp and offset of the model."""
    target_topic, sandbox = replay.flowing.flow.target_topic, replay.sandbox
    source = {one.topic: replay.seen(sandbox.source, one.topic) for one in replay.played}
    target = {one.topic: replay.seen(sandbox.target, target_topic(one.topic)) for one in replay.played}

    assert source == {one.topic: of_log(one.world.source) for one in replay.played}
    assert target == {one.topic: of_log(one.world.target) for one in replay.played}


def test_so_are_the_offset_syncs(replay: Replay) -> None:
    """Each maps a record to its copy, in the order in which they were replicated; the last record has one.

    Not all that the rule asks for are sent: no more than ten may be under way, of all topics together.
    """
    replay.wait_until_synced()

    sent = replay.syncs()
    for one in replay.played:
        replicated = iter(one.copied)
        assert [mapping for mapping in sent[one.topic] if mapping not in replicated] == []


def test_answers_are_true_of_the_model(replay: Replay, spark: SparkSession, tmp_path: Path) -> None:
    """Groups at any position are translated by a planned failover, which reads real logs."""
    random = Random(SEED)
    positions = {
        f"{replay.flowing.mark}-{number}": {
            TopicPartition(one.topic, 0): random.randint(one.world.source.start, one.world.source.end)
            for one in replay.played
        }
        for number in range(GROUPS)
    }
    commit_groups(replay.sandbox.source, positions)
    worlds = {one.topic: one.world for one in replay.played}
    for world in worlds.values():
        world.ending = Ending.DRAINED

    directory, summary = FailingOver(spark, tmp_path.as_uri(), replay.flowing).translate(min_coverage=0)

    names = ("downstream", "upper", "missing", "exact", "max_rereads", "method", "claimed")
    found = [
        Answer(worlds[row["source_topic"]], row["upstream"], *(row[name] for name in names)) for row in rows(directory)
    ]
    assert summary["errors"] == []
    assert len(found) == TOPICS * GROUPS
    assert [str(one) for one in found if one.wrong] == []
    can_be = [one for one in found if one.can_be_exact]
    assert sum(one.exact for one in can_be) >= 0.4 * len(can_be) > 0
