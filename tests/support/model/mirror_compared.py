"""What a comparison of single records of a made-up world shows."""

from __future__ import annotations

from tests.support.model.mirror_logs import Record
from tests.support.model.mirror_world import Mapped, World


def contradicted(world: World, *, there: bool) -> dict[str, int | None]:
    """An offset sync whose two records are still there and differ, though the flow changes no record."""
    traits, found = world.traits, None
    if there and not (traits.drops or traits.changes or traits.converted):
        found = next((sync for sync in world.syncs if alike(world, Mapped(*sync[:2])) is False), None)
    return {
        "contradicted_upstream": None if found is None else found.upstream,
        "contradicted_downstream": None if found is None else found.downstream,
    }


def both_begin(world: World) -> bool:
    """Whether both logs still have their first record, and both look the same."""
    return world.source.start == 0 == world.target.start and bool(alike(world, Mapped(0, 0)))


def ends_with_stored(world: World) -> bool | None:
    """Whether the remote topic ends with a record that looks like the one last replicated; None if none is stored."""
    stored, last = world.flow.stored, last_of(world)
    return None if stored is None else last is not None and bool(alike(world, Mapped(stored, last)))


def last_of(world: World) -> int | None:
    """The offset of the remote topic's last record, if a look at it is worth it."""
    return max(world.target.records, default=None) if world.flow.stored is not None else None


def alike(world: World, mapped: Mapped) -> bool | None:
    """Whether both records look the same; None unless both are still there."""
    one, other = world.source.records.get(mapped.upstream), world.target.records.get(mapped.downstream)
    return None if one is None or other is None else digest_of(world, one) == digest_of(world, other)


def digest_of(world: World, record: Record) -> bytes:
    """The digest of a record's visible parts, without timestamps that the remote topic sets itself."""
    if world.traits.log_append_time:
        return b"%d" % record.content
    return b"%d at %d" % (record.content, record.timestamp)
