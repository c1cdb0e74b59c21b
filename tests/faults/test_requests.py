"""A request, or its answer, is lost or comes late: what stands is read back, and decides."""

from __future__ import annotations

import pytest

from tests.support.faults.fault_cell import STEPS, Cell, Kind, Scenes, each
from tests.support.faults.fault_table import Note
from tests.support.workers.gate import Fate

pytestmark = pytest.mark.faults


@pytest.mark.parametrize(("kind", "step"), each([step for step in STEPS if step != "during alter"]))
def test_lost(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """A request never arrives, or its answer does not come back."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    ended = cell.make(lambda _process: Fate.IS_LOST)

    assert ended.ended in {"applied", "NotApplied"}
    note("request or answer lost", step, kind, cell.settle(ended))


@pytest.mark.parametrize(("kind", "step"), each(["before stop", "during alter", "before resuming"]))
def test_late(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """Connect says that the request timed out, and carries it out later."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    ended = cell.make(lambda _process: Fate.COMES_LATE)

    assert ended.ended in {"applied", "NotApplied"}
    note("timed out, and applies later", step, kind, cell.settle(ended))
