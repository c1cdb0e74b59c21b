"""``make up``, as a person uses it: what it says to open and to click, done over Airflow's REST API."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
import pytest
from requests import HTTPError
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_fixed

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.stores.kafka import KafkaLogs
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result
from sandbox import wait_until
from sandbox.airflow import AirflowAt
from sandbox.connect import ConnectAt

pytestmark = pytest.mark.processes
COMMAND = (sys.executable, "-m", "sandbox.play")
DAG = "/dags/connector_offsets_change"
MIRROR, SINK = "temperatures-mirror", "temperatures-sink"
ENDED = {"success", "failed"}


@dataclass(frozen=True)
class Playing:
    """``make up`` that has explained itself."""

    directory: Path
    process: subprocess.Popen[str]
    printed: str

    def told(self, pattern: str) -> str:
        """What the first group of ``pattern`` matches in what was printed."""
        found = re.search(pattern, self.printed)
        assert found, self.printed
        return found[1]

    @property
    def airflow(self) -> AirflowAt:
        return AirflowAt(self.told(r"asks for no password: (\S+)"))

    @property
    def connect(self) -> ConnectAt:
        return ConnectAt(self.told(r"Kafka Connect at (\S+),"))

    def first_change(self) -> dict[str, str]:
        """What it says to fill into the trigger form."""
        return {
            "connector": self.told(r"Connector +(\S+)"),
            "to": self.told(r"Resume at +(\S+)"),
            "value": self.told(r"Value +(\S+)"),
            "kafka_conn_id": self.told(r"Kafka connection +(\S+)"),
        }

    def replicated(self) -> int:
        """How many records lie on the target."""
        with KafkaLogs({"bootstrap.servers": self.told(r"\(source\) and (\S+) \(target\)")}) as logs:
            topic = self.told(r"to (\S+)\n")
            wanted = [where for where in _partitions(logs) if where.topic == topic]
            return sum(found.log_end for found in logs.bounds(wanted).values())

    def await_heartbeat(self) -> None:
        """Wait for the scheduler's next one."""
        last = self._heartbeat()
        wait_until(lambda: self._heartbeat() != last, 60, "the scheduler's heart has stopped")

    def _heartbeat(self) -> str:
        return str(self.airflow.call("GET", "/monitor/health")["scheduler"]["latest_scheduler_heartbeat"])


class DagRun:
    """A run that was triggered as the trigger form does it."""

    def __init__(self, airflow: AirflowAt, conf: Mapping[str, str]) -> None:
        self._airflow = airflow
        self._path = f"{DAG}/dagRuns/{quote(self._triggered(conf))}"

    # Under load Airflow has once answered a trigger with 500, and triggered nothing.
    @retry(retry=retry_if_exception_type(HTTPError), stop=stop_after_attempt(3), wait=wait_fixed(1), reraise=True)
    def _triggered(self, conf: Mapping[str, str]) -> str:
        told = self._airflow.call("POST", f"{DAG}/dagRuns", {"logical_date": None, "conf": dict(conf)})
        return str(told["dag_run_id"])

    def tasks(self) -> dict[str, str | None]:
        """The tasks' states."""
        found = self._airflow.call("GET", f"{self._path}/taskInstances")["task_instances"]
        return {task["task_id"].removeprefix("change."): task["state"] for task in found}

    def is_asked(self) -> bool:
        """Whether someone is asked to approve, and the task waits for the answer."""
        return self.tasks()["approve"] == "awaiting_input"

    def question(self) -> dict[str, Any]:
        """What they are shown."""
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

    def _state(self) -> str:
        return str(self._airflow.call("GET", self._path)["state"])


