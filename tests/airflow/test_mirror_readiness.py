"""``mirror_readiness``, and the sensor that waits until a flow has drained, on a real MirrorMaker 2."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from airflow.sdk.exceptions import TaskDeferred
from confluent_kafka import Producer

from airflow_provider_connect_offsets.operators.readiness import RequireMirrorReadyOperator
from airflow_provider_connect_offsets.sensors.mirror import MirrorLagSensor
from airflow_provider_connect_offsets.triggers.mirror import MirrorLagTrigger
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import LAG_TREND
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from sandbox import Sandbox, wait_for, wait_until
from sandbox.connectors import mirror_source_config
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, MirrorFlow

RunDag = Callable[..., Ran]


@pytest.mark.mirror
def test_a_run_reports_and_fails_at_a_threshold(mirror: MirrorFlow, run_dag: RunDag) -> None:
    """Ready where nothing is wrong; once it lags, the last task fails with the worst, after the report was written.

    The history has as many runs as ``keep`` says.
    """
    requested = {
        "source_connector": mirror.name,
        "checkpoint_connector": "",
        "max_lag_seconds": 0,
        "max_lag_records": 9,
    }

    ready = run_dag("mirror_readiness", **requested)
    mirror.sandbox.connect.pause(mirror.name)
    mirror.sandbox.connect.wait_state(mirror.name, "PAUSED")
    mirror.sandbox.source.produce(mirror.topic, ["more"] * 10, partition=0)
    late = run_dag("mirror_readiness", **requested)

    assert (ready.state, set(ready.tasks.values())) == ("success", {"success"})
    assert (late.state, late.tasks) == (
        "failed",
        {"readiness.snapshot": "success", "readiness.judge": "success", "readiness.ready": "failed"},
    )
    worst = f"Not ready for a failover. `{mirror.name}` is PAUSED, so it replicates nothing. Resume it. And 1 more"
    assert worst in late.output
    directory = ReadinessDirectory(late.directory.uri)
    summary = json.loads(local(directory.summary).read_text())
    assert summary["rules"] == {"checkpoint_missing": 1, "lag": 1, "not_running": 1}
    assert (summary["lag"], _lags(directory)) == (10, [0, 10])
    assert "10 records are not replicated yet" in local(directory.report).read_text()

    alone = run_dag("mirror_readiness", keep=1, **requested)

    assert _lags(ReadinessDirectory(alone.directory.uri)) == [10]
    assert not local(directory.report).exists()


def test_what_can_not_be_meant_is_refused(mirror: MirrorFlow, run_dag: RunDag) -> None:
    """The first task fails, in one sentence."""
    for requested, sentence in (
        ({"groups": "a("}, "groups: 'a(' is not a regular expression"),
        ({"checkpoint_connector": mirror.name}, "MirrorSourceConnector, not a MirrorCheckpointConnector"),
        ({"source_connector": f"{mirror.name}s"}, "Did you mean"),
    ):
        ran = run_dag("mirror_readiness", **{"source_connector": mirror.name, "checkpoint_connector": "", **requested})

        states = (ran.state, ran.tasks["readiness.snapshot"], ran.tasks["readiness.judge"])
        assert states == ("failed", "failed", "upstream_failed")
        assert sentence in ran.output


def test_the_last_task_names_the_worst() -> None:
    """It also says how many more errors there are, and where the report is."""
    summary = {
        "ready": False,
        "worst": {"rule": "lag", "message": "It lags."},
        "verdicts": {"error": 3},
        "report": "file:///report.html",
    }
    ready = RequireMirrorReadyOperator(task_id="ready", summary=summary)

    with pytest.raises(
        AirflowFailException, match=r"^Not ready for a failover\. It lags\. And 2 more errors\. file:///"
    ):
        run(ready)
    ready.summary = {**summary, "ready": True}
    assert run(ready) is None


@pytest.mark.usefixtures("connections")
def test_lag_is_awaited_by_records_and_by_seconds(mirror: MirrorFlow) -> None:
    """The sensor waits for all partitions or those of ``topics``; without a bound, until nothing is left."""
    sensor: dict[str, Any] = {"task_id": "wait", "connector": mirror.name}
    assert MirrorLagSensor(**sensor).poke({})
    mirror.sandbox.connect.stop(mirror.name)
    mirror.sandbox.source.produce(mirror.topic, ["late"] * 3, partition=1, timestamps=[1_700_000_000_000] * 3)

    assert not MirrorLagSensor(**sensor).poke({})
    lag_sentence = MirrorLagSensor(**sensor).trigger().observe().sentence
    assert (
        f"'{mirror.name}' (STOPPED): {mirror.topic}-1 has 3 records left to replicate, the first of them "
        in lag_sentence
    )
    assert MirrorLagSensor(**sensor, max_lag_records="3").poke({})
    assert not MirrorLagSensor(**sensor, max_lag_records=2).poke({})
    assert not MirrorLagSensor(**sensor, max_lag_seconds=60).poke({})
    assert MirrorLagSensor(**sensor, max_lag_seconds=10**9).poke({})
    assert not MirrorLagSensor(**sensor, max_lag_records=3, max_lag_seconds=60).poke({})


@pytest.mark.usefixtures("connections")
def test_what_can_not_be_awaited_is_one_sentence(mirror: MirrorFlow) -> None:
    """At once, also where the waiting would be deferred."""
    requested: dict[str, dict[str, Any]] = {
        "has no partition of topics 'no-such-topic'": {"topics": "no-such-topic"},
        r"'a\(' is not a regular expression": {"topics": "a("},
        "max_lag_records: 'few' is not a whole number": {"max_lag_records": "few"},
    }
    for sentence, arguments in requested.items():
        with pytest.raises(AirflowFailException, match=sentence):
            run(MirrorLagSensor(task_id="wait", connector=mirror.name, deferrable=True, **arguments))


@pytest.mark.usefixtures("connections")
def test_a_deferred_sensor_sees_the_flow_drain(mirror: MirrorFlow) -> None:
    """It is a trigger's arguments that wait, so another triggerer can go on."""
    mirror.sandbox.connect.stop(mirror.name)
    mirror.sandbox.source.produce(mirror.topic, ["late"], partition=0)
    with pytest.raises(TaskDeferred) as deferred:
        run(MirrorLagSensor(task_id="wait", connector=mirror.name, deferrable=True))
    trigger = deferred.value.trigger
    assert isinstance(trigger, MirrorLagTrigger)
    _, arguments = json.loads(json.dumps(trigger.serialize()))
    mirror.sandbox.connect.resume(mirror.name)

    async def events() -> list[Any]:
        return [event.payload async for event in MirrorLagTrigger(**{**arguments, "most": 0.5}).run()]

    message = f"'{mirror.name}' is far enough in each awaited partition (2 partitions)."
    assert asyncio.run(events()) == [{"reached": True, "message": message, "before": "", "error": ""}]
    assert mirror.positions()[0] == RECORDS + 1


