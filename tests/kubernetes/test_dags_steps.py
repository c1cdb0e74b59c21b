"""Single steps, deferred or not, and sensors, on connectors that Strimzi's operator owns."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import TaskDeferred

from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource
from airflow_provider_connect_offsets.hooks import strimzi as hook
from airflow_provider_connect_offsets.operators.connector import ResumeConnectorOperator, StopConnectorOperator
from airflow_provider_connect_offsets.operators.existence import UpdateConnectorConfigOperator
from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor, ConnectorStateSensor
from airflow_provider_connect_offsets.triggers.waiting import StateTrigger, WaitingTrigger
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox
from sandbox.kubernetes import Release
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, MirrorFlow, SinkFlow
from tests.support.strimzi.owned import Owned
from tests.support.strimzi.reconciler import Reconciler

pytestmark = [pytest.mark.kubernetes, pytest.mark.parametrize("release", [Release.V1], indirect=True)]
RunDag = Callable[..., Ran]
DAGS = Path(__file__).parents[1] / "airflow" / "dags"
STRIMZI: dict[str, Any] = {"control": "strimzi", "timeout": 60}


@pytest.fixture
def sink(sandbox: Sandbox, owned: Owned) -> Iterator[SinkFlow]:
    flow = SinkFlow.start(sandbox, create=owned.create)
    yield flow
    owned.delete(flow.name)


@pytest.mark.parametrize("control", ["strimzi", "strimzi+rest"])
def test_a_change_in_single_steps(sandbox: Sandbox, owned: Owned, run_dag: RunDag, control: str) -> None:
    """Every step of the manual procedures is a task; the outcome is that of the one task."""
    mirror = MirrorFlow.start(sandbox, create=owned.create)
    before = mirror.target_ends()

    with owned.kept(mirror.name), owned.history(mirror.name) as history:
        ran = run_dag(
            "connector_offsets_stepwise",
            connector=mirror.name,
            to="offset",
            value="70",
            kafka_conn_id="kafka_source",
            control=control,
        )

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"}), ran.output
    assert ran.outcome is not None
    assert (ran.outcome.result, ran.outcome.final_state) == (Result.APPLIED, "RUNNING")
    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {number: end + RECORDS - 70 for number, end in before.items()}
    assert history.states == [None, "stopped", None]
    assert ("alter" in history.operations) == (control == "strimzi")
    owned.delete(mirror.name)


def test_single_steps_and_sensors(sink: SinkFlow, owned: Owned, run_dag: RunDag) -> None:
    """Pause, stop, reset, alter, get, resume, each awaited by a sensor."""
    with owned.kept(sink.name), owned.history(sink.name) as history:
        ran = run_dag("single_steps", DAGS, connector=sink.name, topic=sink.topic, control="strimzi")

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"}), ran.output
    sink.wait_until_caught_up()
    assert sink.lines()[RECORDS:] == [str(number) for number in range(97, RECORDS)]
    assert history.states == [None, "paused", "stopped", None]
    assert [one for one in history.operations if one != "list"] == ["reset", "alter"]


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("control", ["strimzi", "strimzi+rest"])
def test_settings_are_changed_in_the_resource(sink: SinkFlow, owned: Owned, control: str) -> None:
    """It runs with them; settings that it fails with are undone there, too."""
    reached: dict[str, Any] = {"connector": sink.name, "control": control, "timeout": 60}

    def requested() -> tuple[Any, ...]:
        spec = owned.strimzi.read("KafkaConnector", sink.name)["spec"]
        return spec["tasksMax"], spec["config"].get("errors.log.enable"), spec["config"]["file"]

    file = requested()[-1]
    run(UpdateConnectorConfigOperator(task_id="more", config={"tasks.max": 2, "errors.log.enable": True}, **reached))
    assert requested() == (2, "true", file)
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=2)

    with pytest.raises(AirflowFailException, match=f"The settings of '{sink.name}' were not changed"):
        run(UpdateConnectorConfigOperator(task_id="wrong", config={"file": "/no/such/folder/lines.txt"}, **reached))

    assert requested() == (2, "true", file)
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=2)


def test_everything_that_waits_can_be_deferred(sink: SinkFlow, owned: Owned, run_dag: RunDag) -> None:
    """Stop, replay, resume; the last sensor ends once all records are delivered again."""
    with owned.kept(sink.name):
        ran = run_dag("deferred_steps", DAGS, connector=sink.name, topic=sink.topic, control="strimzi")

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"}), ran.output
    assert sink.position() == RECORDS
    assert len(sink.lines()) == 2 * RECORDS


@pytest.mark.usefixtures("connections")
def test_a_triggerer_watches_the_resource(
    sink: SinkFlow, owned: Owned, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the operator is away nothing changes; its status ends the wait, and not a later look."""
    watched: list[bool] = []
    changed = hook.await_change

    async def spied(conn_id: str, resource: CustomResource, *, seconds: float) -> bool:
        found = await changed(conn_id, resource, seconds=seconds)
        watched.append(found)
        return found

    monkeypatch.setattr(hook, "await_change", spied)
    reconciler.away()
    stop = StopConnectorOperator(task_id="stop", connector=sink.name, deferrable=True, **STRIMZI)
    with pytest.raises(TaskDeferred) as deferred:
        run(stop)
    assert isinstance(deferred.value.trigger, StateTrigger)
    back = threading.Timer(1.5, reconciler.back)
    back.start()
    event = asyncio.run(first_event(deferred.value.trigger))
    back.join()

    assert (event["reached"], event["before"], event["error"]) == (True, "RUNNING", "")
    assert watched[-1] is True
    assert stop.resume_execution(deferred.value.method_name, {"event": event}, {}) == "RUNNING"
    assert sink.sandbox.connect.status(sink.name)["connector"]["state"] == "STOPPED"
    assert owned.strimzi.read("KafkaConnector", sink.name)["spec"]["state"] == "stopped"


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize("control", ["strimzi", "strimzi+rest"])
def test_sensors_observe_states_and_positions(sink: SinkFlow, control: str) -> None:
    """Sensors read states from the resource and positions from a listing, in a slot and in a triggerer."""
    state: dict[str, Any] = {"task_id": "wait", "connector": sink.name, "state": "STOPPED", "control": control}
    position: dict[str, Any] = {"task_id": "wait", "connector": sink.name, "control": control}
    assert not ConnectorStateSensor(**state).poke({})
    assert ConnectorPositionSensor(**position).poke({})
    run(StopConnectorOperator(task_id="stop", connector=sink.name, **{**STRIMZI, "control": control}))
    sink.sandbox.target.produce(sink.topic, ["one more"])
    assert ConnectorStateSensor(**state).poke({})
    assert not ConnectorPositionSensor(**position).poke({})
    run(ResumeConnectorOperator(task_id="resume", connector=sink.name, **{**STRIMZI, "control": control}))

    sensor = ConnectorPositionSensor(**position, deferrable=True, poke_interval=0.2, timeout=60)
    with pytest.raises(TaskDeferred) as deferred:
        run(sensor)
    assert isinstance(deferred.value.trigger, WaitingTrigger)
    _path, arguments = json.loads(json.dumps(deferred.value.trigger.serialize()))
    assert asyncio.run(first_event(type(deferred.value.trigger)(**arguments)))["reached"] is True


async def first_event(trigger: WaitingTrigger) -> dict[str, Any]:
    """Return the event that a triggerer would send."""
    async for event in trigger.run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("no event")


def run(step: Any) -> Any:
    """Execute an operator outside of any DAG run."""
    task: Any = {"ti": SimpleNamespace(dag_id="own", run_id="run", task_id=step.task_id, map_index=-1)}
    return type(step).execute.__wrapped__(step, task)
