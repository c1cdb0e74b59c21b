"""Consumer groups that fail over between two real clusters, with a real MirrorMaker 2 between them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from failing_over import FailingOver, Flowing, Logs, Positions, commit_groups, rows
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Sandbox

GROUPS, PARTITIONS = 300, 20


@pytest.fixture(scope="module")
def restless(sandbox: Sandbox) -> Iterator[tuple[Flowing, Positions]]:
    """A flow with two restarts of its task and one rewind behind it, and groups at random places of its topic."""
    flowing = Flowing.start(sandbox, partitions=PARTITIONS)
    flowing.produce(150)
    flowing.wait_until_replicated()
    flowing.restart_task()
    flowing.produce(110)
    flowing.wait_until_replicated()
    flowing.rewind(170)
    flowing.produce(70)
    flowing.wait_until_replicated()
    flowing.restart_task()
    flowing.produce(60)
    flowing.wait_until_replicated()
    positions = flowing.random_positions(GROUPS, Random(flowing.mark))
    commit_groups(sandbox.source, positions)
    yield flowing, positions
    flowing.close()


def test_a_planned_failover(
    restless: tuple[Flowing, Positions], spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each group's first record on the target is the next one that it would have read on the source; none is lost."""
    flowing, positions = restless
    moving = FailingOver(spark, tmp_path_factory.mktemp("failover").as_uri(), flowing)

    directory, summary = moving.translate()
    moved = moving.commit(directory, summary["digest"])

    assert (summary["errors"], summary["mismatched"]) == ([], 0)
    assert (moved.groups, moved.partitions, dict(moved.left)) == (GROUPS, GROUPS * PARTITIONS, {})
    assert summary["exact"] >= 0.99 * GROUPS * PARTITIONS
    assert summary["checkpoint_rereads"] > 0
    logs = Logs.read(flowing)
    for row in rows(directory):
        partition, place = row["kafka_partition"], row["downstream"]
        position = positions[row["group"]][TopicPartition(flowing.topic, partition)]
        again = logs.read_again(partition, position=position, place=place)
        assert again <= (0 if row["exact"] else row["max_rereads"])
        assert not row["exact"] or logs.goes_on(partition, position=position, place=place)
