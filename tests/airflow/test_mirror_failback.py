"""A failback of consumer groups by a DAG run, between two real clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

import pytest

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups.group_commit import Moved
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Sandbox
from tests.support.airflow.dag_runs import Ran, params_of
from tests.support.flows.failing_back import Home, Leading, away_positions, merged, produce
from tests.support.flows.failing_over import Flowing
from tests.support.flows.groups import commit_groups, committed

RunDag = Callable[..., Ran]


@pytest.fixture
def back(sandbox: Sandbox, flowing: Flowing) -> Iterator[Leading]:
    """What was produced on the target meanwhile, and a flow that replicates it to the source."""
    sandbox.target.create_topic(flowing.topic, partitions=flowing.partitions)
    produce(sandbox.target, flowing.topic, 30, mark="there")
    leading = Leading.start(flowing, flowing.topic)
    leading.wait_until_replicated()
    yield leading
    leading.close()


@pytest.mark.mirror
def test_home_and_away_again(run_dag: RunDag, flowing: Flowing, back: Leading) -> None:
    """No record is skipped or read twice; both flows are stopped; a restore gives the groups what they had at home."""
    sandbox, random = flowing.sandbox, Random(flowing.mark)
    positions = merged(
        away_positions(flowing, flowing.target_topic, 5, random), away_positions(flowing, flowing.topic, 5, random)
    )
    commit_groups(sandbox.target, positions)
    before = {name: {TopicPartition(flowing.topic, 0): 7} for name in positions}
    commit_groups(sandbox.source, before)
    requested = {"groups": f"{flowing.mark}-.*", "forward_connector": flowing.source_connector}

    ran = run_dag("mirror_failback", source_connector=back.connector, rewind=".*", **requested)

    final = FailoverDirectory(f"{ran.directory.uri}/final")
    assert (ran.state, ran.tasks["failback.commit"], ran.tasks["failback.release"]) == ("success", "success", "success")
    copies = flowing.flow.opposite().target_topic(flowing.topic)
    logs = Home.read(flowing, away=(flowing.topic, flowing.target_topic), home=(flowing.topic, copies))
    assert logs.errors_in(final) == []
    assert all(len(offsets) == 4 for offsets in committed(sandbox.source, positions).values())
    for name in (flowing.source_connector, back.connector):
        assert sandbox.connect.status(name)["connector"]["state"] == "STOPPED"

    undo = Moved.from_json(read_json(final.outcome)).undo
    restored = run_dag("mirror_failover_restore", **params_of(undo, "mirror_failover_restore"))

    assert restored.state == "success"
    assert committed(sandbox.source, positions) == before


def test_a_request_that_makes_no_sense(run_dag: RunDag) -> None:
    """It fails at the first task, in one sentence."""
    unnamed = run_dag("mirror_failback")

    assert (unnamed.state, "Set forward_connector." in unnamed.output) == ("failed", True)
