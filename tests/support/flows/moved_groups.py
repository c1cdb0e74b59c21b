"""A check that consumer groups miss no record after a planned failover, by the records' values."""

from __future__ import annotations

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from tests.support.flows.both_logs import Logs
from tests.support.flows.failing_over import FailingOver, rows
from tests.support.flows.groups import Positions, commit_groups, committed


def assert_groups_go_on(moving: FailingOver, positions: Positions) -> None:
    """Commit ``positions`` on the source and fail over: no group misses a record, an exact one reads none twice."""
    flowing = moving.flowing
    commit_groups(flowing.sandbox.source, positions)

    directory, summary = moving.translate()
    moved = moving.commit(directory, summary["digest"])

    expected: dict[str, dict[TopicPartition, int]] = {}
    logs = Logs.read(flowing)
    for row in rows(directory):
        partition, downstream = row["kafka_partition"], row["downstream"]
        position = positions[row["group"]][TopicPartition(flowing.topic, partition)]
        expected.setdefault(row["group"], {})[TopicPartition(row["target_topic"], partition)] = downstream
        again = logs.read_again(partition, position=position, downstream=downstream)
        assert again <= (0 if row["exact"] else row["max_rereads"])
        assert not row["exact"] or logs.goes_on(partition, position=position, downstream=downstream)
    assert (summary["errors"], summary["mismatched"], dict(moved.left)) == ([], 0, {})
    assert moved.partitions == len(positions) * flowing.partitions
    assert summary["exact"] >= 0.9 * moved.partitions
    assert committed(flowing.sandbox.target, positions) == expected
