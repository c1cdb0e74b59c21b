"""A request, or its answer, is lost or comes late: what stands is read back, and decides."""

from __future__ import annotations

import pytest
from fault_cell import STEPS, Cell, Kind, Scenes
from fault_table import Note
from gate import Fate

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("step", [step for step in STEPS if step != "during alter"])
@pytest.mark.parametrize("kind", Kind)
def test_lost(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """A request never arrives, or its answer does not come back."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    ended = cell.make(lambda _process: Fate.IS_LOST)

    assert ended.ended in {"applied", "NotApplied"}
    note("request or answer lost", step, kind, cell.settle(ended))


@pytest.mark.parametrize("step", ["before stop", "during alter", "before resuming"])
@pytest.mark.parametrize("kind", Kind)
def test_late(scenes: Scenes, note: Note, kind: Kind, step: str) -> None:
    """Connect says that the request timed out, and carries it out later."""
    cell = Cell(scenes.ready(kind), STEPS[step])

    ended = cell.make(lambda _process: Fate.COMES_LATE)

    assert ended.ended in {"applied", "NotApplied"}
    note("timed out, and applies later", step, kind, cell.settle(ended))
