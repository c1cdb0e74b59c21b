"""Rewinds to the start of data intervals, under a real scheduler: catchup, and Airflow's backfill command."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest

from sandbox import Sandbox, wait_for, wait_until
from sandbox.airflow import AirflowStandalone
from sandbox.connectors import file_sink_config
from tests.support.airflow.dag_runs import Ran

DAG_ID = "connector_offsets_backfill"
A_DAY = 10
DAYS = 3
TODAY = datetime.now(tz=UTC).replace(hour=0, minute=0, second=0, microsecond=0)
START = TODAY - timedelta(days=DAYS)
DAG_FILE = f"""
from datetime import datetime

from airflow_provider_connect_offsets.dags import connector_offsets_backfill

dag = connector_offsets_backfill(
    start_date=datetime.fromisoformat("{START.isoformat()}"),
    catchup=True,
    max_active_runs=2,
    params={{"connector": "%s", "kafka_conn_id": "kafka_target", "approval": False}},
)
"""


@dataclass(frozen=True)
class Daily:
    """A sink of a topic with ten records a day: one day before ``START``, those from then on, and today."""

    sandbox: Sandbox
    name: str
    file: Path

    def written(self) -> Counter[str]:
        """Return how many records of each day were delivered."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return Counter(line.partition(" ")[0] for line in lines)

    def wait_for(self, times: int) -> None:
        """Wait until each day from START on was delivered so many times; the day before only once."""
        expected = {_name(day): A_DAY * (times if day >= 0 else 1) for day in range(-1, DAYS + 1)}
        wait_for(self.written, expected, 60, f"not delivered {times} times", progress=self.sandbox.connect.work)


def _name(day: int) -> str:
    return (START + timedelta(days=day)).date().isoformat()


@pytest.fixture
def daily(sandbox: Sandbox) -> Iterator[Daily]:
    mark = uuid4().hex[:8]
    sink = Daily(sandbox, f"daily-{mark}", sandbox.data / f"daily-{mark}.txt")
    sandbox.target.create_topic(sink.name)
    for day in range(-1, DAYS + 1):
        noon = int((START + timedelta(days=day)).timestamp() * 1000)
        values = [f"{_name(day)} {number}" for number in range(A_DAY)]
        sandbox.target.produce(sink.name, values, timestamps=[noon] * A_DAY)
    sandbox.connect.create(sink.name, file_sink_config(sink.name, sink.file))
    sink.wait_for(1)
    yield sink
    sandbox.connect.delete(sink.name)


@dataclass(frozen=True)
class Scheduled:
    """A real Airflow with the DAG file."""

    airflow: AirflowStandalone

    def runs(self) -> dict[str, dict[str, Any]]:
        """Return the runs by the day of their interval."""
        runs = self.airflow.call("GET", f"/dags/{DAG_ID}/dagRuns?limit=100")["dag_runs"]
        return {run["data_interval_start"][:10]: run for run in runs}

    def turns(self) -> dict[str, str | None]:
        """Return the state of each day's task ``turn``."""
        return {day: self.task(run["dag_run_id"], "turn")["state"] for day, run in self.runs().items()}

    def task(self, run_id: str, task: str) -> dict[str, Any]:
        instance: dict[str, Any] = self.airflow.call("GET", f"/dags/{DAG_ID}/dagRuns/{run_id}/taskInstances/{task}")
        return instance

    def wait_for(self, *, cleared: int) -> None:
        """Wait until all days' runs have succeeded after ``cleared`` earlier attempts."""

        def ended() -> bool:
            runs = self.runs().values()
            attempts = {self.task(run["dag_run_id"], "turn")["try_number"] > cleared for run in runs}
            return len(runs) == DAYS and attempts == {True} and {run["state"] for run in runs} == {"success"}

        wait_until(ended, 240, "not all runs have ended", progress={"tasks": self._tasks}, interval=2)

    def _tasks(self) -> list[tuple[str, str, int, str]]:
        """Return run, task, number of tries and state of all tasks."""
        tasks = self.airflow.call("GET", f"/dags/{DAG_ID}/dagRuns/~/taskInstances?limit=100")["task_instances"]
        return sorted((one["dag_run_id"], one["task_id"], one["try_number"], str(one["state"])) for one in tasks)

    def log(self, run_id: str, task: str) -> str:
        number = self.task(run_id, task)["try_number"]
        return str(self.airflow.call("GET", f"/dags/{DAG_ID}/dagRuns/{run_id}/taskInstances/{task}/logs/{number}"))

    def at_its_end(self) -> str:
        """Return the errors of tasks and of Airflow itself, for a failed test."""
        tasks = [one for one in self._tasks() if one[3] not in ("success", "skipped", "None")]
        logs = [f"{run} {task}: {self.log(run, task)[-2000:]}" for run, task, *_ in tasks]
        lines = self.airflow.process.log_path.read_text(errors="replace").splitlines()
        errors = [line for line in lines if any(word in line for word in ("Error:", "[error", "[critical"))]
        return "\n".join([f"tasks that have not succeeded: {tasks}", *logs, *errors[-40:]])

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Suspend all processes of Airflow at a moment at which none of them writes to the database.

        Airflow's command reads and then writes in one transaction, which SQLite refuses at once if another process has
        written in between ("database is locked"). Runs that it had cleared until then would be cleared once more.
        """
        family: list[psutil.Process] = []

        def is_free() -> bool:
            standalone = psutil.Process(self.airflow.process.pid)
            family[:] = [standalone, *standalone.children(recursive=True)]
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
            if _can_be_written(self.airflow.environment()["AIRFLOW_HOME"]):
                return True
            resume()
            return False

        def resume() -> None:
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

        try:
            wait_until(is_free, 60, "Airflow writes all the time", interval=0.5)
            yield
        finally:
            resume()

    def backfill(self, *more: str) -> None:
        """Run Airflow's own command for all days."""
        command = [sys.executable, "-m", "airflow", "backfill", "create", "--dag-id", DAG_ID]
        dates = ["--from-date", START.isoformat(), "--to-date", (TODAY - timedelta(seconds=1)).isoformat()]
        again = ["--reprocess-behavior", "completed"]
        environment = {**os.environ, **self.airflow.environment()}

        def is_created() -> bool:  # the scheduler notices the end of the previous backfill late
            whole = [*command, *dates, *again, *more]
            with self.halted():
                done = subprocess.run(whole, capture_output=True, text=True, check=False, env=environment)
            output = done.stderr + done.stdout
            assert done.returncode == 0 or "Another backfill is running" in output, output
            return done.returncode == 0

        message = "the previous backfill has not ended"
        wait_until(is_created, 300, message, progress={"tasks": self._tasks}, interval=5)


