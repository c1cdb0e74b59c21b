"""Random histories of replication: every event and trait occurs, and histories end as requested."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.support.model.mirror_events import history
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_world import Ending

HISTORIES = 2000


def test_all_kinds_occur() -> None:
    """Each event and each trait in at least one history of twenty, with little else."""
    random = Random(0)
    happened = Counter[object]()
    for number in range(HISTORIES):
        happened.update(history(random, ending=list(Ending)[number % 3]).happened)

    drawn = [kind for kind in (*Event, *Trait) if kind is not Event.OBSERVE]
    assert all(happened[kind] >= HISTORIES / 20 for kind in drawn)


@pytest.mark.parametrize("event", sorted(set(Event) - {Event.PRODUCE, Event.REPLICATE}))
def test_only_what_is_requested_happens(event: Event) -> None:
    """A kind can be had alone, and the same seed gives the same history."""
    implied = {Event.CHECKPOINT: {Event.GROUPS_MOVE}}.get(event, set())
    for seed in range(20):
        world = history(Random(seed), ending=Ending.STOPPED, kinds=[event])

        found = {kind for kind in world.happened if isinstance(kind, Event)}
        assert found == {Event.PRODUCE, Event.REPLICATE, event, *implied}
        assert world == history(Random(seed), ending=Ending.STOPPED, kinds=[event])


def test_endings() -> None:
    """Drained: nothing is left that the transform lets through. Stopped: its offset is stored, and some is left."""
    random = Random(0)
    for _ in range(300):
        drained, stopped = (history(random, ending=one) for one in (Ending.DRAINED, Ending.STOPPED))
        records = drained.source.records

        assert not [o for o in drained.flow.left() if drained.traits.transformed(records[o], 0) is not None]
        assert stopped.flow.left()
