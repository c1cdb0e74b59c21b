"""Failovers after the source cluster was killed, with the evidence left on the target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox, wait_until
from tests.support.flows.both_logs import Logs, contents
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import Positions, commit_groups
from tests.support.flows.readiness import look_at

pytestmark = pytest.mark.mirror


@dataclass(frozen=True)
class Lost:
    """A flow whose source was killed, what was in both logs, and where the groups were by then.

    looked_at: where they were when its readiness was looked at last; workspace: where that is kept.
    """

    flowing: Flowing
    logs: Logs
    positions: Positions
    looked_at: Positions
    workspace: str


@pytest.fixture(scope="module", params=["source", "target"])
def lost(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Lost]:
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
        workspace = tmp_path_factory.mktemp("looks").as_uri()
        look_at(flowing, spark, workspace)
        # Or it would have some of the positions to come, on a slow machine.
        sandbox.connect.stop(flowing.checkpoint_connector)
        positions = {
            group: {where: min(180, position + random.randint(0, 20)) for where, position in offsets.items()}
            for group, offsets in at_checkpoint.items()
        }
        commit_groups(sandbox.source, positions)
        flowing.produce(3_000)
        source = contents(sandbox.source, flowing.topic)
        sandbox.source.process.kill()
        sandbox.connect.stop(flowing.source_connector)
        logs = Logs(source, contents(sandbox.target, flowing.target_topic))
        yield Lost(flowing, logs, positions, at_checkpoint, workspace)


def checkpointed(flowing: Flowing) -> int:
    """How many checkpoints there are."""
    if flowing.flow.checkpoints_topic not in flowing.sandbox.target.topics():
        return 0
    return len(flowing.sandbox.target.consume(flowing.flow.checkpoints_topic))


def test_no_record_is_skipped(lost: Lost, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each translated offset is in the remote topic, before all that its group has not read; re-reads as predicted."""
    flowing = lost.flowing
    moving = FailingOver(spark, tmp_path_factory.mktemp("lost").as_uri(), flowing)

    directory, summary = moving.preview(planned=False, source_connector="")
    moved = moving.commit(directory, summary["digest"])

    assert (summary["errors"], dict(moved.left)) == ([], {})
    assert moved.partitions == summary["covered"] >= 10
    for row in rows(directory):
        partition, downstream = row["kafka_partition"], row["downstream"]
        position = lost.positions[row["group"]][TopicPartition(flowing.topic, partition)]
        assert downstream <= len(lost.logs.remote_partition[partition])
        again = lost.logs.read_again(partition, position=position, downstream=downstream)
        assert again <= row["max_rereads"]
        assert downstream >= row["checkpoint"]


def test_by_a_ledger_offsets_are_exact(lost: Lost, spark: SparkSession) -> None:
    """Wherever the syncs were, of all groups, from where the readiness run has observed them."""
    flowing = lost.flowing
    moving = FailingOver(spark, lost.workspace, flowing)

    directory, summary = moving.preview(planned=False, source_connector="")

    assert (summary["errors"], summary["groups"], summary["by_ledger"] > 0) == ([], 12, True)
    assert summary["exact"] >= 0.95 * summary["covered"] > 0
    for row in rows(directory):
        partition, downstream = row["kafka_partition"], row["downstream"]
        assert row["upstream"] == lost.looked_at[row["group"]][TopicPartition(flowing.topic, partition)]
        assert lost.logs.read_again(partition, position=row["upstream"], downstream=downstream) <= row["max_rereads"]


def test_translated_again_it_is_the_same(
    lost: Lost, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Groups that have their translated offsets already are left alone, and count as covered."""
    moving = FailingOver(spark, tmp_path_factory.mktemp("lost").as_uri(), lost.flowing)
    first, summary = moving.preview(planned=False, source_connector="")
    moving.commit(first, summary["digest"])

    again, judged = moving.preview(planned=False, source_connector="")

    assert (judged["commit"], judged["covered"], judged["errors"]) == (0, summary["covered"], [])
    assert {row["reason"] for row in rows(again)} == {"it is already there"}
    assert moving.commit(again, judged["digest"]).groups == 0
