"""What the demo's changes work with: the scene, Airflow, and what is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.report import Change, offsets_table, outcome_line, plan_table, verdict_table
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from sandbox.demo.narration import Narration
from sandbox.demo.runs import CHANGE, DagRuns, Ran, tail
from sandbox.errors import SandboxError
from sandbox.scene import Scene


@dataclass
class Stage:
    """What a change works with, and the changes kept for the report."""

    scene: Scene
    dag_runs: DagRuns
    narration: Narration
    changes: list[Change] = field(default_factory=list)

    def run(self, name: str, conf: Mapping[str, Any], *, expect: str) -> Ran:
        """Run a change, show its plan and verdicts, and fail unless it ends as expected."""
        ran = self.run_dag(name, CHANGE, conf, expect=expect)
        self.narration.show(plan_table(ran.change()))
        self.narration.show(verdict_table(ran.change()))
        return ran

    def run_dag(self, name: str, dag_id: str, conf: Mapping[str, Any], *, expect: str) -> Ran:
        """Run a DAG, and fail unless it ends as expected."""
        self.narration.request(conf)
        with self.narration.step(f"DAG run of {dag_id} has ended") as step:
            ran = self.dag_runs.run(name, dag_id, conf, on_task=lambda task: step.note(f"task {task} runs"))
            step.text = f"DAG run of {dag_id} has ended: {ran.state}"
        self.narration.say(f"Its tasks: {_by_state(ran.tasks)}")
        if ran.state != expect:
            raise SandboxError(
                f"The DAG run should have ended as {expect}, but is {ran.state}. "
                f"Its log is {ran.log}, and ends with:\n{tail(ran.log)}"
            )
        return ran

    def show_applied(self, ran: Ran) -> Outcome:
        """Show what a run has changed, and return how it ended."""
        self.narration.show(offsets_table(ran.change()))
        self.narration.show(outcome_line(ran.change()))
        self.narration.say("")
        return ran.outcome

    def keep(self, ran: Ran, title: str, facts: Mapping[str, str]) -> None:
        """Keep the change for the report, with what was counted."""
        self.changes.append(ran.change(title=title, facts=facts))


def _by_state(tasks: Mapping[str, str]) -> str:
    states = list(dict.fromkeys(tasks.values()))
    return "; ".join(f"{', '.join(task for task in tasks if tasks[task] == state)}: {state}" for state in states)