@pytest.fixture(scope="module")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    """Start it, and read up to its last line; it is killed at the end, should it still be there."""
    directory = tmp_path_factory.mktemp("play")
    with subprocess.Popen(
        COMMAND, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Playing(directory, process, _read_until(process, "Ctrl-C"))
        finally:
            process.kill()


@pytest.mark.timeout(600)
def test_it_comes_up_and_explains_itself(playing: Playing) -> None:
    """Airflow is healthy and knows the DAG; the connectors work; a second one is refused."""
    health = playing.airflow.call("GET", "/monitor/health")
    assert {part["status"] for part in health.values()} == {"healthy"}
    details = playing.airflow.call("GET", f"{DAG}/details")
    assert not details["is_paused"]
    assert {"connector", "to", "value", "kafka_conn_id"} <= details["params"].keys()
    for name in (MIRROR, SINK):
        assert name in playing.printed
        assert playing.connect.status(name)["connector"]["state"] == "RUNNING"

    second = subprocess.run(COMMAND, cwd=playing.directory, capture_output=True, text=True, check=False)

    assert second.returncode == 1
    assert "already runs here" in second.stderr


@pytest.mark.timeout(600)
def test_an_approved_change_is_made_and_a_rejected_one_touches_nothing(playing: Playing) -> None:
    """The first change it proposes: nothing is stopped before the answer, and nothing after a rejection."""
    before, count = playing.connect.offsets(MIRROR), playing.replicated()
    approved, rejected = (DagRun(playing.airflow, playing.first_change()) for _ in range(2))

    wait_until(lambda: approved.is_asked() and rejected.is_asked(), 120, "nobody is asked")
    # As long as a reader takes: an answer at the very moment of the question fails the task (docs/seen.md), since the
    # scheduler has not heard yet that the process which asked has ended. Two heartbeats later it has.
    playing.await_heartbeat()
    playing.await_heartbeat()
    questions = approved.question(), rejected.question()

    assert playing.connect.offsets(MIRROR) == before
    for question in questions:
        assert question["subject"] == f"Change the offsets of {MIRROR}?"
        assert "Nothing has been stopped yet" in question["body"]
        assert "| Partition | Log | Before | After | Records |" in question["body"]
    rejected.answer("Reject")
    rejected.end()
    assert {rejected.tasks()[task] for task in ("begin", "apply", "restore", "outcome")} == {"skipped"}
    assert playing.connect.offsets(MIRROR) == before

    approved.answer("Approve")

    assert approved.end() == "success"
    assert set(approved.tasks().values()) == {"success"}
    found = re.search(r"Records delivered again: \*\*([\d,]+)\*\*", questions[0]["body"])
    assert found
    predicted = int(found[1].replace(",", ""))
    assert predicted > 0
    wait_until(lambda: playing.replicated() == count + predicted, 60, "the records it predicted have not arrived")
    pages = list(playing.directory.glob(playing.told(r"is then\n +(\S+)/<run>") + "/*/report.html"))
    outcomes = [Outcome.read(page.with_name("outcome.json").as_uri()) for page in pages]
    assert [outcome.result for outcome in outcomes if outcome] == [Result.APPLIED]


def test_the_connection_form_shows_the_fields(playing: Playing) -> None:
    """What the UI builds its form from: the type, its own labels, and every extra field."""
    kinds = {found["connection_type"]: found for found in playing.airflow.ask_ui("/connections/hook_meta")}
    kind = kinds["kafka_connect"]

    assert kind["hook_name"] == "Kafka Connect"
    assert kind["standard_fields"]["host"]["title"] == "Host, or several workers with commas between"
    assert {"token", "oauth_token_url", "ca", "client_cert", "client_key", "headers", "read_timeout"} <= set(
        kind["extra_fields"]
    )


def test_the_connection_is_tested_for_real(playing: Playing) -> None:
    """The form's Test button asks the worker itself."""
    host, _, port = playing.connect.url.removeprefix("http://").partition(":")
    connection = {"connection_id": "mine", "conn_type": "kafka_connect", "schema": "http", "host": host}

    good = playing.airflow.call("POST", "/connections/test", {**connection, "port": int(port)})
    bad = playing.airflow.call("POST", "/connections/test", {**connection, "port": 9})

    assert good["status"], good
    assert "4.3.1" in good["message"]
    assert not bad["status"]


def test_told_to_end_it_leaves_nothing(playing: Playing) -> None:
    """No process and no file; it stands last in this module, as nothing is left to play with afterwards."""
    started = psutil.Process(playing.process.pid).children(recursive=True)
    root = Path(playing.told(r"topic to (\S+)/data/"))

    playing.process.send_signal(signal.SIGTERM)
    last, _ = playing.process.communicate(timeout=60)

    assert playing.process.returncode == 0, last
    assert "Everything is stopped and gone." in last
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert not root.exists()
    assert not (playing.directory / ".sandbox").exists()


def _read_until(process: subprocess.Popen[str], last: str) -> str:
    """Read what a process prints, up to the line that starts with ``last``."""
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith(last):
            return printed
    raise AssertionError(f"it has ended, and said: {printed}")


def _partitions(logs: KafkaLogs) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, count in logs.topics().items() for number in range(count)]
