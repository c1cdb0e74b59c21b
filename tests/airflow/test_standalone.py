"""The ready DAG under a real scheduler, triggered and approved through Airflow's REST API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flows import RECORDS, MirrorFlow, world

from sandbox import Sandbox, wait_until
from sandbox.airflow import AirflowStandalone

DAG = "/dags/connector_offsets_change"
ENDED = {"success", "failed"}


@pytest.fixture(scope="module")
def airflow(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowStandalone]:
    """``airflow standalone`` that has parsed the DAG."""
    with AirflowStandalone(sandbox, workspace=tmp_path_factory.mktemp("workspace")) as running:
        wait_until(lambda: running.has_dag("connector_offsets_change"), 60, "Airflow has not found the DAG")
        yield running


class DagRun:
    """A run that was triggered as the trigger form does it."""

    def __init__(self, airflow: AirflowStandalone, **conf: Any) -> None:
        self._airflow = airflow
        run_id = airflow.call("POST", f"{DAG}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"]
        self._path = f"{DAG}/dagRuns/{quote(run_id)}"

    def tasks(self) -> dict[str, str | None]:
        """The tasks' states."""
        found = self._airflow.call("GET", f"{self._path}/taskInstances")["task_instances"]
        return {task["task_id"].removeprefix("change."): task["state"] for task in found}

    def question(self) -> dict[str, Any]:
        """Wait until someone is asked to approve; gives what they are shown."""
        wait_until(lambda: self.tasks()["approve"] == "awaiting_input" or self._asked(), 120, "nobody is asked")
        found: dict[str, Any] = self._airflow.call("GET", f"{self._approval}")
        return found

    def answer(self, chosen: str) -> None:
        """Click Approve or Reject."""
        self._airflow.call("PATCH", self._approval, {"chosen_options": [chosen], "params_input": {}})

    def end(self) -> str:
        """Wait for the end of the run; gives its state."""
        wait_until(lambda: self._state() in ENDED, 180, "the run does not end")
        return self._state()

    @property
    def _approval(self) -> str:
        return f"{self._path}/taskInstances/change.approve/-1/hitlDetails"

    def _asked(self) -> bool:
        return bool(self._airflow.call("GET", f"{self._path}/hitlDetails")["total_entries"])

    def _state(self) -> str:
        return str(self._airflow.call("GET", self._path)["state"])


@pytest.mark.timeout(600)
def test_an_approved_change_is_made_and_a_rejected_one_touches_nothing(
    airflow: AirflowStandalone, mirror: MirrorFlow
) -> None:
    """Nothing is stopped before the answer; a rejection fails the run."""
    before, ends = world(mirror.sandbox), mirror.target_ends()
    asked_for = {"connector": mirror.name, "to": "offset", "value": "60", "kafka_conn_id": "kafka_source"}
    approved, rejected = DagRun(airflow, **asked_for), DagRun(airflow, **asked_for)

    questions = approved.question(), rejected.question()

    assert world(mirror.sandbox) == before
    for question in questions:
        assert question["subject"] == f"Change the offsets of {mirror.name}?"
        assert "Records delivered again: **80**" in question["body"]
        assert "Nothing has been stopped yet" in question["body"]
    rejected.answer("Reject")
    assert rejected.end() == "failed"
    assert rejected.tasks()["apply"] in {"upstream_failed", "skipped"}
    assert world(mirror.sandbox) == before

    approved.answer("Approve")

    assert approved.end() == "success"
    assert set(approved.tasks().values()) == {"success"}
    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {partition: end + RECORDS - 60 for partition, end in ends.items()}


def test_the_connection_form_shows_the_fields(airflow: AirflowStandalone) -> None:
    """What the UI builds its form from: the type, its own labels, and every extra field."""
    kinds = {found["connection_type"]: found for found in airflow.ask_ui("/connections/hook_meta")}
    kind = kinds["kafka_connect"]

    assert kind["hook_name"] == "Kafka Connect"
    assert kind["standard_fields"]["host"]["title"] == "Host, or several workers with commas between"
    assert {"token", "oauth_token_url", "ca", "client_cert", "client_key", "headers", "read_timeout"} <= set(
        kind["extra_fields"]
    )


def test_the_connection_is_tested_for_real(airflow: AirflowStandalone, sandbox: Sandbox) -> None:
    """The form's Test button asks the worker itself."""
    host, _, port = sandbox.connect.url.removeprefix("http://").partition(":")
    connection = {"connection_id": "mine", "conn_type": "kafka_connect", "schema": "http", "host": host}

    good = airflow.call("POST", "/connections/test", {**connection, "port": int(port)})
    bad = airflow.call("POST", "/connections/test", {**connection, "port": 9})

    assert good["status"], good
    assert "4.3.1" in good["message"]
    assert not bad["status"]
