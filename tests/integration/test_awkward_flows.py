"""Planned failovers of flows with more history than MirrorMaker 2's own, compared record by record."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewPartitions  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import NotDrained
from airflow_provider_connect_offsets.observe.flow import failover
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS
from sandbox import Sandbox, wait_for, wait_until
from tests.support.flows.both_logs import Logs
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import commit_groups

pytestmark = pytest.mark.mirror

# So many that a connector is stopped before it has replicated all of them again.
REWOUND = 100_000


@dataclass(frozen=True)
class Judged:
    """What a translation says of each position in one partition, and what the records of both logs say."""

    logs: Logs
    answers: dict[int, dict[str, Any]]
    partition: int = 0

    def best(self, position: int) -> int:
        """The lowest of the last copies of all that is unread; behind the last copy where no unread record has one."""
        last = {value: at for at, value in enumerate(self.logs.remote_partition[self.partition])}
        source = self.logs.source[self.partition]
        unread = [last[value] for value in source[position:] if value in last]
        return min(unread, default=max((last[value] for value in source if value in last), default=-1) + 1)

    def missing(self, position: int) -> int:
        """How many unread records have no copy."""
        copied = set(self.logs.remote_partition[self.partition])
        return sum(value not in copied for value in self.logs.source[self.partition][position:])

    def read_again(self, position: int, start: int) -> int:
        """How many records from ``start`` on are copies of what was read; somebody else's are none."""
        read = set(self.logs.source[self.partition][:position])
        return sum(value in read for value in self.logs.remote_partition[self.partition][start:])

    def assert_true(self) -> None:
        """Nothing that is unread and has a copy is skipped, and nothing is claimed that the records don't show."""
        for position, row in self.answers.items():
            lower, upper, best = row["downstream"], row["upper"], self.best(position)
            again = self.read_again(position, lower)
            assert lower <= best <= upper
            assert row["missing"] in {None, self.missing(position)}
            assert row["max_rereads"] is None or again <= row["max_rereads"]
            assert not row["exact"] or (lower, upper, again, row["missing"]) == (best, best, 0, 0)


@contextmanager
def flowing_on(sandbox: Sandbox, **settings: Any) -> Iterator[Flowing]:
    flowing = Flowing.start(sandbox, **settings)
    try:
        yield flowing
    finally:
        flowing.close()


def fail_over(moving: FailingOver, *positions: int) -> Judged:
    """Move a group from each of these positions in partition 0, and judge where it went."""
    flowing = moving.flowing
    where = TopicPartition(flowing.topic, 0)
    named = {f"{flowing.mark}-at-{position}": position for position in positions}
    commit_groups(flowing.sandbox.source, {name: {where: position} for name, position in named.items()})
    directory, summary = moving.translate()
    assert summary["errors"] == []
    assert dict(moving.commit(directory, summary["digest"]).left) == {}
    answers = {named[row["group"]]: row for row in rows(directory) if row["group"] in named}
    assert answers.keys() == set(positions)
    return Judged(Logs.read(flowing), answers)


def test_somebody_elses_records_behind_the_last_replicated_one(
    sandbox: Sandbox, spark: SparkSession, tmp_path: Path
) -> None:
    """Producers who moved first wrote them; a group that has read all that was replicated has not read these."""
    with flowing_on(sandbox, partitions=1) as flowing:
        flowing.produce(100)
        flowing.wait_until_replicated()
        sandbox.target.produce(flowing.target_topic, [f"there:{number}" for number in range(50)], partition=0)

        judged = fail_over(FailingOver(spark, tmp_path.as_uri(), flowing), 0, 40, 99, 100)

    judged.assert_true()
    assert {position: row["downstream"] for position, row in judged.answers.items()} == {0: 0, 40: 40, 99: 99, 100: 100}
    # Records that look like none of the source may be changed copies; only a group that has read all is sure.
    assert {position for position, row in judged.answers.items() if row["exact"]} <= {100}


