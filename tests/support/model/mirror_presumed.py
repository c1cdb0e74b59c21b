"""What offset mappings presume if nobody reads the records, and whether it is true in a world."""

from __future__ import annotations

from itertools import pairwise

from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.requests.failover import Method
from tests.support.model.mirror_bisected import known_in
from tests.support.model.mirror_compared import digest_of
from tests.support.model.mirror_kinds import Event, Trait
from tests.support.model.mirror_logs import Record
from tests.support.model.mirror_rows import Answer, ReadFrom, partition_row, proved
from tests.support.model.mirror_world import Ending, World

_ORIGIN = OffsetMapping(-1, -1)
_ANEW = {Event.SOURCE_ANEW, Event.TARGET_ANEW}
# After which a checkpoint may belong to an earlier topic, or to copies that are no longer the last.
_OUTDATING = _ANEW | {Event.REWIND, Event.RESET}
#: Where a digest does not distinguish a record from all others that the source has ever had.
BLURRED = {Trait.REPEATS, Trait.CHANGES, Trait.DROPS, Trait.CONVERTED, Event.CONVERTER, Event.TRANSFORM}


def excused(one: Answer, read: ReadFrom) -> bool:
    """Whether an answer, if it is wrong, is so by nothing but what docs/translation.md says that answers presume.

    How much is read again is presumed where no record was read. A planned failover compares the records of each claim,
    and moves no group by one that they disprove.
    """
    if one.world.ending is Ending.BROKEN:
        return misled(one.world) or (one.method == Method.CHECKPOINT and bool(_OUTDATING & one.world.happened))
    if read is not ReadFrom.ALL:
        presumed = one.wrong == "REREADS" and misled(one.world)
        if presumed or disproved(one.world, one.claimed, one.lower or 0):
            return True
    return _may_be_another(one)


def _may_be_another(one: Answer) -> bool:
    """Whether only an id tells a sync of an earlier topic from one of today's, or nothing tells two records apart."""
    world = one.world
    fits = bool(BLURRED & world.happened) or one.position < world.source.start
    return (fits and bool(_ANEW & world.happened) and misled(world)) or mistaken(world) or looks_alike(world)


def misled(world: World) -> bool:
    """Whether a mapping that is believed is not true, or what lies between two of them is not what they presume.

    Neither shows but in the records. An offset sync has no topic id, and last records that look the same may be others.
    Where as many records were passed over as somebody else has written, as transaction markers take up offsets, or as
    were copied twice, the mappings before and after show no change.
    """
    mappings = sorted({_ORIGIN, *_believed(world)}, key=lambda one: (one.downstream, one.upstream))
    untrue = any(not _is_true(world, one) for one in mappings if one != _ORIGIN)
    return untrue or any(_made_up(world, *both) for both in pairwise(mappings))


def _believed(world: World) -> list[OffsetMapping]:
    """The mappings that are known today; of a lost source also those that readiness runs kept of the same topics."""
    if world.ending is not Ending.BROKEN:
        return known_in(world, partition_row(0, world, ReadFrom.NONE, there=True), proved(world))
    topics = (world.source.incarnation, world.target.incarnation)
    same = (one for one in world.observations if (one.source.incarnation, one.target.incarnation) == topics)
    before = [mapping for one in same for mapping in _believed(one)]
    return [*before, *known_in(world, partition_row(0, world, ReadFrom.NONE, there=False), [])]


def looks_alike(world: World) -> bool:
    """Whether somebody else has written a record into the remote topic that looks like one of the source."""
    own = {digest_of(world, record) for record in world.source.written.values()}
    others = (record for record in world.target.written.values() if record.origin is None)
    return any(digest_of(world, record) in own for record in others)


def mistaken(world: World) -> bool:
    """Whether a copy, whose timestamp is not its record's, looks like another record of the source."""
    if Event.TIMESTAMP_TYPE not in world.happened:
        return False
    own = {one.origin: digest_of(world, one) for one in world.source.written.values()}
    copies = ((one.origin, digest_of(world, one)) for one in world.target.written.values())
    return any(own.get(origin, digest) != digest and digest in own.values() for origin, digest in copies)


def disproved(world: World, claimed: int | None, downstream: int) -> bool:
    """Whether the comparison before a commit finds that two records of a claim differ, or that one log has none."""
    if claimed is None or claimed < world.source.start or world.traits.drops or world.traits.changes:
        return False
    original, copy = world.source.records.get(claimed), world.target.records.get(downstream)
    return original is None or copy is None or digest_of(world, original) != digest_of(world, copy)


def _made_up(world: World, before: OffsetMapping, after: OffsetMapping) -> bool:
    """Whether two mappings show that nothing was copied twice between them, and other copies than these are there."""
    if after.distance > before.distance:
        return False
    between = range(before.downstream + 1, after.downstream)
    if after.distance == before.distance:
        return not all(_is_true(world, OffsetMapping(at - before.distance, at)) for at in between)
    copied = (_copied(world, world.target.written.get(at)) for at in between)
    return any(one is not None and not before.upstream < one < after.upstream for one in copied)


def _is_true(world: World, one: OffsetMapping) -> bool:
    """Whether that copy is there, or was until it was deleted."""
    return _copied(world, world.target.written.get(one.downstream)) == one.upstream


def _copied(world: World, record: Record | None) -> int | None:
    """The offset of the record of the source that this one is a copy of."""
    own = None if record is None else record.origin
    return own.offset if own is not None and own.incarnation == world.source.incarnation else None
