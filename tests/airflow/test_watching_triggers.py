"""Triggers for asset watchers: connectors that fail or fall behind, and groups without members, on real servers."""

from __future__ import annotations

import asyncio
import importlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.triggers.watching import (
    ConnectorFailedTrigger,
    GroupEmptyTrigger,
    LagBeyondTrigger,
    WatchingTrigger,
)
from sandbox import Sandbox, wait_for, wait_until
from sandbox.airflow import AirflowStandalone
from tests.support.flows.flows import Changer, SinkFlow
from tests.support.flows.poisoned import JSON, KEYS_ARE_TEXT, Poisoned, rows

DAGS = Path(__file__).parent / "dags"


@pytest.fixture
def failed(sandbox: Sandbox, workspace: str) -> Iterator[Poisoned]:
    """A sink that has failed on its third record."""
    spark: Any = None
    changer = Changer(spark, workspace, sandbox.connect.url, sandbox.target, str(sandbox.target.cluster_id()))
    found = Poisoned.start(sandbox, changer, [*rows(0, 2), "{", *rows(2, 2)], {**JSON, **KEYS_ARE_TEXT}, position=0)
    yield found
    found.remove()


def made_again(trigger: WatchingTrigger) -> WatchingTrigger:
    """The trigger as another triggerer makes it."""
    path, arguments = json.loads(json.dumps(trigger.serialize()))
    module, _, name = path.rpartition(".")
    again: WatchingTrigger = getattr(importlib.import_module(module), name)(**arguments)
    return again


@pytest.mark.usefixtures("connections")
def test_each_failure_is_reported_once(sandbox: Sandbox, failed: Poisoned) -> None:
    """It is reported again only after the connector has run in between; others are not reported."""
    trigger = made_again(ConnectorFailedTrigger(connectors=failed.name, every=0.2))
    looks, look = list[float](), trigger.look

    def looked() -> Any:
        looks.append(time.monotonic())
        return look()

    def stop_and_resume() -> None:
        sandbox.connect.stop(failed.name)
        sandbox.connect.wait_state(failed.name, "STOPPED")
        before = len(looks)
        wait_until(lambda: len(looks) > before + 1, 30, "the trigger does not look")
        sandbox.connect.resume(failed.name)

    async def seen() -> list[dict[str, Any]]:
        async with aclosing(trigger.run()) as events:
            first = await anext(events)
            second = asyncio.ensure_future(anext(events))
            _, waiting = await asyncio.wait([second], timeout=2.0)
            assert waiting, "a failure is reported again while it lasts"
            await asyncio.to_thread(stop_and_resume)
            return [first.payload, (await second).payload]

    with patch.object(trigger, "look", looked):
        first, again = asyncio.run(seen())

    cause = first.pop("cause")
    assert first == {"connector": failed.name, "state": "RUNNING", "failed_tasks": [0]}
    assert "ConnectException" in cause
    assert again["connector"] == failed.name


def test_a_worker_that_is_down_reports_nothing(
    connection: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """The trigger goes on, and says why; what can't be a pattern is refused at once."""
    connection(host="127.0.0.1", port=9)

    async def looked() -> None:
        async with aclosing(ConnectorFailedTrigger(every=0.1).run()) as events:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(events), timeout=2.0)

    asyncio.run(looked())

    assert "Trying again." in caplog.text
    with pytest.raises(InvalidRequest, match="connectors: '\\('"):
        ConnectorFailedTrigger(connectors="(")


@pytest.mark.usefixtures("connections")
def test_a_connector_that_falls_behind_is_reported(sink: SinkFlow) -> None:
    """By the records that are left, or by their age; a sink that has read all is not."""
    here: dict[str, Any] = {"connectors": sink.name, "topics": sink.topic}
    sink.wait_until_caught_up()
    assert LagBeyondTrigger(max_lag_records=0, **here).look() == {}
    sink.sandbox.connect.stop(sink.name)
    sink.sandbox.target.produce(sink.topic, ["later"] * 3)

    trigger = made_again(LagBeyondTrigger(max_lag_records=2, **here))

    found = trigger.look()  # once: the age of the records grows
    [behind] = found[sink.name].pop("behind")
    assert found == {sink.name: {"connector": sink.name, "partitions": 1}}
    assert f"{sink.topic}-0 has 3 records left" in behind
    assert LagBeyondTrigger(max_lag_records=3, **here).look() == {}
    assert LagBeyondTrigger(max_lag_seconds=3600, **here).look() == {}
    with pytest.raises(InvalidRequest, match="Give max_lag_records or max_lag_seconds"):
        LagBeyondTrigger()


@pytest.mark.usefixtures("connections")
def test_a_group_without_members_is_reported(sink: SinkFlow) -> None:
    """Once its sink is stopped."""
    group = f"connect-{sink.name}"
    trigger = made_again(GroupEmptyTrigger(groups=f"{group}|no-such-group"))
    assert trigger.look() == {}

    sink.sandbox.connect.stop(sink.name)

    wait_for(trigger.look, {group: {"group": group}}, 60, "the group has members")


@pytest.mark.processes
def test_a_sink_that_fails_starts_the_search(sandbox: Sandbox, failed: Poisoned, tmp_path: Path) -> None:
    """A real triggerer watches, its event starts the DAG, and that starts the run which asks whether it may skip."""
    airflow = AirflowStandalone(sandbox, workspace=tmp_path, dags=DAGS)
    airflow.start()
    try:
        for dag_id in ("connector_offsets_poison", "search_poison_record"):
            airflow.wait_for_dag(dag_id)
            airflow.call("PATCH", f"/dags/{dag_id}", {"is_paused": False})
        runs = partial(_runs, airflow)
        wait_until(runs, 240, "nothing searches for the record", progress={"runs": runs}, interval=0.5)
        [run] = runs()
        assert run["conf"]["connector"] == failed.name
        states = partial(_states, airflow, run["dag_run_id"])
        late = "nobody is asked"
        asks = {"awaiting_input", "deferred"}  # since Airflow 3.3, and before
        wait_until(lambda: states()["approve"] in asks, 240, late, progress={"tasks": states}, interval=0.5)
    finally:
        airflow.close()


def _runs(airflow: AirflowStandalone) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = airflow.call("GET", "/dags/connector_offsets_poison/dagRuns")["dag_runs"]
    return listed


def _states(airflow: AirflowStandalone, run_id: str) -> dict[str, str | None]:
    """The states of the run's tasks, by their names within their group."""
    listed = airflow.call("GET", f"/dags/connector_offsets_poison/dagRuns/{run_id}/taskInstances")["task_instances"]
    return {one["task_id"].rpartition(".")[2]: one["state"] for one in listed}
