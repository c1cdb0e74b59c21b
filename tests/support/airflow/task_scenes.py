"""Connectors and groups that DAG runs with a broken task change, and checks of their state after such a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.support.airflow.task_runs import Ended, Runs
from tests.support.faults.reset_cell import RECORDS as RESET_RECORDS
from tests.support.faults.reset_cell import ResetCell


class InEffect(StrEnum):
    """How much of an operation is in effect after its run."""

    ALL = "all"
    NONE = "none"
    EITHER = "each all or none"  # of each connector for itself


class Scene(ABC):
    """Connectors and groups that the runs of one DAG change, one run after the other.

    after_death: how much is in effect if the task that applies was begun, and did not succeed. writes: of so many
    writes the last comes before the most is left to a teardown. is_planned_anew: whether a teardown that breaks then
    leaves offsets that the next run is planned on, so that it undoes them, is refused, and has to be made anew. dies:
    the task that is killed for good before the teardown breaks; empty: the one that applies.
    """

    after_death = InEffect.NONE
    is_planned_anew = False
    writes = 2
    dies = ""

    @classmethod
    @abstractmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        """Create the scene."""

    @abstractmethod
    def prepare(self) -> dict[str, Any]:
        """Restore the scene, note its state, and return the next run's Params."""

    @abstractmethod
    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        """Check a run: nothing half done, nothing else changed, and no connector STOPPED that ran."""

    @abstractmethod
    def close(self) -> None:
        """Remove the scene."""


@dataclass
class Sinks(Scene):
    """FileStreamSinks of one topic with three partitions, two of which the runs rewind."""

    sandbox: Sandbox
    count: int = 1
    mark: str = field(default_factory=lambda: uuid4().hex[:8])
    _written: dict[str, Counter[str]] = field(default_factory=dict)

    END, POSITION, REWOUND = 20, 5, ("0", "1")

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        del runs
        scene = cls(sandbox)
        sandbox.target.create_topic(scene.topic, partitions=3)
        for partition in range(3):
            values = [f"{partition}:{number}" for number in range(cls.END)]
            sandbox.target.produce(scene.topic, values, partition=partition)
        for name in scene.names:
            sandbox.connect.create(name, file_sink_config(scene.topic, scene.file(name)))
        return scene

    @property
    def topic(self) -> str:
        return f"records-{self.mark}"

    @property
    def names(self) -> list[str]:
        return [f"writer-{self.mark}-{number}" for number in range(self.count)]

    @property
    def requested(self) -> dict[str, Any]:
        """The Params that select the connectors."""
        return {"connector": self.names[0]}

    def file(self, name: str) -> Path:
        return self.sandbox.data / f"{name}.txt"

    def prepare(self) -> dict[str, Any]:
        self._wait_until_caught_up()
        self._written = {name: self._lines(name) for name in self.names}
        resume_at = {"to": "offset", "value": str(self.POSITION), "partitions": ",".join(self.REWOUND)}
        return {**self.requested, **resume_at, "kafka_conn_id": "kafka_target"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        self._wait_until_caught_up()
        plan = dict.fromkeys(self.REWOUND, self.END - self.POSITION)
        allowed = [one for one, unless in ((plan, InEffect.NONE), ({}, InEffect.ALL)) if in_effect is not unless]
        again = {name: dict(self._lines(name) - self._written[name]) for name in self.names}
        assert all(one in allowed for one in again.values()), f"delivered again: {again}, allowed: {allowed}"

    def close(self) -> None:
        for name in self.names:
            self.sandbox.connect.delete(name)

    def _wait_until_caught_up(self) -> None:
        ends = dict.fromkeys(range(3), self.END)
        for name in self.names:
            self.sandbox.connect.wait_state(name, "RUNNING", tasks=1)
            late, work = f"{name} has not caught up", self.sandbox.connect.work
            wait_for(partial(self._positions, name), ends, 60, late, progress=work)

    def _positions(self, name: str) -> dict[int, int]:
        return {
            entry["partition"]["kafka_partition"]: entry["offset"]["kafka_offset"]
            for entry in self.sandbox.connect.offsets(name)
        }

    def _lines(self, name: str) -> Counter[str]:
        """How many records it has written, by partition."""
        return Counter(line.partition(":")[0] for line in self.file(name).read_text().splitlines())


@dataclass
class Fleet(Sinks):
    """Two sinks that are changed at once; if one is refused, the other is not changed."""

    after_death = InEffect.EITHER
    count: int = 2

    @property
    def requested(self) -> dict[str, Any]:
        return {"connectors": f"writer-{self.mark}-.*"}


@dataclass
class Resets(Scene):
    """A MirrorMaker 2 flow that the runs reset, so that it replicates all records again."""

    # Both connectors are stopped, offsets are written, the cleanup policy is switched.
    writes = 4
    # The policy comes back first, the offsets after that.
    is_planned_anew = True
    cell: ResetCell
    _replicated: dict[int, int] = field(default_factory=dict)
    _policies: list[str | None] = field(default_factory=list)

    @classmethod
    def start(cls, sandbox: Sandbox, runs: Runs) -> Self:
        del runs
        return cls(ResetCell.start(sandbox))

    def prepare(self) -> dict[str, Any]:
        self._wait_until_caught_up()
        self._replicated, self._policies = self._ends(), self.cell.policies()
        return {**self.cell.params, "to": "earliest"}

    def check(self, ended: Ended, in_effect: InEffect, params: Mapping[str, Any]) -> None:
        del ended, params
        self._wait_until_caught_up()
        again = {partition: end - self._replicated[partition] for partition, end in self._ends().items()}
        assert again == dict.fromkeys((0, 1), RESET_RECORDS if in_effect is InEffect.ALL else 0)
        assert self.cell.policies() == self._policies == ["compact", "compact"]

    def close(self) -> None:
        self.cell.close()

    def _wait_until_caught_up(self) -> None:
        self.cell.wait_until_running()
        self.cell.wait_until_caught_up()

    def _ends(self) -> dict[int, int]:
        """Log ends of the remote topic."""
        bounds = self.cell.sandbox.target.log_bounds(self.cell.remote_partition(self.cell.topics[0]))
        return {partition: end for partition, (_start, end) in bounds.items()}
