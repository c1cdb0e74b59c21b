"""The process of a change is killed at each step: the task's next attempt applies the plan once."""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time

import pytest

from tests.support.faults.fault_cell import STEPS, Cell, Kind, Scenes, each
from tests.support.faults.fault_flow import AGAIN, Reported, reported
from tests.support.faults.fault_table import Ending, Note
from tests.support.workers.gate import Fate, Gate, Point, Side

FIRST_REQUEST = Point("GET", "", Side.BEFORE)
RANDOM_KILLS = 5
pytestmark = pytest.mark.faults


@pytest.mark.parametrize(("kind", "step"), each(STEPS))
def test_killed(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """SIGKILL leaves the process no time to undo anything; the next attempt applies the plan."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    def kill(process: subprocess.Popen[str]) -> Fate:
        _kill(process)
        is_on_its_way = step == "during alter" or STEPS[step].side is Side.AFTER
        return Fate.PASSES if is_on_its_way else Fate.IS_LOST

    assert cell.make(kill) == Reported()

    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN
    note("SIGKILL", step, kind, Ending.NEXT)


@pytest.mark.parametrize(("kind", "step"), each(STEPS))
def test_cleared(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """SIGTERM, as for a task that is cleared: it puts everything back, or had applied; the next attempt applies."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    def end(process: subprocess.Popen[str]) -> Fate:
        process.terminate()
        return Fate.PASSES

    assert cell.make(end) == Reported()

    ending = _put_back_or_applied(cell)
    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN
    note("SIGTERM", step, kind, ending)


@pytest.mark.parametrize("kind", [Kind.SINK, pytest.param(Kind.MIRROR, marks=pytest.mark.long)])
def test_cleared_while_its_write_is_on_its_way(scenes: Scenes, note: Note, kind: Kind) -> None:
    """The same, and the write that was given up arrives only after the offsets were restored and read."""
    cell = Cell(scenes.ready(kind), STEPS["during alter"])
    gates: list[Gate] = []

    def end_and_hold(process: subprocess.Popen[str]) -> Fate:
        process.terminate()
        gates[0].wait_for("GET", "/offsets")
        return Fate.PASSES

    with cell.under_way(end_and_hold) as (gate, process):
        gates.append(gate)
        assert reported(process) == Reported()

    assert cell.delivered_again() == 0
    assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN
    note("SIGTERM, and the write comes late", "during alter", kind, Ending.RESTORED)


@pytest.mark.parametrize(("kind", "number"), each(range(RANDOM_KILLS)))
def test_killed_at_random(scenes: Scenes, note: Note, kind: Kind, number: int) -> None:
    """SIGKILL at any moment of a change, however long that takes here."""
    draw = random.Random(f"{os.environ['FAULT_SEED']} {kind} {number}")
    moment = draw.random() * _duration(scenes, kind)
    cell = Cell(scenes.ready(kind), FIRST_REQUEST)

    def kill_soon(process: subprocess.Popen[str]) -> Fate:
        threading.Timer(moment, _kill, [process]).start()
        return Fate.PASSES

    ended = cell.make(kill_soon)

    assert ended.ended in {"killed", "applied"}
    if ended == Reported():
        assert cell.again().ended == "applied"
    assert cell.delivered_again() == AGAIN
    note("SIGKILL", "at random", kind, Ending.NEXT if ended == Reported() else Ending.APPLIED)


_durations: dict[Kind, float] = {}


def _duration(scenes: Scenes, kind: Kind) -> float:
    """Seconds from a change's first request to its end, with nothing in its way."""
    if kind not in _durations:
        began: list[float] = []

        def begin(_process: subprocess.Popen[str]) -> Fate:
            began.append(time.monotonic())
            return Fate.PASSES

        cell = Cell(scenes.ready(kind), FIRST_REQUEST)
        assert cell.make(begin).ended == "applied"
        _durations[kind] = time.monotonic() - began[0]
        assert cell.delivered_again() == AGAIN
    return _durations[kind]


def _kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


def _put_back_or_applied(cell: Cell) -> Ending:
    again = cell.delivered_again()
    assert again in {0, AGAIN}
    return Ending.APPLIED if again else Ending.RESTORED
