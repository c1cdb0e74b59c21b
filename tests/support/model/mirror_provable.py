"""What can be proved of a world at all: by somebody who has all the time, reads all records, and knows no history.

Where two histories look the same, and differ in the answer, nobody can prove either. Equal records count as copies. A
record of the remote topic that equals none of the source may be anything: somebody else's, or a changed copy of any
record that the source has or had.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.model.mirror_compared import digest_of
from tests.support.model.mirror_world import World


def provable(world: World, position: int) -> bool:
    """Whether the records of both logs prove where a group resumes, without a record missing or read again."""
    copied, source = _copied(world), world.source
    unread = [offset for offset in source.records if offset >= position]
    last = {origin: offset for offset, origin in sorted(copied.items()) if origin is not None}
    if position < source.start or not copied or any(offset not in last for offset in unread):
        return False
    best = min((last[offset] for offset in unread), default=max(copied) + 1)
    # If there is no unread record, the flow's own copies have to reach the end.
    behind = [origin for offset, origin in copied.items() if offset >= (best if unread else max(copied))]
    if any(origin is None or (unread and origin < position) for origin in behind):
        return False
    # A copy of an unread record that compaction has removed from the source would be skipped.
    removed = any(offset not in source.records for offset in range(position, source.end))
    return not removed or all(origin is not None for offset, origin in copied.items() if offset < best)


def _copied(world: World) -> Mapping[int, int | None]:
    """The source record that equals each record of the remote topic; None: there is none, or there are several."""
    equal: dict[bytes, list[int]] = {}
    for offset, record in world.source.records.items():
        equal.setdefault(digest_of(world, record), []).append(offset)
    found = {offset: equal.get(digest_of(world, record), []) for offset, record in world.target.records.items()}
    return {offset: some[0] if len(some) == 1 else None for offset, some in found.items()}
