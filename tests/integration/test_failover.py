"""Failovers of consumer groups between two real clusters, with a real MirrorMaker 2."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import GroupsNotMoved, NotDrained, PlanRefused
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups import group_commit
from airflow_provider_connect_offsets.operations.groups.group_restore import restore_groups
from airflow_provider_connect_offsets.operations.stages.groups.prior_groups import write_replaced
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Sandbox
from tests.support.flows.both_logs import Logs
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import Positions, cluster, commit_groups, committed, member
from tests.support.programs import commit_process

pytestmark = pytest.mark.mirror

GROUPS, PARTITIONS = 300, 20


@dataclass(frozen=True)
class Translated:
    """A planned failover up to its commit: the flow is STOPPED, and all is translated."""

    moving: FailingOver
    positions: Positions
    directory: FailoverDirectory
    summary: dict[str, Any]

    @property
    def flowing(self) -> Flowing:
        return self.moving.flowing

    def on_target(self) -> dict[str, dict[TopicPartition, int]]:
        return committed(self.flowing.sandbox.target, self.positions)

    def expected(self) -> dict[str, dict[TopicPartition, int]]:
        found: dict[str, dict[TopicPartition, int]] = {}
        for row in rows(self.directory):
            where = TopicPartition(row["target_topic"], row["kafka_partition"])
            found.setdefault(row["group"], {})[where] = row["downstream"]
        return found

    def restore(self) -> None:
        with cluster(self.flowing.sandbox.target) as target:
            restore_groups(self.directory, target)


@pytest.fixture(scope="module")
def translated(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Translated]:
    """A flow with two restarts of its task and one rewind behind it, and groups at random positions of its topic."""
    flowing = Flowing.start(sandbox, partitions=PARTITIONS)
    flowing.live_through(150, restart_with=110, rewind_to=170, more=70)
    flowing.restart_task()
    flowing.produce(60)
    flowing.wait_until_replicated()
    positions = flowing.random_positions(GROUPS, Random(flowing.mark))
    commit_groups(sandbox.source, positions)
    moving = FailingOver(spark, tmp_path_factory.mktemp("failover").as_uri(), flowing)
    directory, summary = moving.translate()
    yield Translated(moving, positions, directory, summary)
    flowing.close()


@pytest.fixture
def going(translated: Translated) -> Iterator[Translated]:
    """The same; the groups get their prior offsets back after a test."""
    yield translated
    translated.restore()
    assert not any(translated.on_target().values())


def test_every_group_goes_on_with_its_next_record(going: Translated) -> None:
    """By content, no record is lost, none is read again after an exact offset, and nearly all offsets are exact."""
    moved = going.moving.commit(going.directory, going.summary["digest"])

    summary = going.summary
    assert (summary["errors"], summary["mismatched"]) == ([], 0)
    assert (moved.groups, moved.partitions, dict(moved.left)) == (GROUPS, GROUPS * PARTITIONS, {})
    assert summary["exact"] >= 0.99 * GROUPS * PARTITIONS
    assert summary["checkpoint_rereads"] + summary["without_checkpoint"] > 0
    assert going.on_target() == going.expected()
    logs = Logs.read(going.flowing)
    for row in rows(going.directory):
        partition, downstream = row["kafka_partition"], row["downstream"]
        position = going.positions[row["group"]][TopicPartition(going.flowing.topic, partition)]
        again = logs.read_again(partition, position=position, downstream=downstream)
        assert again <= (0 if row["exact"] else row["max_rereads"])
        assert not row["exact"] or logs.goes_on(partition, position=position, downstream=downstream)


def test_a_commit_that_is_killed_ends_complete_when_it_is_run_again(going: Translated) -> None:
    """The kept prior offsets are still those from before the first attempt."""
    bootstrap = going.flowing.sandbox.target.bootstrap
    program = ["-m", commit_process.__name__, bootstrap, going.directory.uri, going.summary["digest"], str(GROUPS // 2)]

    killed = subprocess.run([sys.executable, *program], check=False, cwd=Path.cwd(), env=_environment())

    assert killed.returncode == -signal.SIGKILL
    assert 0 < sum(map(bool, going.on_target().values())) <= GROUPS // 2

    moved = going.moving.commit(going.directory, going.summary["digest"])

    assert (moved.groups, dict(moved.left)) == (GROUPS, {})
    assert going.on_target() == going.expected()


def test_a_group_with_members_is_refused_by_name(going: Translated) -> None:
    """The others are moved; once nobody is in it, running it again moves it too."""
    busy = min(going.positions)
    with (
        member(going.flowing.sandbox.target, busy, going.flowing.target_topic),
        pytest.raises(GroupsNotMoved, match=f"1 of 300 groups were not moved, .*'{busy}': it has members"),
    ):
        going.moving.commit(going.directory, going.summary["digest"])
    assert {name for name, offsets in going.on_target().items() if not offsets} == {busy}

    assert going.moving.commit(going.directory, going.summary["digest"]).left == {}

    assert going.on_target() == going.expected()


def test_another_translation_is_not_committed(going: Translated) -> None:
    """What was judged is what is committed, and nothing else."""
    with pytest.raises(PlanRefused, match="is not the approved translation"):
        going.moving.commit(going.directory, "0" * 64)
    assert not any(going.on_target().values())
    going.moving.commit(going.directory, going.summary["digest"])  # so that there is something to restore


def test_records_that_come_after_the_stop_are_noticed(going: Translated, monkeypatch: pytest.MonkeyPatch) -> None:
    """While groups are committed they are counted, before that they refuse it. The last test: the flow has more now."""

    def late(*arguments: Any) -> None:
        going.flowing.produce(PARTITIONS)
        write_replaced(*arguments)

    monkeypatch.setattr(group_commit, "write_replaced", late)
    moved = going.moving.commit(going.directory, going.summary["digest"])
    assert moved.left == {}
    assert re.match(rf"the source received \d+ records: \d+ in topic '{going.flowing.topic}', partition 0", moved.late)
    going.restore()

    with pytest.raises(NotDrained, match=rf"No group was moved. .* received .* records: .*{going.flowing.topic}"):
        going.moving.commit(going.directory, going.summary["digest"])
    assert not any(going.on_target().values())


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(Path.cwd())}
