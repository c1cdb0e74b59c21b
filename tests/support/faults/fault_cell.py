"""Cells of the fault matrix: one step, one fault, one kind of connector, and the allowed endings."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from uuid import uuid4

import pytest
from _pytest.mark.structures import ParameterSet
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from sandbox import Sandbox
from tests.support.faults.fault_flow import AGAIN, FaultFlow, MirrorFaults, Reported, SinkFaults, reported
from tests.support.faults.fault_table import Ending
from tests.support.flows.flows import Changer
from tests.support.workers.gate import Fate, Gate, Point, Side, open_gate

STEPS = {
    "before stop": Point("PUT", "/stop", Side.BEFORE),
    "while stopping": Point("PUT", "/stop", Side.AFTER),
    "after stop": Point("GET", "/offsets", Side.BEFORE, since="/stop"),
    "after the journal": Point("PATCH", "/offsets", Side.BEFORE),
    "during alter": Point("PATCH", "/offsets", Side.BEFORE),
    "after alter": Point("PATCH", "/offsets", Side.AFTER),
    "during read-back": Point("GET", "/offsets", Side.BEFORE, since="PATCH"),
    "after read-back": Point("GET", "/offsets", Side.AFTER, since="PATCH"),
    "before resuming": Point("PUT", "/resume", Side.BEFORE),
    "while resuming": Point("PUT", "/resume", Side.AFTER),
}


class Kind(StrEnum):
    """The kind of connector that is changed."""

    SINK = "sink"
    MIRROR = "MirrorSource"


def each(steps: Iterable[str | int]) -> list[ParameterSet]:
    """Each step with each kind of connector. Per step one kind, in turn, is not ``long``.

    With ``FAULT_SHARE=3`` only every third of the others is not ``long``; ``FAULT_SEED`` says which.
    """
    share, first = int(os.environ.get("FAULT_SHARE", "1")), int(os.environ.get("FAULT_SEED", "0"))

    def is_long(index: int, turn: int) -> bool:
        return index % len(Kind) != turn or (index // len(Kind) + first) % share != 0

    return [
        pytest.param(kind, step, marks=[pytest.mark.long] if is_long(index, turn) else [])
        for index, step in enumerate(steps)
        for turn, kind in enumerate(Kind)
    ]


_FLOWS: dict[Kind, type[FaultFlow]] = {Kind.SINK: SinkFaults, Kind.MIRROR: MirrorFaults}


@dataclass(frozen=True)
class Scene:
    """A connector and a plan for it."""

    flow: FaultFlow
    run: RunDirectory
    folder: Path


@dataclass
class Scenes:
    """The connectors of all cells: a cell uses the connector of the cell before if it has caught up, or a new one."""

    sandbox: Sandbox
    spark: SparkSession
    folder: Path
    _kept: dict[Kind, Scene] = field(default_factory=dict)

    def ready(self, kind: Kind) -> Scene:
        """A connector that runs and has delivered all records; one that does not is replaced."""
        scene = self._kept.get(kind)
        self._kept[kind] = self.new(kind) if scene is None else self.in_order(scene, kind)
        return self._kept[kind]

    def in_order(self, scene: Scene, kind: Kind) -> Scene:
        """The scene, or a new one if its connector does not run or has not delivered all records."""
        if scene.flow.is_caught_up():
            return scene
        self._remove(scene)
        return self.new(kind)

    def new(self, kind: Kind) -> Scene:
        """Another connector of that kind."""
        flow = _FLOWS[kind].start(self.sandbox)
        changer = Changer(self.spark, self.folder.as_uri(), self.sandbox.connect.url, flow.kafka)
        return Scene(flow, flow.plan(changer, self.folder), self.folder)

    def close(self) -> None:
        """Delete the connectors."""
        for scene in self._kept.values():
            self._remove(scene)

    def _remove(self, scene: Scene) -> None:
        if scene.flow.state() != "GONE":
            self.sandbox.connect.delete(scene.flow.name)


class Cell:
    """Makes a change with a fault at a step, and checks the result.

    ``most``: how many records may be delivered again where the plan is applied. More than ``AGAIN`` only where the
    worker dies while the connector runs on the new offsets, as Connect delivers at least once.
    """

    def __init__(self, scene: Scene, point: Point, *, timeout: float = 60, most: int = AGAIN) -> None:
        self.scene, self.point, self.timeout = scene, point, timeout
        self.flow, self._most = scene.flow, most
        self.workspace = (scene.folder / uuid4().hex).as_uri()  # its own journal
        self.flow.wait_until_caught_up()
        self._delivered = self.flow.delivered()

    @contextmanager
    def under_way(self, fault: Callable[[subprocess.Popen[str]], Fate]) -> Iterator[tuple[Gate, subprocess.Popen[str]]]:
        """Begin the change, with ``fault`` at the step."""
        started: list[subprocess.Popen[str]] = []
        gate = Gate(self.flow.sandbox.connect.url, self.point, lambda: fault(started[0]))
        with open_gate(gate) as url, self._changing(url) as process:
            started.append(process)
            yield gate, process

    def make(self, fault: Callable[[subprocess.Popen[str]], Fate]) -> Reported:
        """Make the change with ``fault`` at the step."""
        with self.under_way(fault) as (gate, process):
            ended = reported(process)
        assert gate.reached.is_set(), "the fault never happened"
        return ended

    def again(self, *, owner: str = "faults") -> Reported:
        """Run the same task again, without a fault; or another ``owner`` makes the same change."""
        with self._changing(self.flow.sandbox.connect.url, owner=owner) as process:
            return reported(process)

    def delivered_again(self) -> int:
        """Wait until the connector has caught up, and count the records delivered since the cell began."""
        self.flow.wait_until_caught_up()
        return self.flow.delivered() - self._delivered

    def settle(self, ended: Reported) -> Ending:
        """Check the change, run it again if it was not applied, and return its ending.

        Applied means all of the plan, restored none of it, and the connector runs either way; what was left STOPPED
        is stopped, and says what to do.
        """
        if ended.ended == "applied":
            assert AGAIN <= self.delivered_again() <= self._most
            return Ending.APPLIED
        ending = self._without_the_plan(ended)
        repeated = self.again()
        assert repeated.ended == "applied", repeated
        assert self.delivered_again() == AGAIN
        return ending

    def _without_the_plan(self, ended: Reported) -> Ending:
        if ended.ended == "LeftStopped":
            assert self.flow.state() == "STOPPED", ended
            assert "un the task again" in ended.message
            return Ending.STOPPED
        assert ended.ended != "killed", f"it must say how it ended, and not with code {ended.code}"
        assert self.delivered_again() == 0, ended
        if ended.ended == "NotApplied":
            assert re.search("prior offsets were (restored and )?read back", ended.message), ended
        return Ending.RESTORED

    @contextmanager
    def _changing(self, url: str, *, owner: str = "faults") -> Iterator[subprocess.Popen[str]]:
        arguments = {"workspace": self.workspace, "url": url, "timeout": self.timeout, "owner": owner}
        with self.flow.changing(self.scene.run, **arguments) as process:  # type: ignore[arg-type]
            yield process
