"""The three changes of the demo, each a real DAG run, and the proof of what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from airflow_provider_connect_offsets.report import (
    Change,
    offsets_table,
    outcome_line,
    plan_table,
    verdict_table,
)
from sandbox.demo.runs import DAG_ID, DagRuns, Ran
from sandbox.demo.telling import Telling
from sandbox.readings import SEATTLE
from sandbox.scene import MIRROR, MIRRORED, SINK, TOPIC, Scene, is_json, of_record

_REWIND_TO = datetime(2010, 12, 1, tzinfo=SEATTLE)
_CUT_OFF = '{"city": "Seattle", "at": "2010-12-31T12:'
_TYPO = "temperatuers"
_ONE_BY_ONE = {"consumer.override.max.poll.records": "1"}
_NOT_RUN = "upstream_failed"


@dataclass
class Stage:
    """Where the demo plays: the scene, Airflow, and whom to tell."""

    scene: Scene
    dag_runs: DagRuns
    telling: Telling
    changes: list[Change] = field(default_factory=list)

    def run(self, name: str, conf: Mapping[str, Any]) -> Ran:
        """Run the DAG and show its plan and verdicts."""
        self.telling.request(conf)
        with self.telling.step(f"DAG run of {DAG_ID}") as step:
            ran = self.dag_runs.run(name, conf, on_task=lambda task: step.note(f"task {task}"))
            step.text = f"DAG run of {DAG_ID}: {ran.state}"
        self.telling.say(", ".join(f"{task} {state}" for task, state in ran.tasks.items()))
        change = ran.change
        self.telling.show(plan_table(change))
        self.telling.show(verdict_table(change))
        return ran

    def applied(self, ran: Ran) -> Change:
        """Show what the run has changed."""
        change = ran.change
        self.telling.show(offsets_table(change))
        self.telling.show(outcome_line(change))
        return change

    def keep(self, ran: Ran, facts: Mapping[str, str]) -> None:
        """Keep the change for the page, with what was counted."""
        self.changes.append(Change.read(ran.directory, facts=facts))
