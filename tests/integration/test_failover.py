"""Consumer groups that fail over between two real clusters, with a real MirrorMaker 2 between them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from failing_over import FailingOver, Flowing, Positions, commit_groups, rows
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Broker, Sandbox

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


def contents(broker: Broker, topic: str) -> dict[int, list[bytes | None]]:
    """The values of a topic without gaps, by partition."""
    found: dict[int, list[bytes | None]] = {}
    for record in broker.consume(topic):
        assert record.offset == len(found.setdefault(record.partition, []))
        found[record.partition].append(record.value)
    return found


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
    sandbox = flowing.sandbox
    source, replica = contents(sandbox.source, flowing.topic), contents(sandbox.target, flowing.target_topic)
    for row in rows(directory):
        partition, place = row["kafka_partition"], row["downstream"]
        left = source[partition][positions[row["group"]][TopicPartition(flowing.topic, partition)] :]
        read = replica[partition][place:]
        assert set(left) <= set(read)
        again = sum(value not in set(left) for value in read)
        assert again <= (0 if row["exact"] else row["max_rereads"])
        assert not row["exact"] or read[:1] == left[:1]
    assert summary["checkpoint_rereads"] > 0
