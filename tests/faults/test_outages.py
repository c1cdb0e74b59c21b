"""A worker or broker fails and comes back: one outage for all steps, with a change that waits at each of them."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox import Sandbox, wait_until
from sandbox.work import work_of_program
from tests.support.faults.fault_cell import STEPS, Cell, Kind, Scene, Scenes, each
from tests.support.faults.fault_flow import AGAIN, Reported, reported
from tests.support.faults.fault_table import Ending, Note
from tests.support.workers.gate import Fate, Gate

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
BROKER_IS_AWAY = 20.0
_AT_ONCE = 4  # more would only wait for each other on two cores


@dataclass
class Held:
    """Changes that wait at their steps until the world breaks."""

    released: threading.Event = field(default_factory=threading.Event)

    def hold(self, _process: subprocess.Popen[str]) -> Fate:
        """The fault of each: wait."""
        self.released.wait()
        return Fate.PASSES


def worker_restarts(sandbox: Sandbox, go_on: Callable[[], None]) -> None:
    """The only worker is killed, and started again."""
    sandbox.connect.process.kill()
    go_on()
    sandbox.connect.process.start()


def another_worker_joins(sandbox: Sandbox, go_on: Callable[[], None]) -> None:
    """The worker is killed and started again while a second one joins: the changes go on in the midst of it."""
    sandbox.connect.process.kill()
    with ThreadPoolExecutor(max_workers=1) as pool:
        joining = pool.submit(sandbox.add_worker)
        sandbox.connect.process.start()
        go_on()
        joining.result()


def broker_is_down(sandbox: Sandbox, go_on: Callable[[], None]) -> None:
    """The broker that has Connect's topics, the sinks' groups and all that is delivered is away for a while."""
    sandbox.target.process.kill()
    go_on()
    time.sleep(BROKER_IS_AWAY)  # the length of the outage is what is tested
    sandbox.target.process.start()


OUTAGES = {
    "worker killed and restarted": worker_restarts,
    "worker restarted, another joins": another_worker_joins,
    "broker down for 20 s": broker_is_down,
}


@dataclass(frozen=True)
class Outage:
    """One that is over: what the change at each step said to it."""

    name: str
    cells: dict[tuple[Kind, str], Cell]
    ended: dict[tuple[Kind, str], Reported]


@pytest.fixture(scope="module")
def stages(request: pytest.FixtureRequest, scenes: Scenes) -> dict[tuple[Kind, str], Scene]:
    """A connector and a plan for each cell of this run."""
    tests = [item for item in request.session.items if isinstance(item, pytest.Function)]
    found: list[dict[str, Any]] = [test.callspec.params for test in tests if test.function is test_outage]
    cells = list(dict.fromkeys((Kind(params["kind"]), str(params["step"])) for params in found))
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return dict(zip(cells, pool.map(lambda cell: scenes.new(cell[0]), cells), strict=True))


@pytest.fixture(scope="module", params=OUTAGES)
def outage(
    request: pytest.FixtureRequest, sandbox: Sandbox, scenes: Scenes, stages: dict[tuple[Kind, str], Scene]
) -> Iterator[Outage]:
    """Begin all changes, let each wait at its step, break the world, and let all go on in the broken one."""
    name: str = request.param
    # What a cell of an earlier outage has left in disorder is to fail that cell alone.
    stages |= {at: scenes.in_order(scene, at[0]) for at, scene in stages.items()}
    held = Held()
    cells = {
        at: Cell(scene, STEPS[at[1]], timeout=300, most=2 * AGAIN if at[1] == "while resuming" else AGAIN)
        for at, scene in stages.items()
    }
    with ExitStack() as stack:
        under_way = {at: stack.enter_context(cell.under_way(held.hold)) for at, cell in cells.items()}
        stack.callback(held.released.set)
        for at, (gate, process) in under_way.items():
            come_to_its_step(at, gate, process)
        OUTAGES[name](sandbox, held.released.set)
        ended = {at: reported(process) for at, (_gate, process) in under_way.items()}
    yield Outage(name, cells, ended)
    while len(sandbox.workers) > 1:
        sandbox.remove_worker()


def come_to_its_step(at: tuple[Kind, str], gate: Gate, process: subprocess.Popen[str]) -> None:
    """Wait until a change has come to its step."""

    def is_there() -> bool:
        return gate.reached.is_set() or process.poll() is not None

    work = {**gate.work, **work_of_program(process.pid)}
    wait_until(is_there, 120, f"the change has not come to {at}", progress=work)
    assert gate.reached.is_set(), f"the change never came to {at}: {reported(process)}"


@pytest.mark.parametrize(("kind", "step"), each(STEPS))
def test_outage(outage: Outage, note: Note, kind: Kind, step: str) -> None:
    """What the change says is true, and where it was not applied, the next attempt applies it."""
    cell, ended = outage.cells[kind, step], outage.ended[kind, step]

    aborted = OUTAGES[outage.name] is broker_is_down and ended.code == -signal.SIGABRT
    try:
        ending = _after_an_abort(cell) if aborted else cell.settle(ended)
    except Exception as error:
        error.add_note(f"the change said: {ended}")
        raise
    note(outage.name, step, kind, ending)


def _after_an_abort(cell: Cell) -> Ending:
    """Let the next attempt apply the plan: librdkafka may end the process if a broker is killed (docs/seen.md)."""
    again = cell.again()
    assert again.ended == "applied", again
    assert cell.delivered_again() == AGAIN
    return Ending.NEXT