def test_a_connector_that_was_moved_forward_by_hand(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """A group before the records that were passed over: the number of its unread records without a copy is counted."""
    with flowing_on(sandbox, partitions=1) as flowing:
        flowing.produce(200)
        flowing.wait_until_replicated()
        sandbox.connect.stop(flowing.source_connector)
        flowing.produce(100)
        flowing.rewind(300)
        flowing.produce(100)
        flowing.wait_until_replicated()

        judged = fail_over(FailingOver(spark, tmp_path.as_uri(), flowing), 100, 200, 250, 300, 350)

    judged.assert_true()
    places = {position: (row["downstream"], row["missing"]) for position, row in judged.answers.items()}
    assert places == {100: (100, 100), 200: (200, 100), 250: (200, 50), 300: (200, 0), 350: (250, 0)}
    assert {position for position, row in judged.answers.items() if row["exact"]} == {300, 350}


def test_a_partition_that_the_target_lacks_is_no_success(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """Neither drained nor covered, whether a group has an offset in it or not."""
    with flowing_on(sandbox, partitions=2, overrides={"refresh.topics.enabled": "false"}) as flowing:
        flowing.produce(20)
        flowing.wait_until_replicated()
        add_partition(flowing)
        flowing.produce(20)
        at = {number: TopicPartition(flowing.topic, number) for number in range(3)}
        both = {at[0]: 10, at[1]: 10}
        moving = FailingOver(spark, tmp_path.as_uri(), flowing)
        commit_groups(sandbox.source, {f"{flowing.mark}-without": both})
        assert_not_drained(moving)
        commit_groups(sandbox.source, {f"{flowing.mark}-with": {**both, at[2]: 5}})
        assert_not_drained(moving)

        directory, summary = moving.preview(min_coverage=1.0)

    found = {row["kafka_partition"]: row for row in read_dataset(directory.mirror_partitions, MIRROR_PARTITIONS)}
    assert found.keys() == {0, 1, 2}
    absent = found[2]
    assert (absent["source_end"], absent["target_start"], absent["target_end"]) == (20, None, None)
    assert not absent["drained"]
    assert summary["partitions"] == summary["covered"] + 1
    assert "fewer than min_coverage (1) requires" in summary["errors"][0]


def test_a_remote_topic_that_was_created_anew_with_a_checkpoint_of_before(
    sandbox: Sandbox, spark: SparkSession, tmp_path: Path
) -> None:
    """The checkpoint has an offset that is there again, of another record; nothing that is unread is skipped."""
    with flowing_on(sandbox, partitions=1, groups=1) as flowing:
        where = TopicPartition(flowing.topic, 0)
        flowing.produce(300)
        flowing.wait_until_replicated()
        commit_groups(sandbox.source, {f"{flowing.mark}-0": {where: 250}})
        wait_until(lambda: checkpointed_at(flowing) >= 250, 60, "no checkpoint", progress=sandbox.connect.work)
        sandbox.connect.stop(flowing.checkpoint_connector)
        sandbox.connect.stop(flowing.source_connector)
        sandbox.target.delete_topic(flowing.target_topic)
        flowing.produce(400)
        sandbox.connect.resume(flowing.source_connector)
        flowing.wait_until_replicated()

        judged = fail_over(FailingOver(spark, tmp_path.as_uri(), flowing), 0, 249, 250, 300, 600, 700)

    judged.assert_true()
    assert {position: row["downstream"] for position, row in judged.answers.items() if position >= 300} == {
        300: 0,
        600: 300,
        700: 400,
    }


@pytest.mark.parametrize("syncs_on", ["source", "target"])
def test_a_rewind_that_had_not_caught_up_when_the_source_was_lost(
    sandbox: Sandbox, spark: SparkSession, tmp_path: Path, syncs_on: str
) -> None:
    """Checkpoints written since the rewind lie behind the only copies of what a group has yet to read.

    By offset syncs it goes on before these; where they went with the source, it is left alone unless checkpoints are
    trusted. The name of the topic ends like those of internal ones, which MirrorMaker 2 does not take it for.
    """
    located = {"offset-syncs.topic.location": syncs_on}
    with flowing_on(sandbox, partitions=1, groups=1, suffix="internal", overrides=located) as flowing:
        where = TopicPartition(flowing.topic, 0)
        flowing.produce(REWOUND)
        flowing.wait_until_replicated()
        flowing.rewind(0)
        wait_until(lambda: replicated_to(flowing) > REWOUND, 60, "nothing is replicated again")
        sandbox.connect.stop(flowing.source_connector)
        copied_again = replicated_to(flowing) - REWOUND
        assert 0 < copied_again < REWOUND - 10
        position = copied_again + 10
        commit_groups(sandbox.source, {f"{flowing.mark}-0": {where: position}})
        wait_until(lambda: checkpointed_at(flowing) == position, 60, "no checkpoint", progress=sandbox.connect.work)

        moving = FailingOver(spark, tmp_path.as_uri(), flowing)
        directory, summary = moving.preview(planned=False, source_connector="", trust_checkpoints=False)
        logs = Logs.read(flowing)

    [row] = rows(directory)
    assert (row["source_topic"], row["upstream"], row["exact"]) == (flowing.topic, position, False)
    if syncs_on == "source":
        assert (row["action"], row["downstream"]) == ("skip", None)
        assert row["checkpoint"] > REWOUND
        assert "To let it resume there, set the Param trust_checkpoints" in summary["errors"][0]
    else:
        assert summary["errors"] == []
        again = logs.read_again(0, position=position, downstream=row["downstream"])
        assert again <= row["max_rereads"]


def replicated_to(flowing: Flowing) -> int:
    """The log end of the remote topic's first partition."""
    _start, end = flowing.sandbox.target.log_bounds(flowing.target_topic)[0]
    return end


def checkpointed_at(flowing: Flowing) -> int:
    """The position of the last checkpoint of any group; -1: there is none."""
    target, name = flowing.sandbox.target, flowing.flow.checkpoints_topic
    values = [one.value for one in target.consume(name)] if name in target.topics() else []
    return int(struct.unpack_from(">hq", values[-1])[1]) if values and values[-1] else -1


def add_partition(flowing: Flowing) -> None:
    """Give the topic one partition more at the source."""
    source, more = flowing.sandbox.source, flowing.partitions + 1
    with source.admin() as client:
        client.create_partitions([NewPartitions(flowing.topic, more)])[flowing.topic].result(30)
    wait_for(lambda: len(source.log_bounds(flowing.topic)), more, 60, "the partition was not added")


def assert_not_drained(moving: FailingOver) -> None:
    """Neither before anything is stopped, nor with the connector stopped."""
    request, message = moving.request(), r"partition 2 ends at 20 and the target topic .* does not have this partition"
    with moving.clients() as clients:
        with pytest.raises(NotDrained, match=f"Nothing was stopped.*{message}"):
            failover.await_drained(request, clients, timeout=30)
        with pytest.raises(NotDrained, match=f"No group was moved.*{message}"):
            failover.refuse_undrained(failover.observe_failover(request, clients, moving.directory()).remote_partitions)
