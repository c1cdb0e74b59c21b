"""Many DAG runs at once under a real scheduler, polled in one request."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import uuid4

import requests

from airflow_provider_connect_offsets.workspace.layout import RunDirectory, run_directory
from sandbox import Progress, wait_until
from sandbox.airflow import Airflow

_ENDS = 300.0  # seconds without any task's progress
_LOOKS_EVERY = 3.0
_WITHOUT_LOG = frozenset({"None", "skipped", "upstream_failed"})
_IN_BETWEEN = ("scheduled", "queued", "running", "up_for_retry", "deferred", "restarting")


@dataclass(frozen=True)
class Ended:
    """A DAG run that has ended: its state, and the state and number of attempts of each task by its id."""

    dag_id: str
    run_id: str
    state: str
    tasks: Mapping[str, str]
    attempts: Mapping[str, int]
    directory: RunDirectory


@dataclass
class Runs:
    """The DAG runs of an Airflow, polled in one request for all waiting threads, until closed."""

    airflow: Airflow
    workspace: str
    closed: bool = False
    _lock: Lock = field(default_factory=Lock)
    _looking: Lock = field(default_factory=Lock)
    _looked_at: float = float("-inf")
    _under_way: frozenset[str] = frozenset()
    _moving: tuple[str, ...] = ()

    def close(self) -> None:
        """End all waits."""
        self.closed = True

    def run(self, dag_id: str, conf: Mapping[str, Any]) -> Ended:
        """Trigger a run and wait for its end."""
        run_id = uuid4().hex
        run = f"the run {run_id} of {dag_id}"
        self._trigger(dag_id, run_id, conf)

        def is_over() -> bool:
            if self.closed:
                raise RuntimeError(f"nobody waits for {run}")
            if run_id in self._looked().under_way:
                return False
            return self._state(dag_id, run_id) in {"success", "failed"}  # it may be newer than the last poll

        wait_until(is_over, _ENDS, f"{run} does not end", progress=self._progress, interval=1)
        return self._ended(dag_id, run_id)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Make a request of Airflow's REST API; one at a time, and again if its database was locked."""
        answer: list[Any] = []

        def is_answered() -> bool:
            try:
                with self._lock:
                    answer.append(self.airflow.call(method, path, body))
            except requests.Timeout:
                return False
            except requests.HTTPError as error:
                if error.response.status_code < 500:
                    raise
                return False
            return True

        wait_until(is_answered, 120, f"{method} {path} is not answered", interval=1)
        return answer[0]

    def _trigger(self, dag_id: str, run_id: str, conf: Mapping[str, Any]) -> None:
        request = {"dag_run_id": run_id, "logical_date": None, "conf": dict(conf)}
        try:
            self.call("POST", f"/dags/{dag_id}/dagRuns", request)
        except requests.HTTPError as error:
            if error.response.status_code != 409:  # it is there already, though the answer was another one
                raise

    @contextmanager
    def explaining(self, ended: Ended) -> Iterator[None]:
        """Add the logs of the run's tasks to an error."""
        try:
            yield
        except Exception as error:
            for task, state in ended.tasks.items():
                if state not in _WITHOUT_LOG:
                    error.add_note(f"--- {task}: {state}\n{self._logs(ended, task)}")
            raise

    def _logs(self, ended: Ended, task: str) -> str:
        path = f"/dags/{ended.dag_id}/dagRuns/{ended.run_id}/taskInstances/{task}/logs"
        attempts = range(1, ended.attempts[task] + 1)
        logs = [self.call("GET", f"{path}/{number}")["content"] for number in attempts]
        printed = [[f"{line.get('event')} {line.get('error_detail') or ''}" for line in lines] for lines in logs]
        return "\n".join(f"attempt {number}: " + "\n".join(lines)[-3000:] for number, lines in enumerate(printed, 1))

    def _ended(self, dag_id: str, run_id: str) -> Ended:
        path = f"/dags/{dag_id}/dagRuns/{run_id}"
        tasks = self.call("GET", f"{path}/taskInstances")["task_instances"]
        return Ended(
            dag_id=dag_id,
            run_id=run_id,
            state=self._state(dag_id, run_id),
            tasks={one["task_id"]: str(one["state"]) for one in tasks},
            attempts={one["task_id"]: one["try_number"] for one in tasks},
            directory=run_directory(self.workspace, dag_id=dag_id, run_id=run_id),
        )

    def _state(self, dag_id: str, run_id: str) -> str:
        return str(self.call("GET", f"/dags/{dag_id}/dagRuns/{run_id}")["state"])

    @property
    def _progress(self) -> Progress:
        return {"tasks": lambda: self._looked().moving}

    def _looked(self) -> _Look:
        with self._looking:
            if time.monotonic() > self._looked_at + _LOOKS_EVERY:
                self._look()
            return _Look(self._under_way, self._moving)

    def _look(self) -> None:
        runs = self.call("GET", "/dags/~/dagRuns?limit=100&state=queued&state=running")["dag_runs"]
        states = "&".join(f"state={state}" for state in _IN_BETWEEN)
        tasks = self.call("GET", f"/dags/~/dagRuns/~/taskInstances?limit=100&{states}")["task_instances"]
        self._under_way = frozenset(run["dag_run_id"] for run in runs)
        self._moving = tuple(sorted(f"{one['id']} {one['try_number']} {one['state']}" for one in tasks))
        self._looked_at = time.monotonic()


@dataclass(frozen=True)
class _Look:
    under_way: frozenset[str]
    moving: tuple[str, ...]
