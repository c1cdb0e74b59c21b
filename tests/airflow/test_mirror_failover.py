"""Failovers of consumer groups by DAG runs, between two real clusters."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from html import unescape
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlparse

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.connector import stopped
from airflow_provider_connect_offsets.operations.groups.group_clients import groups_of
from airflow_provider_connect_offsets.operations.groups.group_commit import Moved
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, journal_root
from sandbox import Sandbox
from tests.support.airflow.dag_runs import Ran, params_of
from tests.support.flows.both_logs import Logs
from tests.support.flows.failing_over import Flowing
from tests.support.flows.groups import Positions, commit_groups, committed, member
from tests.support.rows.unfolded import unfolded

RunDag = Callable[..., Ran]


@pytest.fixture
def positions(sandbox: Sandbox, flowing: Flowing) -> Positions:
    """Where five groups are on the source."""
    found = flowing.random_positions(5, Random(flowing.mark))
    commit_groups(sandbox.source, found)
    return found


def requested(flowing: Flowing) -> dict[str, str]:
    """Params of a planned failover."""
    return {
        "groups": f"{flowing.mark}-.*",
        "source_connector": flowing.source_connector,
        "checkpoint_connector": flowing.checkpoint_connector,
    }


@pytest.mark.mirror
def test_there_and_back(run_dag: RunDag, flowing: Flowing, positions: Positions) -> None:
    """Every group goes on with its next record; the flow is stopped; a restore leaves no trace of the groups."""
    sandbox = flowing.sandbox

    ran = run_dag("mirror_failover", **requested(flowing))

    final = FailoverDirectory(f"{ran.directory.uri}/final")
    assert (ran.state, ran.tasks["failover.commit"], ran.tasks["failover.release"]) == ("success", "success", "success")
    there, logs = committed(sandbox.target, positions), Logs.read(flowing)
    for group, offsets in positions.items():
        for where, position in offsets.items():
            downstream = there[group][TopicPartition(flowing.target_topic, where.partition)]
            assert logs.goes_on(where.partition, position=position, downstream=downstream)
            assert logs.read_again(where.partition, position=position, downstream=downstream) == 0
    for name in (flowing.source_connector, flowing.checkpoint_connector):
        assert sandbox.connect.status(name)["connector"]["state"] == "STOPPED"
    listed = list(csv.DictReader(StringIO(Path(urlparse(final.table).path).read_text())))
    assert {(row["exact"], row["action"]) for row in listed} == {("True", "commit")}
    assert len(listed) == 10

    undo = Moved.from_json(read_json(final.outcome)).undo
    assert undo in unescape(unfolded(Path(urlparse(final.report).path).read_text()))
    back = run_dag("mirror_failover_restore", **params_of(undo, "mirror_failover_restore"))

    assert back.state == "success"
    assert committed(sandbox.target, positions) == {name: {} for name in positions}


@pytest.mark.jobs
def test_a_group_that_a_change_is_changing_is_left_to_it(
    run_dag: RunDag, flowing: Flowing, positions: Positions, workspace: str
) -> None:
    """Before the flow is stopped, and the message names the run that changes the group."""
    group, cluster = min(positions), groups_of(str(flowing.sandbox.target.cluster_id()))
    change = Owner.here(run="group_offsets_change/manual", task="change.apply")

    with Journal(journal_root(workspace), cluster=cluster, resource=group).claim(change):
        ran = run_dag("mirror_failover", **requested(flowing))

    assert (ran.state, ran.tasks["failover.open"], ran.tasks["failover.begin"]) == (
        "failed",
        "failed",
        "upstream_failed",
    )
    assert f"{group!r} is being changed by run 'group_offsets_change/manual'" in ran.output
    for name in (flowing.source_connector, flowing.checkpoint_connector):
        assert flowing.sandbox.connect.status(name)["connector"]["state"] == "RUNNING"
    assert committed(flowing.sandbox.target, positions) == {name: {} for name in positions}


@pytest.mark.mirror
def test_a_group_with_members_closes_the_gate(run_dag: RunDag, flowing: Flowing, positions: Positions) -> None:
    """It is named, nothing is stopped and nobody is moved; with less coverage requested, the others go.

    They go by brackets alone, too, where no record is to be read.
    """
    sandbox = flowing.sandbox
    busy = min(positions)
    with member(sandbox.target, busy, flowing.target_topic):
        refused = run_dag("mirror_failover", **requested(flowing))

        assert (refused.state, refused.tasks["failover.preview"]) == ("failed", "failed")
        assert f"'{busy}': it has members on the target: stop them first" in refused.output
        assert sandbox.connect.status(flowing.source_connector)["connector"]["state"] == "RUNNING"
        assert committed(sandbox.target, positions) == {name: {} for name in positions}

        ran = run_dag("mirror_failover", min_coverage=0.8, compared=0, resume_flow=True, **requested(flowing))

    assert ran.state == "success"
    moved = committed(sandbox.target, positions)
    assert {name for name, offsets in moved.items() if not offsets} == {busy}
    sandbox.connect.wait_state(flowing.source_connector, "RUNNING", tasks=1)


@pytest.mark.mirror
def test_producers_that_go_on_are_noticed(run_dag: RunDag, flowing: Flowing, positions: Positions) -> None:
    """A flow that can't catch up in time is not stopped, and no group is moved."""
    sandbox = flowing.sandbox
    sandbox.connect.pause(flowing.source_connector)
    flowing.produce(5)

    ran = run_dag("mirror_failover", drain_timeout=1, **requested(flowing))

    assert (ran.state, ran.tasks["failover.begin"]) == ("failed", "failed")
    refused = "Nothing was stopped, and no group was moved. After 1 s, replication is not complete: "
    assert f"{refused}topic '{flowing.topic}', partition 0" in ran.output
    assert sandbox.connect.status(flowing.source_connector)["connector"]["state"] == "PAUSED"
    assert committed(sandbox.target, positions) == {name: {} for name in positions}


