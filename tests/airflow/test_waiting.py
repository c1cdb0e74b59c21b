"""Sensors and deferred operators on real connectors: their conditions, and a triggerer that takes over."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import TaskDeferred
from confluent_kafka import Consumer, Producer

from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor, ConnectorStateSensor
from airflow_provider_connect_offsets.sensors.group import ConsumerGroupInactiveSensor
from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger
from sandbox import Progress, Sandbox, wait_for, wait_until
from sandbox.airflow import AirflowStandalone
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, MirrorFlow, SinkFlow

RunDag = Callable[..., Ran]
DAGS = Path(__file__).parent / "dags"


def test_everything_that_waits_can_be_deferred(sink: SinkFlow, run_dag: RunDag) -> None:
    """Stop, replay, resume; the last sensor ends once all records are delivered again."""
    written = len(sink.lines())

    ran = run_dag("deferred_steps", DAGS, connector=sink.name, topic=sink.topic)

    assert (ran.state, set(ran.tasks.values())) == ("success", {"success"})
    assert sink.position() == RECORDS
    assert len(sink.lines()) == written + RECORDS


@pytest.mark.usefixtures("connections")
def test_another_triggerer_continues_if_one_ends(sink: SinkFlow) -> None:
    """A trigger that is made again from its arguments observes what happens later."""
    sensor = ConnectorStateSensor(task_id="wait", connector=sink.name, state="STOPPED", deferrable=True)
    with pytest.raises(TaskDeferred) as deferred:
        run(sensor)
    trigger = deferred.value.trigger
    assert isinstance(trigger, WaitingTrigger)
    asyncio.run(cancelled(trigger))

    path, arguments = json.loads(json.dumps(trigger.serialize()))
    module, _, name = path.rpartition(".")
    again: WaitingTrigger = getattr(importlib.import_module(module), name)(**arguments)
    stopping = threading.Timer(0.3, sink.sandbox.connect.stop, [sink.name])
    stopping.start()
    event = asyncio.run(first_event(again))
    stopping.join()

    assert event == {
        "reached": True,
        "message": f"'{sink.name}' is STOPPED; its tasks: none.",
        "before": "",
        "error": "",
    }


@pytest.mark.usefixtures("connections")
def test_positions_are_awaited_by_lag_and_by_number(sink: SinkFlow, mirror: MirrorFlow) -> None:
    """Partitions without a stored offset count, too; the sentence names the records that are not read."""
    caught_up = ConnectorPositionSensor(task_id="wait", connector=sink.name)
    assert caught_up.poke({})
    sink.sandbox.connect.stop(sink.name)
    sink.sandbox.target.produce(sink.topic, ["one more"])
    assert not caught_up.poke({})
    assert caught_up.trigger().observe().sentence.endswith(f"{sink.topic}-0 is at {RECORDS}, not yet at {RECORDS + 1}.")
    assert ConnectorPositionSensor(task_id="wait", connector=sink.name, max_lag="1").poke({})
    assert ConnectorPositionSensor(task_id="wait", connector=sink.name, position=RECORDS).poke({})
    assert not ConnectorPositionSensor(task_id="wait", connector=sink.name, position=str(RECORDS + 1)).poke({})

    of_mirror: dict[str, Any] = {"connector": mirror.name, "kafka_conn_id": "kafka_source"}
    assert ConnectorPositionSensor(task_id="wait", **of_mirror).poke({})
    mirror.sandbox.connect.stop(mirror.name)
    mirror.sandbox.connect.reset(mirror.name)
    assert not ConnectorPositionSensor(task_id="wait", **of_mirror).poke({})
    assert ConnectorPositionSensor(task_id="wait", **of_mirror, max_lag=RECORDS).poke({})


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"kafka_conn_id": ""}, "kafka_conn_id must name the cluster"),
        ({"topics": "no-such-topic"}, "has no (selected )?partition of topics 'no-such-topic'"),
        ({"topics": "a("}, "'a\\(' is not a regular expression"),
        ({"partitions": "3-"}, "neither a number nor a range"),
        ({"position": "-1"}, "position: '-1' is not a whole number from 0 to 999999999999999"),
        ({"max_lag": "few"}, "max_lag: 'few' is not a whole number from 0 to 999999999999999"),
    ],
)
def test_invalid_values_are_refused_in_one_sentence(sink: SinkFlow, values: dict[str, Any], sentence: str) -> None:
    """At once, also if the waiting would be deferred."""
    for deferrable in (False, True):
        with pytest.raises(AirflowFailException, match=sentence):
            run(ConnectorPositionSensor(task_id="wait", connector=sink.name, deferrable=deferrable, **values))


@pytest.mark.usefixtures("connections")
def test_a_group_is_inactive_once_its_last_member_has_left(sandbox: Sandbox, sink: SinkFlow) -> None:
    """A member that is not the connector's counts too."""
    group = f"connect-{sink.name}"
    sensor = ConsumerGroupInactiveSensor(task_id="wait", group=group)
    sandbox.connect.stop(sink.name)
    with member_of(sandbox, group, sink.topic):
        assert not sensor.poke({})
    wait_until(lambda: sensor.poke({}), 60, "its last member has left, and it is not inactive")


