"""A process is frozen, as by a long pause or a partition, until another run has finished; then it goes on."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from sandbox import wait_until
from tests.support.faults.fault_cell import STEPS, Cell, Kind, Scenes
from tests.support.faults.fault_flow import AGAIN, Reported
from tests.support.workers.gate import Fate, Point, Side

pytestmark = pytest.mark.faults
# Each request that changes something, before it is sent; the proxy loses it, so that the client repeats it.
REQUESTS = {
    "stop": Point("PUT", "/stop", Side.BEFORE),
    "alter": Point("PATCH", "/offsets", Side.BEFORE),
    "resume": Point("PUT", "/resume", Side.BEFORE),
}


@pytest.mark.parametrize("request_of", REQUESTS)
@pytest.mark.parametrize("kind", [Kind.SINK, pytest.param(Kind.MIRROR, marks=pytest.mark.long)])
def test_a_zombie_changes_nothing_more(scenes: Scenes, kind: Kind, request_of: str) -> None:
    """It repeats no request, and says what it may have done; the other run's change stays, and the connector runs."""
    cell = Cell(scenes.ready(kind), REQUESTS[request_of])
    others: list[Reported] = []

    def freeze(process: subprocess.Popen[str]) -> Fate:
        os.kill(process.pid, signal.SIGSTOP)

        def takes_over() -> bool:
            others.append(cell.again(owner="other"))
            return others[-1].ended != "Overlap"

        try:
            wait_until(takes_over, 120, "the lease does not run out", interval=2)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        return Fate.IS_LOST

    ended = cell.make(freeze)

    assert others[-1].ended == "applied", others
    assert ended.ended == "Overlap", ended
    assert "was taken over by run 'other'" in ended.message
    assert "It had begun: stop_connector" in ended.message
    assert cell.delivered_again() == AGAIN
    assert cell.flow.state() == "RUNNING"


def test_the_requests_are_those_of_a_change() -> None:
    """So that none is left out."""
    assert {point.method for point in STEPS.values()} <= {"GET", *(point.method for point in REQUESTS.values())}
