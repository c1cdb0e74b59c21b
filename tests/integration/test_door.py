"""The door on a real worker: who goes forward, what counts as done, and who may change anything."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Drift, NotRunning, Overlap
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import wait_until
from tests.support.faults.faulty_clients import Fault, Faults, Killed
from tests.support.flows.flows import RECORDS, Changer, SinkFlow

# The calls of a change are the same each time: the write is followed by its proof.
WRITE = "write_offsets"


def owner(run: str = "") -> Owner:
    return Owner.here(run=run or f"test/{uuid4().hex}", task="apply")


def die_after_the_write(changer: Changer, run: RunDirectory, by: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run die when it has written its offsets, before it reads them back."""
    plan = read_plan(run)

    class Dying(Faults):
        def call(self, name: str, call: Any) -> Any:
            self.at = len(self.calls) if name == WRITE else self.at
            return super().call(name, call)

    dying = Dying(Fault.KILLED, after=True)
    with changer.clients() as clients, dying.files(monkeypatch), pytest.raises(Killed):
        apply_plan(plan, dying.clients(clients), by)
    dying.mend()


def test_another_run_never_lets_it_run_on_what_a_dead_one_has_written(
    sink: SinkFlow, target_changer: Changer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run rewinds to 0 and dies; the next one sets 50: the sink delivers from 50 on, and nothing before."""
    written = len(sink.lines())
    run, _summary = target_changer.plan(sink.name, "offset", "0")
    die_after_the_write(target_changer, run, owner(), monkeypatch)
    assert sink.position() == 0

    outcome = target_changer.change(sink.name, "offset", "50")

    sink.wait_until_caught_up()
    assert (outcome.result, outcome.prior_state, outcome.final_state) == (Result.APPLIED, "RUNNING", "RUNNING")
    assert f"{sink.name!r} stays STOPPED for the operation that follows" in outcome.warnings[0]
    assert outcome.downtime_seconds
    assert sink.lines()[written:] == [str(number) for number in range(50, RECORDS)]


def test_the_same_run_goes_forward(sink: SinkFlow, target_changer: Changer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next attempt finishes the change, and does not make it twice."""
    written, by = len(sink.lines()), owner()
    run, _summary = target_changer.plan(sink.name, "offset", "50")
    die_after_the_write(target_changer, run, by, monkeypatch)

    outcome = target_changer.apply(run, name=by.run)

    sink.wait_until_caught_up()
    assert outcome.result is Result.APPLIED
    assert sink.lines()[written:] == [str(number) for number in range(50, RECORDS)]


def test_a_cleared_run_does_not_call_another_ones_offsets_its_own(sink: SinkFlow, target_changer: Changer) -> None:
    """It was applied; another run has set something else since, or a person has, or has deleted the connector."""
    connect, where = sink.sandbox.connect, {"kafka_topic": sink.topic, "kafka_partition": 0}
    connect.stop(sink.name)
    run, by = target_changer.plan(sink.name, "offset", "50")[0], f"test/{uuid4().hex}"
    assert target_changer.apply(run, name=by).result is Result.APPLIED
    assert target_changer.apply(run, name=by).result is Result.APPLIED, "as long as nothing has changed"

    connect.alter(sink.name, [{"partition": where, "offset": {"kafka_offset": 3}}])
    with pytest.raises(
        Drift, match=r"an earlier attempt of this run has completed .* no longer stands: .*\"kafka_offset\":3"
    ):
        target_changer.apply(run, name=by)

    target_changer.change(sink.name, "offset", "20")
    with pytest.raises(
        Drift, match=r"an earlier attempt of this run has completed .*, and run 'test/\w+' has begun the change"
    ):
        target_changer.apply(run, name=by)
    assert sink.position() == 20


def test_a_cleared_run_stays_red_if_its_sink_has_failed(sink: SinkFlow, target_changer: Changer) -> None:
    """The offsets are as planned, and its task is still FAILED."""
    run, by = target_changer.plan(sink.name, "offset", "50")[0], f"test/{uuid4().hex}"
    target_changer.apply(run, name=by)
    sink.wait_until_caught_up()
    connect = sink.sandbox.connect
    config = connect.call("GET", f"/connectors/{sink.name}")["config"]
    connect.call("PUT", f"/connectors/{sink.name}/config", {**config, "file": "/no/such/folder/file.txt"})

    def has_failed() -> bool:
        return any(task["state"] == "FAILED" for task in connect.status(sink.name)["tasks"])

    wait_until(has_failed, 60, "it does not fail", progress=connect.work)

    with pytest.raises(NotRunning, match="was resumed, but has failed since"):
        target_changer.apply(run, name=by)


def test_a_reconfigured_connector_gets_no_positions_of_its_former_topics(
    sink: SinkFlow, target_changer: Changer
) -> None:
    """Nothing is stopped; the error names the setting."""
    run, _summary = target_changer.plan(sink.name, "offset", "50")
    connect = sink.sandbox.connect
    config = connect.call("GET", f"/connectors/{sink.name}")["config"]
    sink.sandbox.target.create_topic(other := f"other-{uuid4().hex[:8]}")
    connect.call("PUT", f"/connectors/{sink.name}/config", {**config, "topics": other})
    connect.wait_state(sink.name, "RUNNING", tasks=1)

    with pytest.raises(Drift, match=rf"reconfigured since .*: topics was '{sink.topic}' and is '{other}'"):
        target_changer.apply(run)

    assert connect.status(sink.name)["connector"]["state"] == "RUNNING"
    connect.call("PUT", f"/connectors/{sink.name}/config", {**config, "tasks.max": "2"})
    connect.wait_state(sink.name, "RUNNING", tasks=1)
    assert target_changer.apply(run).result is Result.APPLIED, "other settings may change"


def test_a_single_step_of_another_run_is_refused(sink: SinkFlow, target_changer: Changer) -> None:
    """While a change has the connector; the run's own steps are not."""
    run, _summary = target_changer.plan(sink.name, "offset", "50")
    plan, mine, journal = read_plan(run), owner(), target_changer.journal(sink.name)

    def set_state(state: State, by: Owner) -> None:
        stepwise.set_state(sink.name, state, clients, by, seconds=60)

    with target_changer.clients() as clients:
        stepwise.begin(plan, clients, mine, seconds=60)
        set_state(State.STOPPED, mine)
        sink.sandbox.connect.wait_state(sink.name, "STOPPED")

        with pytest.raises(Overlap, match=f"'{sink.name}' is being changed by run '{mine.run}'"):
            set_state(State.RUNNING, owner())

        assert sink.sandbox.connect.status(sink.name)["connector"]["state"] == "STOPPED"
        stepwise.undo(plan, clients, replace(mine, task="restore"))
        sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
        set_state(State.PAUSED, owner())
        sink.sandbox.connect.wait_state(sink.name, "PAUSED")
    assert journal.read_left() is None
