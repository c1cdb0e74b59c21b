"""Real DAG runs, made in a process of their own, with their output in files."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from airflow_provider_connect_offsets.report import Change
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory, run_directory
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from sandbox.errors import SandboxError

CHANGE, POISON = "connector_offsets_change", "connector_offsets_poison"
_TAIL = 15
_TASK_STARTS = re.compile(r"\[DAG TEST\] starting task_id=(?:\w+\.)?(\w+)")


@dataclass(frozen=True, slots=True)
class Ran:
    """A DAG run that has ended."""

    conf: Mapping[str, Any]
    state: str
    tasks: Mapping[str, str]
    directory: RunDirectory
    log: Path

    def predicted_count(self, count: str) -> int:
        """A count of the plan's summary, such as ``records_again``."""
        return int(read_json(self.directory.summary)[count])

    @property
    def outcome(self) -> Outcome:
        """How the change ended."""
        outcome = Outcome.read(self.directory.outcome)
        if outcome is None:
            raise SandboxError(f"{self.directory.uri} holds no outcome. The log of the run is {self.log}")
        return outcome

    def change(self, **details: Any) -> Change:
        """What it planned and did, for tables and reports."""
        return Change.read(self.directory, **details)


class DagRuns:
    """Runs DAGs with Params, any number of times during a ``with`` block."""

    def __init__(self, *, environment: Mapping[str, str], workspace: Path, logs: Path) -> None:
        self._workspace = workspace.absolute().as_uri()
        self._logs = logs
        own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
        self._log = logs / "airflow.log"
        # In a session of its own, so that Ctrl-C reaches the demo alone, which then ends this.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sandbox.demo.runner", str(self._log.absolute())],
            env=own | dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()  # it ends with its standard input
        self._process.wait(timeout=60)

    def run(self, name: str, dag_id: str, conf: Mapping[str, Any], *, on_task: Callable[[str], None]) -> Ran:
        """Run a DAG once and write its output to the log ``name``; call ``on_task`` with each task that begins."""
        log = (self._logs / f"{name}.log").absolute()
        log.touch()
        order = {"dag_id": dag_id, "conf": {**conf, "approval": False}, "log": str(log)}
        self._tell(order)
        answer = self._answer(log, on_task)
        return Ran(
            conf=conf,
            state=answer["state"],
            tasks=answer["tasks"],
            directory=run_directory(self._workspace, dag_id=dag_id, run_id=answer["run_id"]),
            log=log,
        )

    def _tell(self, order: Mapping[str, Any]) -> None:
        if not self._process.stdin:
            raise SandboxError("Airflow's process takes no orders.")
        try:
            print(json.dumps(order), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            return  # it has ended, which is reported when the answer is missing

    def _answer(self, log: Path, on_task: Callable[[str], None]) -> dict[str, Any]:
        if not self._process.stdout:
            raise SandboxError("Airflow's process does not answer.")
        with log.open(errors="replace") as written:
            while not select.select([self._process.stdout], [], [], 0.2)[0]:
                for task in _TASK_STARTS.findall(written.read()):
                    on_task(task)
        line = self._process.stdout.readline()
        if not line:
            raise SandboxError(f"Airflow's process has ended. The end of its logs:\n{tail(self._log)}\n{tail(log)}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def tail(log: Path) -> str:
    """The end of a log."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL:])
