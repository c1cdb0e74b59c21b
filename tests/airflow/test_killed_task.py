"""A task that is cleared or failed by hand: Airflow sends SIGTERM, which calls ``on_kill``, and soon SIGKILL."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import BaseOperator
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.operators.apply import ApplyOffsetPlanOperator
from airflow_provider_connect_offsets.operators.existence import CopyConnectorOperator
from airflow_provider_connect_offsets.operators.fleet import ApplyFleetPlansOperator
from airflow_provider_connect_offsets.operators.shared.events import TellsChanges
from airflow_provider_connect_offsets.report import FleetChange
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result
from tests.airflow.test_template_fields import OPERATORS
from tests.support.flows.flows import Changer, SinkFlow
from tests.support.workers.gate import Fate, Gate, Point, Side, open_gate

# What they change besides what is told as an event.
CHANGE = {"ClearOffsetSyncsOperator", "FindPoisonRecordOperator", "ReplayIntervalOperator"}
# Bases; what undoes or finishes what others have begun; what changes nothing, or (groups) has nothing to undo.
GO_ON = re.compile("^_|Restore|Release|Check|CommitGroupOffsets")
CONTEXT: Any = {"ti": SimpleNamespace(dag_id="d", run_id="r", task_id="apply", map_index=-1)}


@pytest.fixture
def on_term() -> Iterator[list[Any]]:
    """As Airflow's task runner: SIGTERM calls ``on_kill`` of the operator in the list, and nothing else."""
    running: list[Any] = []
    earlier = signal.signal(signal.SIGTERM, lambda *_: running[0].on_kill())
    yield running
    signal.signal(signal.SIGTERM, earlier)


def run(task: Any) -> Any:
    """Execute an operator outside of any DAG run."""
    return type(task).execute.__wrapped__(task, CONTEXT)


def gated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host, _, port = url.removeprefix("http://").partition(":")
    connection = {"conn_type": "kafka_connect", "schema": "http", "host": host, "port": int(port)}
    monkeypatch.setenv("AIRFLOW_CONN_GATED", json.dumps(connection))


def terminate() -> Fate:
    os.kill(os.getpid(), signal.SIGTERM)
    return Fate.PASSES


@pytest.mark.parametrize(
    "name", sorted(CHANGE | {name for name, one in OPERATORS.items() if issubclass(one, TellsChanges)})
)
def test_whatever_can_be_undone_is_interrupted(name: str) -> None:
    """Otherwise a task that is ended goes on for five seconds, dies anywhere, and leaves a connector STOPPED."""
    is_interrupted = OPERATORS[name].on_kill is not BaseOperator.on_kill

    assert is_interrupted is (GO_ON.search(name) is None)


@pytest.mark.usefixtures("connections")
def test_a_copy_that_is_killed_is_undone(sink: SinkFlow, on_term: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The original was stopped for it and the copy created: nothing is left of the copy, and the original runs."""
    copy = f"{sink.name}-2"
    gate = Gate(sink.sandbox.connect.url, Point("PATCH", "/offsets", Side.AFTER), terminate)
    with open_gate(gate) as url:
        gated(url, monkeypatch)
        task = CopyConnectorOperator(
            task_id="copy", connector=sink.name, new_name=copy, stop_original=True, connect_conn_id="gated"
        )
        on_term.append(task)

        with pytest.raises(SystemExit, match="ended from outside"):
            run(task)

    assert gate.reached.is_set()
    assert copy not in sink.sandbox.connect.connectors()
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)


@pytest.mark.usefixtures("connections")
def test_a_change_that_is_killed_is_undone(
    sink: SinkFlow, spark: SparkSession, workspace: str, on_term: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offsets were just written: the task ends, prior offsets and state are restored, and the report says so."""
    changer = Changer(spark, workspace, sink.sandbox.connect.url, sink.sandbox.target)
    planned, summary = changer.plan(sink.name, "earliest")
    before = sink.position()
    gate = Gate(sink.sandbox.connect.url, Point("PATCH", "/offsets", Side.AFTER), terminate)
    with open_gate(gate) as url:
        gated(url, monkeypatch)
        apply = ApplyOffsetPlanOperator(
            task_id="apply", run_uri=planned.uri, digest=summary["digest"], connect_conn_id="gated"
        )
        on_term.append(apply)

        with pytest.raises(SystemExit, match="ended from outside"):
            run(apply)

    assert gate.reached.is_set()
    assert sink.position() == before
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    assert "Applied" not in Path(planned.report.removeprefix("file://")).read_text()


@pytest.mark.usefixtures("connections")
def test_a_fleet_that_is_killed_ends_what_is_under_way(
    sink: SinkFlow, spark: SparkSession, workspace: str, on_term: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connector that is down is finished; the next one is never stopped, and the task fails."""
    changer = Changer(spark, workspace, sink.sandbox.connect.url, sink.sandbox.target)
    second = SinkFlow.start(sink.sandbox)
    names = sorted((sink.name, second.name))
    fleet = changer.plan_fleet(names, "earliest")
    gate = Gate(sink.sandbox.connect.url, Point("PUT", "/stop", Side.AFTER), terminate)
    with open_gate(gate) as url:
        gated(url, monkeypatch)
        apply = ApplyFleetPlansOperator(
            task_id="apply",
            run_uri=fleet.uri,
            digest=FleetChange.read(fleet).digest,
            connect_conn_id="gated",
            max_down=1,
        )
        on_term.append(apply)

        with pytest.raises(Exception, match=f"1 of 2 connectors were not changed. Not begun: {names[1]}"):
            run(apply)

    outcomes = [Outcome.read(fleet.member(name).outcome) for name in names]
    assert [outcome.result if outcome else None for outcome in outcomes] == [Result.APPLIED, None]
    sink.sandbox.connect.delete(second.name)
