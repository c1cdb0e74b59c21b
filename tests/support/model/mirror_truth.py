"""The truth on a position of a world, computed record by record as docs define it."""

from __future__ import annotations

from tests.support.model.mirror_world import Ending, World


def best(world: World, position: int) -> int:
    """Find the highest offset of the remote topic from which each unread record that has a copy is read.

    Where no unread record has one, that is the offset after the flow's last copy.
    """
    lasts = last_copies(world)
    found = [lasts[offset] for offset in unread(world, position) if offset in lasts]
    if found:
        return min(found)
    return max(lasts.values()) + 1 if lasts else world.target.start


def skipped(world: World, position: int, start: int) -> list[int]:
    """List the unread records that have a copy, but none from ``start`` on in the remote topic."""
    lasts = last_copies(world)
    return [offset for offset in unread(world, position) if offset in lasts and lasts[offset] < start]


def missing(world: World, position: int, known_to: int | None = None) -> int | None:
    """Count the unread records without a copy; None if a transform may have dropped those.

    Of a source that is lost, those up to the last one that was replicated, or up to ``known_to``: what came after it
    nobody knows.
    """
    lasts = last_copies(world)
    known = max(lasts, default=-1) if world.ending is Ending.BROKEN else world.source.end
    last = known if known_to is None else min(known, known_to)
    found = sum(offset not in lasts for offset in unread(world, position) if offset <= last)
    return None if found and world.dropped else found


def rereads(world: World, start: int, position: int) -> int:
    """Count the copies from ``start`` on, in the remote topic, of records before ``position``."""
    return sum(downstream >= start and offset < position for downstream, offset in copies(world))


def unread(world: World, position: int) -> list[int]:
    """List the source records from ``position`` on, those included that retention has taken.

    Compaction takes a record only when there is a later one of its key, so that nothing of it is missing.
    """
    log = world.source
    return [offset for offset in log.written if offset >= position and offset not in log.superseded]


def last_copies(world: World) -> dict[int, int]:
    """The last offset in the remote topic of each source record that has a copy."""
    return {offset: downstream for downstream, offset in sorted(copies(world))}


def copies(world: World) -> list[tuple[int, int]]:
    """List the copies in the remote topic: the offset of each copy, and of its source record.

    Copies of a source topic of the same name that was there before do not count.
    """
    found = [(downstream, record.origin) for downstream, record in world.target.records.items()]
    now = world.source.incarnation
    return [
        (downstream, origin.offset) for downstream, origin in found if origin is not None and origin.incarnation == now
    ]


def unread_at_home(world: World, position: int) -> list[int]:
    """List the records of the source that a group at ``position`` of the remote topic has not read.

    Not counted are those that came before all that was ever replicated, and those that the transform drops.
    """
    now = world.source.incarnation
    origins = {downstream: record.origin for downstream, record in world.target.written.items()}
    own = {downstream: one.offset for downstream, one in origins.items() if one is not None and one.incarnation == now}
    read = {offset for downstream, offset in own.items() if downstream < position}
    lowest = min(own.values(), default=0)
    there = world.source.records.items()
    left_out = read | world.dropped
    return [o for o, record in there if o >= lowest and o not in left_out and world.traits.transformed(record, 0)]


def rereads_at_home(world: World, start: int, position: int) -> int:
    """Count the records of the source from ``start`` on that a group at ``position`` of the remote topic has read."""
    now = world.source.incarnation
    origins = [record.origin for downstream, record in world.target.written.items() if downstream < position]
    read = {origin.offset for origin in origins if origin is not None and origin.incarnation == now}
    return sum(offset >= start and offset in read for offset in world.source.records)


def bests(world: World) -> list[int]:
    return [best(world, position) for position in range(world.source.end + 1)]