def test_a_begin_that_fails_resumes_what_it_has_stopped(
    run_dag: RunDag, flowing: Flowing, positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records come right after the stop, so no group is moved, and the flow goes on."""
    stop_for_run = stopped.stop_for_run

    def stop_and_produce(*arguments: Any, **named: Any) -> list[tuple[str, State]]:
        prior = stop_for_run(*arguments, **named)
        flowing.produce(5)
        return prior

    monkeypatch.setattr(stopped, "stop_for_run", stop_and_produce)
    ran = run_dag("mirror_failover", **requested(flowing))

    tasks = {name: ran.tasks[f"failover.{name}"] for name in ("begin", "release")}
    assert (ran.state, tasks) == ("failed", {"begin": "failed", "release": "success"})
    assert "No group was moved. The connector is stopped, but replication is not complete" in ran.output
    for name in (flowing.source_connector, flowing.checkpoint_connector):
        flowing.sandbox.connect.wait_state(name, "RUNNING", tasks=1)
    assert committed(flowing.sandbox.target, positions) == {name: {} for name in positions}


def test_one_that_can_not_be_resumed_does_not_keep_the_other_from_it(
    run_dag: RunDag, flowing: Flowing, positions: Positions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The MirrorSource is deleted while the flow is STOPPED: the release fails and names it; the other one runs."""
    connect, stop_for_run = flowing.sandbox.connect, stopped.stop_for_run

    def hold_both_and_lose_the_first(*arguments: Any, **named: Any) -> list[tuple[str, State]]:
        prior = stop_for_run(*arguments, **named)
        connect.delete(flowing.source_connector)
        return prior

    monkeypatch.setattr(stopped, "stop_for_run", hold_both_and_lose_the_first)
    ran = run_dag("mirror_failover", **requested(flowing))

    tasks = {name: ran.tasks[f"failover.{name}"] for name in ("begin", "release")}
    assert (ran.state, tasks) == ("failed", {"begin": "failed", "release": "failed"})
    said = rf"{flowing.source_connector!r} .*deleted it.* {flowing.checkpoint_connector!r} is RUNNING again"
    assert any(re.search(said, line) for line in ran.output.splitlines()), ran.output
    connect.wait_state(flowing.checkpoint_connector, "RUNNING", tasks=1)
    assert flowing.source_connector not in connect.connectors()
    assert committed(flowing.sandbox.target, positions) == {name: {} for name in positions}


def test_a_request_that_makes_no_sense(run_dag: RunDag) -> None:
    """It fails at the first task, in one sentence."""
    ran = run_dag("mirror_failover", groups="orders-(", planned=False, source_alias="a", target_alias="b")
    unnamed = run_dag("mirror_failover", planned=True)

    assert (ran.state, "groups: 'orders-(' is not a regular expression" in ran.output) == ("failed", True)
    assert (unnamed.state, "source_connector" in unnamed.output) == ("failed", True)
