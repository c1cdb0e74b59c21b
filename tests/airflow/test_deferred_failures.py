"""A deferred task fails as one that waits in a worker's slot: with the same exception and message."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
    TaskDeferred,
)
from airflow.sdk.bases.operator import ExecutorSafeguard

from airflow_provider_connect_offsets.exceptions import NotStopped, Unreachable
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from airflow_provider_connect_offsets.kafka.brokers import Brokers
from airflow_provider_connect_offsets.operators.connector import (
    PauseConnectorOperator,
    ResumeConnectorOperator,
    StopConnectorOperator,
)
from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor, ConnectorStateSensor
from airflow_provider_connect_offsets.sensors.group import ConsumerGroupInactiveSensor
from airflow_provider_connect_offsets.sensors.mirror import MirrorLagSensor
from sandbox import Sandbox
from tests.support.flows.flows import MirrorFlow, SinkFlow
from tests.support.workers.scripted_worker import Reply, Worker, error, scripted_worker

NAME, SHORT = "flow", 0.3
Failure = tuple[type[BaseException], str]


@dataclass(frozen=True)
class Scene:
    """A running sink, and a stopped MirrorSource with one record left to replicate."""

    sink: SinkFlow
    mirror: MirrorFlow


@pytest.fixture(scope="module")
def scene(sandbox: Sandbox) -> Iterator[Scene]:
    """Both of them."""
    made = Scene(SinkFlow.start(sandbox), MirrorFlow.start(sandbox))
    sandbox.connect.stop(made.mirror.name)
    sandbox.source.produce(made.mirror.topic, ["one more"], partition=0)
    yield made
    for name in (made.sink.name, made.mirror.name):
        sandbox.connect.delete(name)


@pytest.fixture
def worker() -> Iterator[Worker]:
    """A scripted worker with one connector that accepts every request; the test scripts its status."""
    with scripted_worker() as worker:
        worker.answers("GET /", Reply(200, {"version": "4.3.1", "commit": "c", "kafka_cluster_id": "scripted"}))
        info = {"name": NAME, "type": "source", "config": {"connector.class": "FileStreamSource"}, "tasks": []}
        worker.answers(f"GET /connectors/{NAME}", Reply(200, info))
        for verb in ("stop", "pause", "resume"):
            worker.answers(f"PUT /connectors/{NAME}/{verb}", Reply(202))
        yield worker


@pytest.fixture(autouse=True)
def _airflow(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections to the scripted worker and to a closed port, and clients that give up at once."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": f"127.0.0.1:{closed}"}}
    for name, value in {
        "SCRIPTED": {"conn_type": "kafka_connect", "host": worker.url},
        "NOBODY": {"conn_type": "kafka_connect", "host": f"http://127.0.0.1:{closed}"},
        "NO_KAFKA": kafka,
    }.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps(value))
    monkeypatch.setattr(ExecutorSafeguard, "test_mode", True)
    for made, name, seconds in ((KafkaConnectHook, "timeout", SHORT), (Brokers, "timeout", 1.0)):
        defaults = made.__init__.__kwdefaults__
        assert defaults is not None
        monkeypatch.setitem(defaults, name, seconds)


def status(state: str, task: str | None = None, trace: str | None = None) -> Reply:
    """Return a connector's status with one task, or none."""
    tasks = [] if task is None else [{"id": 0, "state": task, "worker_id": "w", **({"trace": trace} if trace else {})}]
    return Reply(200, {"name": NAME, "connector": {"state": state, "worker_id": "w"}, "tasks": tasks, "type": "source"})


def context() -> Any:
    """Of a task that runs for the first time."""
    return {"ti": SimpleNamespace(dag_id="d", run_id=uuid4().hex, task_id="t", map_index=-1)}


STOPS, PAUSES, RESUMES = StopConnectorOperator, PauseConnectorOperator, ResumeConnectorOperator
LATER = {
    "time is up": status("RUNNING", "UNASSIGNED"),
    "outage": Reply(hang_up=True),
    "gone": error(404, f"Connector {NAME} not found"),
    "failed": status("RUNNING", "FAILED", "Boom\n at x"),
}


@pytest.mark.parametrize(
    ("step", "fault", "kind", "sentence"),
    [
        (STOPS, "time is up", NotStopped, "'flow' is RUNNING with 1 task, 0 s after STOPPED was requested."),
        (PAUSES, "time is up", AirflowFailException, "is RUNNING with 1 task, 0 s after PAUSED was requested."),
        (RESUMES, "time is up", AirflowFailException, "is RUNNING with 1 task, 0 s after RUNNING was requested."),
        *((step, "outage", Unreachable, "") for step in (STOPS, PAUSES, RESUMES)),
        *((step, "gone", AirflowFailException, "'flow'") for step in (STOPS, PAUSES, RESUMES)),
        (PAUSES, "failed", AirflowFailException, "'flow' failed right after PAUSED was requested: Boom"),
        (RESUMES, "failed", AirflowFailException, "'flow' failed right after RUNNING was requested: Boom"),
        (STOPS, "failed", NotStopped, "'flow' is RUNNING with 1 task, 0 s after STOPPED was requested."),
    ],
)
def test_operators(worker: Worker, step: type[Any], fault: str, kind: type[Exception], sentence: str) -> None:
    """Failures after the request are the same; a deferred step sends its request before it defers, too."""
    failures = []
    for deferrable in (False, True):
        worker.answers(f"GET /connectors/{NAME}/status", *[status("RUNNING", "RUNNING")] * 2, LATER[fault])
        if fault == "gone":  # believed only if its configuration is gone too
            worker.answers(f"GET /connectors/{NAME}", LATER[fault])
        task = step(task_id="t", connector=NAME, connect_conn_id="scripted", timeout=SHORT, deferrable=deferrable)
        failures.append(failure_of(task))

    assert failures[0] == failures[1]
    assert failures[0][0] is kind
    assert sentence in failures[0][1]


