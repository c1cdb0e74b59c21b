"""Cells of the task matrix: each task of each task group with each fault, and the ending of its DAG run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from tests.support.airflow.breaking_tasks import BROKEN, RETRIES, Fault, breakable
from tests.support.airflow.connector_scenes import Copies, Groups, Poisons, Replays
from tests.support.airflow.task_group_scenes import Failbacks, Failovers, Orphans
from tests.support.airflow.task_runs import Ended, Runs
from tests.support.airflow.task_scenes import Fleet, InEffect, Resets, Scene, Sinks

#: What the runs of each DAG work on, and how many of it there are, so that as many runs go on at once.
SCENES: Mapping[str, tuple[type[Scene], int]] = {
    "mirror_failover": (Failovers, 2),
    "mirror_reset": (Resets, 2),
    "connector_offsets_change": (Sinks, 2),
    "connector_offsets_fleet": (Fleet, 2),
    "connector_offsets_orphans": (Orphans, 1),
    "connector_offsets_poison": (Poisons, 1),
    "connector_offsets_copy": (Copies, 1),
    "interval_replay": (Replays, 1),
    "group_offsets_change": (Groups, 1),
    "mirror_failback": (Failbacks, 1),
}
# Their tasks are those of a failover, of a fleet, or wired as those of a change: each is broken by one of the faults,
# which take turns.
_IN_TURN = frozenset({"mirror_failback", "interval_replay", "group_offsets_change"})


_dag = cache(breakable)


@dataclass(frozen=True)
class Shape:
    """Two tasks of a DAG: the one that applies, and the teardown that undoes it, if there is one."""

    applies: str
    teardown: str = ""

    @classmethod
    def of(cls, dag_id: str) -> Shape:
        """Read the shape of a DAG."""
        teardowns = [task for task in _dag(dag_id).tasks if task.is_teardown]
        if not teardowns:
            return cls(_executed(dag_id)[-1])
        [teardown] = teardowns
        before = [name for name in _executed(dag_id) if name in teardown.upstream_task_ids]
        return cls(before[-1], teardown.task_id)


@dataclass(frozen=True)
class Cell:
    """A task and the fault that breaks it.

    ``after_death``: before that, the task that makes the changes is killed half-way, and so is each of its retries.
    """

    dag_id: str
    task: str
    fault: Fault
    after_death: bool = False

    def __str__(self) -> str:
        return f"{self.dag_id}-{self.name}-{self.fault}"

    @property
    def name(self) -> str:
        """The name of the task in the table."""
        short = self.task.rpartition(".")[2]
        return f"{short} after a death" if self.after_death else short

    @property
    def broken(self) -> dict[str, Any]:
        """The entry of the run's configuration that breaks tasks."""
        writes = [1] * (RETRIES + 1) if self.is_lasting else [2]
        broken = {self.task: {"fault": self.fault, "writes": writes}}
        if self.after_death:
            scene = SCENES[self.dag_id][0]
            midst, dies = scene.writes, scene.dies or Shape.of(self.dag_id).applies
            broken[dies] = {"fault": Fault.KILLED, "writes": [midst, *[0] * RETRIES]}
        return broken

    @property
    def is_lasting(self) -> bool:
        """Whether each attempt breaks. A task is killed once only, so that its next attempt must recover."""
        return self.fault is not Fault.KILLED

    @property
    def is_made_good(self) -> bool:
        """Whether the task succeeds at last: one that was killed is tried again, unless it must never be."""
        return not self.is_lasting and bool(_dag(self.dag_id).get_task(self.task).retries)

    @property
    def state(self) -> str:
        """The expected state of the run: success only if every task has succeeded."""
        return "success" if self.is_made_good and not self.after_death else "failed"

    def in_effect(self, ended: Ended) -> InEffect:
        """How much of the operation must be in effect after the run."""
        state = ended.tasks[Shape.of(self.dag_id).applies]
        if state == "success":
            return InEffect.ALL
        return SCENES[self.dag_id][0].after_death if state == "failed" else InEffect.NONE

    def make(self, scene: Scene, runs: Runs) -> str:
        """Run the cell, check the result and return its ending; if the teardown was lost, the next run must recover."""
        params = {**scene.prepare(), "approval": False}
        ended = runs.run(self.dag_id, {**params, BROKEN: self.broken})
        with runs.explaining(ended):
            assert ended.state == self.state, ended
            assert ended.tasks[self.task] == ("success" if self.is_made_good else "failed"), ended
            assert ended.attempts[self.task] == 1 + self.is_made_good or self.is_lasting, "it was not broken"
            if not (self.after_death and self.is_lasting):
                in_effect = self.in_effect(ended)
                scene.check(ended, in_effect, params)
                return f"{ended.state}: {in_effect}"
        return self._mended(scene, runs, params)

    def _mended(self, scene: Scene, runs: Runs, params: dict[str, Any]) -> str:
        request = {**params, **({"resume_flow": True} if "resume_flow" in _dag(self.dag_id).params else {})}
        again = runs.run(self.dag_id, request)
        # An error does not keep the teardown from its other stages; cut short by a timeout it leaves them.
        if scene.is_planned_anew and self.fault is not Fault.FAILED:
            with runs.explaining(again):
                assert (again.state, again.tasks[Shape.of(self.dag_id).applies]) == ("failed", "failed"), again
                scene.check(again, InEffect.NONE, request)
            again = runs.run(self.dag_id, request)
        with runs.explaining(again):
            assert again.state == "success", again
            scene.check(again, InEffect.ALL, request)
        return f"failed; the next run: {InEffect.ALL}"


def cells() -> Iterator[Cell]:
    """All cells, read from the DAGs' tasks."""
    for dag_id in SCENES:
        of_it = [*_of(dag_id)]
        yield from (of_it[turn] for turn in range(len(of_it)) if dag_id not in _IN_TURN or _has_its_turn(turn))


def each_cell() -> list[ParameterSet]:
    """All of them; those are not ``long`` of which each task has one, and of these every ``FAULT_SHARE``-th."""
    share, first = int(os.environ.get("FAULT_SHARE", "1")), int(os.environ.get("FAULT_SEED", "0"))
    found = list(cells())
    drawn = {cell for index, cell in enumerate(_one_for_each(found)) if (index + first) % share == 0}
    return [pytest.param(cell, id=str(cell), marks=[] if cell in drawn else [pytest.mark.long]) for cell in found]


def _of(dag_id: str) -> Iterator[Cell]:
    for task in _executed(dag_id):
        yield from (Cell(dag_id, task, fault) for fault in Fault)
    if teardown := Shape.of(dag_id).teardown:
        yield from (Cell(dag_id, teardown, fault, after_death=True) for fault in Fault)


def _one_for_each(found: list[Cell]) -> Iterator[Cell]:
    """One cell of each task, with the faults in turn."""
    tasks = dict.fromkeys((cell.dag_id, cell.name) for cell in found)
    for turn, task in enumerate(tasks):
        of_it = [cell for cell in found if (cell.dag_id, cell.name) == task]
        yield of_it[turn % len(of_it)]


def _has_its_turn(index: int) -> bool:
    task, fault = divmod(index, len(Fault))
    return fault == task % len(Fault)


def _executed(dag_id: str) -> list[str]:
    """The tasks that run on a worker, in order.

    An ``EmptyOperator`` does not run: the scheduler itself marks it as successful.
    """
    tasks = _dag(dag_id).topological_sort()  # type: ignore[no-untyped-call]
    return [task.task_id for task in tasks if not task.inherits_from_empty_operator]
