"""The offset syncs and checkpoints of the model of replication, on histories made by hand."""

from __future__ import annotations

import pytest

from tests.support.model.mirror_truth import bests
from tests.support.model.mirror_world import LAG_MAX, Mapped, World, replicated


def test_syncs_follow_mirror_makers_rule() -> None:
    """One after a start, one every so many records, and one after each gap on the source's side."""
    world = replicated(8)
    world.flow.restart()
    world.produce(8, 9)
    world.source.append_unseen()
    world.produce(10)
    world.flow.replicate()

    found = [(sync.upstream, sync.downstream) for sync in world.syncs]
    assert found == [(0, 0), (LAG_MAX + 1, LAG_MAX + 1), (8, 8), (11, 10)]


def test_the_last_record_gets_a_sync_once_it_is_stored() -> None:
    """Kafka does so since 3.7; that sync does not put off the next one."""
    world = World()
    world.flow.syncs_last = True
    world.produce(*range(3))
    world.flow.replicate()
    world.flow.commit()
    world.flow.commit()
    world.produce(*range(3, 8))
    world.flow.replicate()
    world.flow.restart()

    assert [sync.upstream for sync in world.syncs] == [0, 2, LAG_MAX + 1, 7]


@pytest.mark.parametrize(("position", "downstream"), [(5, 5), (6, 6), (7, 6), (4, 1), (0, 0)])
def test_checkpoints_follow_mirror_makers_rule(position: int, downstream: int) -> None:
    """A checkpoint is made by the nearest sync, or one further."""
    world = replicated(8)
    world.groups = {"one": position}
    world.checkpoint()

    assert world.checkpoints == {"one": Mapped(position, downstream)}


def test_a_reset_keeps_mappings() -> None:
    """Where the flow was, and where it goes on; the syncs of before are cleared."""
    world = replicated(10)
    world.reset(4)
    world.flow.replicate()

    assert world.kept == [Mapped(9, 9), Mapped(4, 10)]
    assert (world.syncs[0].upstream, world.syncs[0].downstream) == (4, 10)
    assert bests(world)[3:] == [3, 10, 11, 12, 13, 14, 15, 16]