def _can_be_written(home: str) -> bool:
    """Whether no process holds a lock on Airflow's database."""
    with closing(sqlite3.connect(f"{home}/airflow.db", timeout=1, isolation_level=None)) as database:
        try:
            database.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        database.execute("ROLLBACK")
    return True


@pytest.fixture
def scheduled(sandbox: Sandbox, daily: Daily, tmp_path: Path) -> Iterator[Scheduled]:
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / f"{DAG_ID}.py").write_text(DAG_FILE % daily.name)
    airflow = AirflowStandalone(sandbox, workspace=tmp_path / "workspace", dags=dags)
    airflow.start()
    real = Scheduled(airflow)
    yield real
    print(real.at_its_end())  # noqa: T201 - shown by pytest if the test fails
    airflow.close()


@pytest.mark.processes
@pytest.mark.timeout(3600)
def test_each_time_all_intervals_are_delivered_once_more(daily: Daily, scheduled: Scheduled) -> None:
    """By catchup, a backfill, and a backward one: one run rewinds to the earliest interval, the others are skipped."""
    scheduled.wait_for(cleared=0)
    daily.wait_for(2)
    first = scheduled.runs()[_name(0)]["dag_run_id"]
    assert scheduled.turns() == {_name(0): "success", _name(1): "skipped", _name(2): "skipped"}
    for day in (1, 2):
        log = scheduled.log(scheduled.runs()[_name(day)]["dag_run_id"], "turn")
        assert f"Nothing is left to do: run '{first}' rewound '{daily.name}' to {START.isoformat()}" in log

    scheduled.backfill()
    scheduled.wait_for(cleared=1)
    daily.wait_for(3)
    assert scheduled.turns() == {_name(0): "success", _name(1): "skipped", _name(2): "skipped"}

    scheduled.backfill("--run-backwards", "--max-active-runs", "1")
    scheduled.wait_for(cleared=2)
    daily.wait_for(4)
    assert scheduled.turns() == {_name(0): "success", _name(1): "skipped", _name(2): "skipped"}
    log = scheduled.log(scheduled.runs()[_name(2)]["dag_run_id"], "turn")
    assert "of an earlier interval is queued, and delivers this one again too" in log


def test_a_run_without_a_connector_fails_before_anything_is_touched(run_dag: Callable[..., Ran]) -> None:
    """The ready DAG has none until its file names one."""
    ran = run_dag(DAG_ID)

    assert (ran.state, ran.tasks["turn"]) == ("failed", "failed")
    assert "Nothing was changed: no connector is named." in ran.output
