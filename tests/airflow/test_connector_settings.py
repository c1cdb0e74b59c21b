"""Reading the state and the settings of a connector, and changing settings, on a real sink."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.exceptions import Unsupported
from airflow_provider_connect_offsets.masking import MASK
from airflow_provider_connect_offsets.operations.existence.configuring import configure
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from airflow_provider_connect_offsets.operators import (
    GetConnectorConfigOperator,
    GetConnectorStatusOperator,
    UpdateConnectorConfigOperator,
)
from sandbox import Sandbox
from tests.airflow.test_single_steps import run
from tests.support.airflow.dag_runs import Ran
from tests.support.airflow.planted import SECRET
from tests.support.airflow.planted import SETTINGS as PLANTED
from tests.support.flows.existence import owner
from tests.support.flows.flows import SinkFlow, world
from tests.support.flows.groups import cluster

DAGS = Path(__file__).parent / "dags"
REFERENCE = "${file:/run/secrets:password}"


@pytest.fixture
def config(sink: SinkFlow) -> dict[str, str]:
    """The settings of the sink, with a secret and a reference to one."""
    settings = {**sink.sandbox.connect.config(sink.name), "my.password": "geheim", "our.password": REFERENCE}
    sink.sandbox.connect.update_config(sink.name, settings)
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    return settings


@pytest.mark.usefixtures("connections")
def test_state_and_settings_are_read(sink: SinkFlow, config: dict[str, str]) -> None:
    """A secret is masked, a reference to one is not; what has failed has its cause."""
    read = run(GetConnectorConfigOperator(task_id="config", connector=sink.name))
    status = run(GetConnectorStatusOperator(task_id="status", connector=sink.name))

    assert (read["my.password"], read["our.password"]) == (MASK, REFERENCE)
    assert {name for name, value in read.items() if config.get(name) != value} == {"my.password", *PLANTED}
    assert not [value for value in read.values() if SECRET in value]
    assert (status["connector"], status["state"], status["cause"]) == (sink.name, "RUNNING", "")
    assert [(task["id"], task["state"]) for task in status["tasks"]] == [(0, "RUNNING")]

    sink.sandbox.connect.update_config(sink.name, {**config, "file": "/no/such/folder/lines.txt"})
    sink.sandbox.connect.wait_state(sink.name, "FAILED", tasks=1)

    failed = run(GetConnectorStatusOperator(task_id="status", connector=sink.name))
    assert failed["tasks"][0]["state"] == "FAILED"
    assert "/no/such/folder/lines.txt" in failed["cause"]


def test_settings_are_changed_by_a_dag(sink: SinkFlow, run_dag: Callable[..., Ran]) -> None:
    """It runs with them, and goes on where it was; run once more, nothing is changed."""
    lines = sink.lines()

    ran = run_dag("more_tasks", DAGS, connector=sink.name)

    assert (ran.state, ran.tasks) == ("success", {"more_tasks": "success", "status": "success"})
    assert f"'{sink.name}' has other settings now: tasks.max=1 → tasks.max=2; errors.log.enable unset → " in ran.output
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=2)
    assert sink.lines() == lines

    again = run_dag("more_tasks", DAGS, connector=sink.name)

    assert again.state == "success"
    assert "has these settings already, so nothing was changed" in again.output


@pytest.mark.usefixtures("connections")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tasks.max": "none"}, "tasks.max: Invalid value none"),
        ({"topics": None}, "topics"),
        ({"connector.class": "FileStreamSource"}, "connector.class can't be changed"),
        ({"name": "other"}, "name can't be changed"),
        ({"my.password": "other"}, "my.password has, or would have, a secret"),
        ({"your.password": "other"}, "your.password has, or would have, a secret"),
        ({"consumer.override.bootstrap.servers": "mine:9092"}, "may send its secrets to another address"),
        ({}, "config names no setting"),
        ("{", "config is not valid JSON"),
        ({"topics": ["a"]}, "is not a JSON object of plain values"),
    ],
)
def test_what_is_refused_stops_nothing(sink: SinkFlow, config: dict[str, str], given: Any, said: str) -> None:
    """One sentence, before the connector is touched."""
    before = world(sink.sandbox)

    with pytest.raises(AirflowFailException, match=said):
        run(UpdateConnectorConfigOperator(task_id="update", connector=sink.name, config=given))

    before.assert_stands()
    assert sink.sandbox.connect.config(sink.name) == config


@pytest.mark.usefixtures("connections", "config")
def test_a_reference_to_a_secret_may_be_changed(sink: SinkFlow) -> None:
    """It reveals nothing, neither in the journal nor in what the task returns."""
    other = REFERENCE.replace("run", "etc")

    changed = run(UpdateConnectorConfigOperator(task_id="update", connector=sink.name, config={"our.password": other}))

    assert changed == [f"our.password={REFERENCE} → our.password={other}"]


@pytest.mark.usefixtures("connections")
def test_settings_that_it_fails_with_are_undone(sink: SinkFlow) -> None:
    """It has its prior settings and its state again, and the error says why."""
    config, lines = sink.sandbox.connect.config(sink.name), sink.lines()
    wrong = {"file": "/no/such/folder/lines.txt", "tasks.max": 1}

    with pytest.raises(
        AirflowFailException, match=rf"The settings of '{sink.name}' were not changed.*no/such/folder.*RUNNING"
    ):
        run(UpdateConnectorConfigOperator(task_id="update", connector=sink.name, config=wrong))

    assert sink.sandbox.connect.config(sink.name) == config
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    assert sink.lines() == lines


@pytest.mark.usefixtures("connections")
def test_what_has_failed_is_mended(sink: SinkFlow) -> None:
    """A change of the setting that it fails with lets it run."""
    config = sink.sandbox.connect.config(sink.name)
    sink.sandbox.connect.update_config(sink.name, {**config, "file": "/no/such/folder/lines.txt"})
    sink.sandbox.connect.wait_state(sink.name, "FAILED", tasks=1)

    run(UpdateConnectorConfigOperator(task_id="update", connector=sink.name, config={"file": config["file"]}))

    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)


def test_what_has_no_settings_is_not_changed(sandbox: Sandbox, workspace: str) -> None:
    """A consumer group has offsets alone."""
    with cluster(sandbox.target) as kafka, pytest.raises(Unsupported, match=r"Nothing was changed"):
        configure("orders", {"topics": "a"}, group_clients(kafka, workspace), owner())