def test_a_running_connector_without_tasks_counts_as_running_when_time_is_up(worker: Worker) -> None:
    """A MirrorCheckpoint without groups has none; tasks are waited for first."""
    for deferrable in (False, True):
        worker.answers(f"GET /connectors/{NAME}/status", *[status("STOPPED")] * 2, status("RUNNING"))
        task = RESUMES(task_id="t", connector=NAME, connect_conn_id="scripted", timeout=SHORT, deferrable=deferrable)

        assert ended(task) == "RUNNING"


def test_without_a_triggerer(worker: Worker) -> None:
    """Airflow ends the waiting, and the task fails like one that waited itself."""
    worker.answers(f"GET /connectors/{NAME}/status", status("RUNNING", "RUNNING"))
    task = STOPS(task_id="t", connector=NAME, connect_conn_id="scripted", timeout=SHORT, deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        task.execute(context())
    assert deferred.value.timeout is not None

    with pytest.raises(NotStopped, match="is RUNNING with 1 task, 0 s after STOPPED was requested"):
        task.resume_execution("__fail__", {"error": "Trigger timeout"}, {})


SENSORS: dict[str, Callable[[Scene], Any]] = {
    "state": lambda scene: (ConnectorStateSensor, {"connector": scene.sink.name, "state": "STOPPED"}),
    "position": lambda scene: (ConnectorPositionSensor, {"connector": scene.sink.name, "position": 10**6}),
    "group": lambda scene: (ConsumerGroupInactiveSensor, {"group": f"connect-{scene.sink.name}"}),
    "lag": lambda scene: (MirrorLagSensor, {"connector": scene.mirror.name}),
}
FAULTS = {
    "time is up": {},
    "outage": {"connect_conn_id": "nobody"},
    "outage of kafka": {"kafka_conn_id": "no_kafka"},
    "gone": {"connector": "no-such-connector"},
    "no connection": {"connect_conn_id": "no-such-connection"},
    "no connection to kafka": {"kafka_conn_id": "no-such-connection"},
    "failed": {"connector": NAME, "connect_conn_id": "scripted", "state": "RUNNING"},
}
OF_WORKERS = ("time is up", "outage", "gone", "no connection")
CASES = [
    *((name, fault) for name in ("state", "position", "lag") for fault in OF_WORKERS),
    *(("group", fault) for fault in ("time is up", "outage of kafka", "no connection to kafka")),
    *(("position", fault) for fault in ("outage of kafka", "no connection to kafka")),
    ("state", "failed"),
]


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(("sensor", "fault"), CASES)
def test_sensors(scene: Scene, worker: Worker, sensor: str, fault: str) -> None:
    """Both wait out an outage, so it ends as a timeout; neither is retried."""
    worker.answers(f"GET /connectors/{NAME}/status", LATER["failed"])
    kind, values = SENSORS[sensor](scene)
    late = fault == "time is up" or fault.startswith("outage")

    def failure(**more: Any) -> Failure:
        return failure_of(kind(task_id="t", timeout=0, poke_interval=0.1, **{**values, **FAULTS[fault], **more}))

    undeferred = failure()
    assert failure(deferrable=True) == undeferred
    assert undeferred[0] is (AirflowSensorTimeout if late else AirflowFailException)
    assert undeferred[1].startswith("Not reached after 0 s: ") is late
    assert failure(soft_fail=True)[0] is failure(soft_fail=True, deferrable=True)[0] is AirflowSkipException


def test_an_outage_passes(worker: Worker) -> None:
    """Both continue once the worker answers again in time."""
    for deferrable in (False, True):
        answer = f"GET /connectors/{NAME}/status"
        worker.answers(answer, *[Reply(hang_up=True)] * 3, status("PAUSED"))
        values: dict[str, Any] = {"connector": NAME, "state": "PAUSED", "connect_conn_id": "scripted", "timeout": 20}

        ended(ConnectorStateSensor(task_id="t", poke_interval=0.1, deferrable=deferrable, **values))


def failure_of(task: Any) -> Failure:
    """Return how a task fails, in its slot or through a triggerer."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its type is returned
        ended(task)
    # Without the age of a record and librdkafka's details of a connection in brackets, which differ each time.
    return type(caught.value), re.sub(r"\d+ s old| \([^)]*\)", "", str(caught.value))


def ended(task: Any) -> Any:
    """Run a task to its end; if it defers, run its trigger, made again from its arguments, and resume the task."""
    if task.deferrable and hasattr(task, "poke"):
        task.poke = lambda _context: False  # so that only the trigger observes
    try:
        return task.execute(context())
    except TaskDeferred as deferred:
        _path, arguments = json.loads(json.dumps(deferred.trigger.serialize()))
        event = asyncio.run(_first_event(type(deferred.trigger)(**arguments)))
        return task.resume_execution(deferred.method_name, {"event": event}, {})


async def _first_event(trigger: Any) -> dict[str, Any]:
    async for event in trigger.run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("no event")