@pytest.fixture
def transactional(sandbox: Sandbox) -> Iterator[tuple[str, str]]:
    """A MirrorSource of a topic that ends with the marker of a transaction: its name and the topic's."""
    mark = uuid4().hex[:8]
    name, topic = f"flow-tx-{mark}", f"orders-tx-{mark}"
    sandbox.source.create_topic(topic)
    producer = Producer(sandbox.source.client_settings() | {"transactional.id": mark})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, "only")
    producer.commit_transaction(30)
    wait_for(lambda: sandbox.source.log_bounds(topic)[0], (0, 2), 60, "no marker was written")
    sandbox.connect.create(name, mirror_source_config(sandbox, topic))
    yield name, topic
    sandbox.connect.delete(name)


@pytest.mark.usefixtures("connections")
def test_a_log_that_ends_with_a_transaction_is_drained(sandbox: Sandbox, transactional: tuple[str, str]) -> None:
    """Nobody ever reaches the log's end, for the marker is there; but no record is left."""
    name, topic = transactional
    wait_until(lambda: sandbox.connect.offsets(name), 60, "nothing is replicated", progress=sandbox.connect.work)
    [stored] = sandbox.connect.offsets(name)

    assert (stored["offset"]["offset"], sandbox.source.log_bounds(topic)[0]) == (0, (0, 2))
    assert MirrorLagSensor(task_id="wait", connector=name).poke({})


def _lags(directory: ReadinessDirectory) -> list[int]:
    """The lag of the whole flow in each run that the history has."""
    points = read_dataset(directory.lag_trend, LAG_TREND)
    return sorted(point["lag"] for point in points if point["topic"] is None)


def local(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


def run(step: Any) -> Any:
    """Execute an operator outside of any DAG run."""
    return type(step).execute.__wrapped__(step, {})
