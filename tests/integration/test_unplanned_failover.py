"""Failovers after the source cluster was killed, with what is left of it on the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
from failing_over import FailingOver, Flowing, Logs, Positions, commit_groups, contents, rows
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox, wait_until

pytestmark = pytest.mark.mirror


@dataclass(frozen=True)
class Lost:
    """A flow whose source was killed, what was in both logs, and where the groups were by then."""

    flowing: Flowing
    logs: Logs
    positions: Positions


@pytest.fixture(scope="module", params=["source", "target"])
def lost(request: pytest.FixtureRequest) -> Iterator[Lost]:
    """Killed in the midst of replication after a rewind; groups have read on since their last checkpoints."""
    with Sandbox() as sandbox:
        flowing = Flowing.start(sandbox, overrides={"offset-syncs.topic.location": request.param}, groups=12)
        flowing.produce(120)
        flowing.wait_until_replicated()
        flowing.rewind(90)
        flowing.produce(60)
        flowing.wait_until_replicated()
        random = Random(request.param)
        at_checkpoint = flowing.random_positions(12, random)
        commit_groups(sandbox.source, at_checkpoint)
        checkpoints = {"checkpoints": lambda: checkpointed(flowing), **sandbox.connect.work}
        wait_until(lambda: checkpointed(flowing) >= 10, 60, "too few checkpoints", progress=checkpoints)
        positions = {
            group: {where: min(180, position + random.randint(0, 20)) for where, position in offsets.items()}
            for group, offsets in at_checkpoint.items()
        }
        commit_groups(sandbox.source, positions)
        flowing.produce(3_000)
        source = contents(sandbox.source, flowing.topic)
        sandbox.source.process.kill()
        sandbox.connect.stop(flowing.source_connector)
        yield Lost(flowing, Logs(source, contents(sandbox.target, flowing.target_topic)), positions)


def checkpointed(flowing: Flowing) -> int:
    """How many checkpoints there are."""
    if flowing.flow.checkpoints_topic not in flowing.sandbox.target.topics():
        return 0
    return len(flowing.sandbox.target.consume(flowing.flow.checkpoints_topic))


def test_no_record_is_skipped(lost: Lost, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every place is in the replica, before all that its group has not read; re-reads stay within what was said."""
    flowing = lost.flowing
    moving = FailingOver(spark, tmp_path_factory.mktemp("lost").as_uri(), flowing)

    directory, summary = moving.preview(planned=False, source_connector="")
    moved = moving.commit(directory, summary["digest"])

    assert (summary["errors"], dict(moved.left)) == ([], {})
    assert moved.partitions == summary["covered"] >= 10
    for row in rows(directory):
        partition, place = row["kafka_partition"], row["downstream"]
        position = lost.positions[row["group"]][TopicPartition(flowing.topic, partition)]
        assert place <= len(lost.logs.replica[partition])
        again = lost.logs.read_again(partition, position=position, place=place)
        assert again <= row["max_rereads"]
        assert place >= row["checkpoint"]


def test_translated_again_it_is_the_same(
    lost: Lost, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Groups that stand where they are to are left alone, and count as covered."""
    moving = FailingOver(spark, tmp_path_factory.mktemp("lost").as_uri(), lost.flowing)
    first, summary = moving.preview(planned=False, source_connector="")
    moving.commit(first, summary["digest"])

    again, told = moving.preview(planned=False, source_connector="")

    assert (told["commit"], told["covered"], told["errors"]) == (0, summary["covered"], [])
    assert {row["reason"] for row in rows(again)} == {"it stands there already"}
    assert moving.commit(again, told["digest"]).groups == 0