@pytest.mark.usefixtures("connections")
def test_transaction_markers_are_not_waited_for(sink: SinkFlow) -> None:
    """A connector that has read all records has caught up, though it never reaches a log end behind a marker."""
    producer = Producer(sink.sandbox.target.client_settings() | {"transactional.id": sink.name})
    producer.init_transactions(30)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        producer.produce(sink.topic, "in a transaction")
        end(30)
    sink.sandbox.target.produce(sink.topic, ["plain"])
    producer.begin_transaction()
    producer.produce(sink.topic, "in a transaction")
    producer.flush(30)
    last = sink.end()  # of what is committed; behind this record comes a marker, a moment after the commit
    producer.commit_transaction(30)
    wait_for(sink.end, last + 2, 60, "no marker was written")
    caught_up = ConnectorPositionSensor(task_id="wait", connector=sink.name)

    wait_for(sink.position, last + 1, 60, "the sink does not read", progress=sink.sandbox.connect.work)
    assert caught_up.poke({})
    assert ConnectorPositionSensor(task_id="wait", connector=sink.name, position=last + 2).poke({})
    assert not ConnectorPositionSensor(task_id="wait", connector=sink.name, position=last + 3).poke({})

    sink.sandbox.connect.stop(sink.name)
    producer.begin_transaction()
    producer.produce(sink.topic, "not read yet")
    producer.commit_transaction(30)
    wait_for(sink.end, last + 4, 60, "no marker was written")
    assert not caught_up.poke({})
    assert not ConnectorPositionSensor(task_id="wait", connector=sink.name, max_lag=2).poke({})
    assert ConnectorPositionSensor(task_id="wait", connector=sink.name, max_lag=3).poke({})


@pytest.mark.faults
def test_a_real_triggerer_may_die(sandbox: Sandbox, sink: SinkFlow, tmp_path: Path) -> None:
    """After SIGKILL while a task waits, the next triggerer continues, and the run succeeds."""
    airflow = AirflowStandalone(sandbox, workspace=tmp_path, dags=DAGS)
    airflow.start()
    try:
        airflow.wait_for_dag("deferred_steps")
        conf = {"connector": sink.name, "topic": sink.topic}
        with member_of(sandbox, f"connect-{sink.name}", sink.topic):
            made = airflow.call("POST", "/dags/deferred_steps/dagRuns", {"logical_date": None, "conf": conf})
            path = f"/dags/deferred_steps/dagRuns/{made['dag_run_id']}"
            work: Progress = {"tasks": partial(states_in, airflow, path)}
            message = "nothing was deferred"
            wait_for(lambda: states_in(airflow, path)["is_left"], "deferred", 120, message, progress=work, interval=0.5)
            kill_triggerer(airflow)
        with another_triggerer(airflow):
            message = "the run did not succeed"
            wait_for(lambda: airflow.call("GET", path)["state"], "success", 240, message, progress=work, interval=0.5)
    finally:
        airflow.close()


def states_in(airflow: AirflowStandalone, path: str) -> dict[str, str | None]:
    """Return the states of a run's tasks."""
    instances: list[dict[str, str | None]] = airflow.call("GET", f"{path}/taskInstances")["task_instances"]
    return {str(task["task_id"]): task["state"] for task in instances}


def kill_triggerer(airflow: AirflowStandalone) -> None:
    """Kill all its processes, as if the machine was switched off."""
    assert airflow.process.pid
    family = psutil.Process(airflow.process.pid).children(recursive=True)
    alive = [process for process in family if process.status() != psutil.STATUS_ZOMBIE]
    triggerers = [process for process in alive if "triggerer" in " ".join(process.cmdline())]
    assert triggerers
    for process in {child for one in triggerers for child in (one, *one.children(recursive=True))}:
        process.send_signal(signal.SIGKILL)
    psutil.wait_procs(triggerers, timeout=60)


@contextmanager
def another_triggerer(airflow: AirflowStandalone) -> Iterator[None]:
    """Run another triggerer with the same environment."""
    environment = {**os.environ, **airflow.environment()}
    command = [sys.executable, "-m", "airflow", "triggerer"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        family = psutil.Process(process.pid)
        try:
            yield
        finally:
            for one in (*family.children(recursive=True), family):
                one.kill()


@contextmanager
def member_of(sandbox: Sandbox, group: str, topic: str) -> Iterator[None]:
    """Be a member of a consumer group, without reading."""
    assigned = threading.Event()
    consumer = Consumer(sandbox.target.client_settings() | {"group.id": group, "enable.auto.commit": False})
    ended = threading.Event()

    def poll() -> None:
        consumer.subscribe([topic], on_assign=lambda *_: assigned.set())
        while not ended.is_set():
            consumer.poll(0.05)

    polling = threading.Thread(target=poll)
    polling.start()
    try:
        wait_until(assigned.is_set, 60, "the group has no member")
        yield
    finally:
        ended.set()
        polling.join()
        consumer.close()


async def first_event(trigger: WaitingTrigger) -> dict[str, Any]:
    """Return the event that a triggerer would send."""
    async for event in trigger.run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("no event")


async def cancelled(trigger: WaitingTrigger) -> None:
    """Run it for a moment, and cancel it, as a triggerer does when it shuts down."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(first_event(trigger), 0.3)


def run(step: Any) -> Any:
    """Execute an operator outside of any DAG run."""
    return type(step).execute.__wrapped__(step, {})
