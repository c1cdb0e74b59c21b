"""Match all records of two short logs: find the source record of each copy in the remote topic.

Nothing is presumed between records that were all read. So for a partition with few records this replaces the search in
``bisecting``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from airflow_provider_connect_offsets.offsets.mappings.bisecting import (
    COMPANY,
    LogRanges,
    OffsetMapping,
    RecordOffsets,
    Records,
    Search,
    is_same,
)

#: Number of offsets of either log up to which all records are read.
MOST_OFFSETS = 1_000


def ranges_to_match(known: Iterable[OffsetMapping], logs: LogRanges, *, lowest: int) -> LogRanges | None:
    """Return the parts of both logs that decide about positions from ``lowest`` on; None if they are too long.

    Args:
        known: Known mappings of the partition.
        logs: Offset ranges of both logs.
        lowest: Lowest requested position.
    """
    beginning = OffsetMapping(-1, logs.target.start - 1)
    mappings = [beginning, *sorted(known, key=lambda one: one.downstream)]
    before = [one for one, after in pairwise(mappings) if max(one.upstream, after.upstream) >= lowest] or mappings[-1:]
    upstream = min(lowest, *(one.upstream for one in before))
    downstream = min(one.downstream for one in before)
    source = range(max(upstream, logs.source.start), logs.source.stop)
    target = range(max(downstream, logs.target.start), logs.target.stop)
    return LogRanges(source, target) if max(len(source), len(target)) <= MOST_OFFSETS else None


def match(known: Iterable[OffsetMapping], ranges: LogRanges, *, may_repeat: bool) -> Search:
    """Read all records of both ranges and return a mapping for each copy that is recognised.

    A copy is recognised by its digest if no other record of either log looks the same, or if it is one of three
    consecutive copies whose digests each belong to one record of the source. It is also recognised if a known mapping
    names it and both records are equal, or if it lies between two recognised copies that have the same distance
    (downstream - upstream), and all copies between these two equal their source records.

    Args:
        known: Known mappings of the partition.
        ranges: What :func:`ranges_to_match` returns.
        may_repeat: True if an unread record may have the digest of a record that was read: then only three consecutive
            copies are recognised.
    """
    records = yield RecordOffsets(frozenset(ranges.source), frozenset(ranges.target))
    copied = {mapping.downstream: mapping.upstream for mapping in known if is_same(records, mapping)}
    copied |= _recognise(records, may_repeat=may_repeat)
    copied |= _match_between(records, copied)
    # After the last record of a running flow there may be records of a transaction that is still open.
    next_source, next_target = (dict(pairwise(sorted(side))) for side in (records.source, records.target))
    return [
        OffsetMapping(
            upstream, downstream, next_source.get(upstream, upstream + 1), next_target.get(downstream, downstream + 1)
        )
        for downstream, upstream in sorted(copied.items())
    ]


def _recognise(records: Records, *, may_repeat: bool) -> dict[int, int]:
    """Return the source offset of each copy that digests identify, by the offset of the copy."""
    alike, copies = Counter(records.source.values()), Counter(records.target.values())
    offsets = sorted(records.source)
    number_of = {records.source[offset]: number for number, offset in enumerate(offsets)}
    may_repeat = may_repeat or len(number_of) < len(offsets)
    target = sorted(records.target)
    digests = [records.target[offset] for offset in target]
    numbers = [number_of[digest] if alike[digest] == 1 else None for digest in digests]
    return {
        target[place]: offsets[number]
        for place, number in enumerate(numbers)
        if number is not None and ((not may_repeat and copies[digests[place]] == 1) or _in_company(numbers, place))
    }


def _match_between(records: Records, copied: Mapping[int, int]) -> dict[int, int]:
    """Return the source offsets of further copies, by the offset of the copy.

    If two recognised copies have the same distance (downstream - upstream), so have all copies between them, provided
    that each equals its source record.
    """
    found: dict[int, int] = {}
    for before, after in pairwise(sorted(copied)):
        distance = before - copied[before]
        if after - copied[after] != distance:
            continue
        between = range(before + 1, after)
        if all(records.target.get(offset) == records.source.get(offset - distance) for offset in between):
            found |= {offset: offset - distance for offset in between if offset in records.target}
    return found


def _in_company(numbers: list[int | None], place: int) -> bool:
    """Whether the copy at ``place`` is one of three records that are consecutive in both logs."""
    number = numbers[place]
    if number is None:
        return False
    near = [
        0 <= at < len(numbers) and numbers[at] == number + at - place
        for at in range(place - COMPANY + 1, place + COMPANY)
    ]
    return any(all(near[first : first + COMPANY]) for first in range(COMPANY))
