"""A real Airflow that runs the backfill on a schedule, and takes Airflow's own backfill command."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

import psutil

from sandbox import wait_until
from sandbox.airflow import AirflowStandalone

DAG_ID = "connector_offsets_backfill"


@dataclass(frozen=True)
class Scheduled:
    """A real Airflow with a DAG file; its intervals are the days from ``start`` to before ``end``."""

    airflow: AirflowStandalone
    start: datetime
    end: datetime

    @classmethod
    def started(cls, airflow: AirflowStandalone, start: datetime, end: datetime) -> Self:
        """Start Airflow, and wait until it has parsed the DAG file, which it does after all its parts are healthy."""
        airflow.start()
        airflow.wait_for_dag(DAG_ID)
        return cls(airflow, start, end)

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

    def wait_for(self, *, cleared: int, timeout: float = 240) -> None:
        """Wait until all days' runs have succeeded after ``cleared`` earlier attempts."""

        def ended() -> bool:
            runs = self.runs().values()
            attempts = {self.task(run["dag_run_id"], "turn")["try_number"] > cleared for run in runs}
            return (
                len(runs) == (self.end - self.start).days
                and attempts == {True}
                and {run["state"] for run in runs} == {"success"}
            )

        wait_until(ended, timeout, "not all runs have ended", progress={"tasks": self._tasks}, interval=2)

    def wait_until_succeeded(self, days: Collection[str]) -> None:
        """Wait until exactly these days have a run, and each has succeeded."""

        def ended() -> bool:
            runs = self.runs()
            return runs.keys() == set(days) and {run["state"] for run in runs.values()} == {"success"}

        wait_until(ended, 240, "not all runs have succeeded", progress={"tasks": self._tasks}, interval=2)

    def _tasks(self) -> list[tuple[str, str, int, str]]:
        """Return run, task, number of tries and state of all tasks."""
        tasks = self.airflow.call("GET", f"/dags/{DAG_ID}/dagRuns/~/taskInstances?limit=100")["task_instances"]
        return sorted((one["dag_run_id"], one["task_id"], one["try_number"], str(one["state"])) for one in tasks)

    def log(self, run_id: str, task: str) -> str:
        return self.airflow.log(dag_id=DAG_ID, run_id=run_id, task=task)

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
        dates = ["--from-date", self.start.isoformat(), "--to-date", (self.end - timedelta(seconds=1)).isoformat()]
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
