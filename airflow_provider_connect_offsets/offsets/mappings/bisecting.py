"""Search for offset mappings where the distance between source and remote topic changes, reading few single records.

Two offset mappings of different distance enclose a change of it: a transaction marker, records that were copied again,
or records of another producer. Up to the change the records agree at the distance of the first mapping, after it at
that of the second. The search returns mappings as close to each change as possible.

A search yields the records it needs and continues once it gets them, so one read of a cluster serves many partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple, TypeVar

#: A mapping is confirmed if this many neighbouring records agree: one alone may equal another by chance.
COMPANY = 3
# Number of evenly spread records that must agree between two agreeing records.
_SAMPLES = 8
# Maximum number of changes searched in a partition, and of records searched for the first record after a change.
_CHANGES, _WINDOW = 32, 64

_Key = TypeVar("_Key", bound=Hashable)


class OffsetMapping(NamedTuple):
    """The record at offset ``upstream`` of the source has offset ``downstream`` in the remote topic.

    Attributes:
        upstream: Offset in the source.
        downstream: Offset in the remote topic.
        next_upstream: The source has no record after ``upstream`` and before this offset; None if unknown.
        next_downstream: Likewise of the remote topic, after ``downstream``.
    """

    upstream: int
    downstream: int
    next_upstream: int | None = None
    next_downstream: int | None = None

    @property
    def distance(self) -> int:
        """``downstream`` minus ``upstream``."""
        return self.downstream - self.upstream


class LogRanges(NamedTuple):
    """Offset ranges of the source log and of the remote topic's log."""

    source: range
    target: range


class RecordOffsets(NamedTuple):
    """Offsets of requested records in the source log and in the remote topic's log."""

    source: frozenset[int]
    target: frozenset[int]


class Records(NamedTuple):
    """Digests of records by offset; an offset without a record is missing."""

    source: Mapping[int, bytes]
    target: Mapping[int, bytes]


def is_same(records: Records, mapping: OffsetMapping) -> bool | None:
    """Whether both records of a mapping are equal; None if either does not exist."""
    record, copy = records.source.get(mapping.upstream), records.target.get(mapping.downstream)
    return None if record is None or copy is None else record == copy


Search = Generator[RecordOffsets, Records, list[OffsetMapping]]


class _UnprovableError(Exception):
    """The records show that equal distances prove nothing in this partition."""


def search(known: Iterable[OffsetMapping], logs: LogRanges, *, lowest: int = 0) -> Search:
    """Search one partition for mappings next to each change of the distance.

    Args:
        known: Mappings of the present logs; the partition is neither compacted nor transformed.
        logs: Offset ranges of both logs.
        lowest: Lowest requested position; changes before it are not searched.

    Yields:
        The records to read; send their digests.

    Returns:
        Mappings that the records confirm. Empty if the source has offsets without a record, or equal records: one
        change may then cancel another out.
    """
    mappings = sorted(set(known), key=lambda one: (one.downstream, one.upstream))
    changes = [
        (before, after)
        for before, after in pairwise(mappings)
        if before.distance != after.distance
        and after.downstream - before.downstream > 1  # else no record lies between them
        and max(before.upstream, after.upstream) > lowest
    ]
    falls = any(after.distance < before.distance for before, after in pairwise(mappings))
    if falls or len(changes) > _CHANGES:
        return []
    records, results = _Records(logs), []
    try:
        for before, after in changes:
            results += yield from _search_between(records, before, after)
    except _UnprovableError:
        return []
    return results


def in_turns(
    searches: Mapping[_Key, Search], read: Callable[[Mapping[_Key, RecordOffsets]], Mapping[_Key, Records] | None]
) -> dict[_Key, list[OffsetMapping]]:
    """Run searches together and return the result of each that has ended.

    Args:
        searches: Searches started by :func:`search`, by any key.
        read: Reads the records that all unfinished searches need next; called until every search has ended, or it
            returns None to read no more.
    """
    results: dict[_Key, list[OffsetMapping]] = {}
    answers: dict[_Key, Records | None] = dict.fromkeys(searches)
    while answers:
        requested = {}
        for key, answer in answers.items():
            try:
                requested[key] = next(searches[key]) if answer is None else searches[key].send(answer)
            except StopIteration as ended:
                results[key] = ended.value
        answers = dict(read(requested) or {}) if requested else {}
    return results


class _Records:
    """Records of both logs that were read so far."""

    def __init__(self, logs: LogRanges) -> None:
        self.logs = logs
        self._source: dict[int, bytes | None] = {}
        self._target: dict[int, bytes | None] = {}
        self._offset_of: dict[bytes, int] = {}

    def read(self, source: Iterable[int], target: Iterable[int]) -> Generator[RecordOffsets, Records, None]:
        """Read the records that were not read yet."""
        unread = RecordOffsets(
            frozenset(at for at in source if at in self.logs.source and at not in self._source),
            frozenset(at for at in target if at in self.logs.target and at not in self._target),
        )
        if not unread.source and not unread.target:
            return
        answer = yield unread
        self._target.update((at, answer.target.get(at)) for at in unread.target)
        for at in unread.source:
            digest = answer.source.get(at)
            if digest is None or self._offset_of.setdefault(digest, at) != at:
                raise _UnprovableError
            self._source[at] = digest

    def agree(self, *mappings: OffsetMapping) -> Generator[RecordOffsets, Records, bool]:
        """Whether each of these mappings, with its neighbours, maps equal records."""
        near = [neighbour for mapping in mappings for neighbour in _neighbours(mapping)]
        yield from self.read((one.upstream for one in near), (one.downstream for one in near))
        return all(self._agrees(mapping) for mapping in mappings)

    def copies(self, source: range, target: range) -> Generator[RecordOffsets, Records, list[OffsetMapping]]:
        """Find the records of a range of the source in a range of the remote topic, in the order of the latter."""
        yield from self.read(source, target)
        upstream = {digest: at for at in source if (digest := self._source.get(at)) is not None}
        copies = ((digest, at) for at in target if (digest := self._target.get(at)) is not None)
        return [OffsetMapping(upstream[digest], at) for digest, at in copies if digest in upstream]

    def _agrees(self, mapping: OffsetMapping) -> bool:
        same = [self._is_same(near) for near in _neighbours(mapping)]
        return any(all(same[first : first + COMPANY]) for first in range(COMPANY))

    def _is_same(self, mapping: OffsetMapping) -> bool:
        record = self._source.get(mapping.upstream)
        return record is not None and record == self._target.get(mapping.downstream)


def _neighbours(mapping: OffsetMapping) -> list[OffsetMapping]:
    return [OffsetMapping(mapping.upstream + step, mapping.downstream + step) for step in range(1 - COMPANY, COMPANY)]


def _search_between(records: _Records, before: OffsetMapping, after: OffsetMapping) -> Search:
    """Find mappings between two mappings, as far as the records confirm them."""
    # A range of records reveals equal ones; single records far apart would not.
    yield from records.read(range(after.upstream - _WINDOW, after.upstream + _WINDOW), ())
    if not (yield from records.agree(after)):
        return []
    results = [after]
    for _ in range(_CHANGES):
        last = yield from _find_last(records, before, after.downstream - 1)
        if last is None:
            return results
        results.append(last)
        if last.downstream + 1 == after.downstream:
            return results
        following = yield from _find_following(records, last, after)
        if following is None:
            return results
        results.append(following)
        if following.distance == after.distance:
            yield from _check_samples(records, following, after.upstream)
            return results
        before = following
    return results


def _find_last(
    records: _Records, first: OffsetMapping, end: int
) -> Generator[RecordOffsets, Records, OffsetMapping | None]:
    """Find the last mapping up to ``end`` in the remote topic with the distance of ``first``; None if all differ."""
    distance, logs = first.distance, records.logs
    low = max(first.upstream, logs.source.start, logs.target.start - distance)
    high = min(end - distance, logs.source.stop - 1)
    if low > high or not (yield from records.agree(_at(low, distance))):
        return None
    begin = low
    if (yield from records.agree(_at(high, distance))):
        low = high
    while high - low > 1:
        middle = (low + high) // 2
        if (yield from records.agree(_at(middle, distance))):
            low = middle
        else:
            high = middle
    yield from _check_samples(records, _at(begin, distance), low)
    return _at(low, distance)


def _check_samples(records: _Records, first: OffsetMapping, last: int) -> Generator[RecordOffsets, Records, None]:
    """Check that a distance holds between two records; if it doesn't, changes have cancelled each other out."""
    steps = (first.upstream + (last - first.upstream) * number // _SAMPLES for number in range(_SAMPLES))
    if not (yield from records.agree(*[_at(at, first.distance) for at in steps])):
        raise _UnprovableError


def _find_following(
    records: _Records, last: OffsetMapping, after: OffsetMapping
) -> Generator[RecordOffsets, Records, OffsetMapping | None]:
    """Find the first mapping after ``last``: most often it has the distance of ``after`` already."""
    begin = last.downstream + 1
    again, next_one = _at(begin - after.distance, after.distance), _at(last.upstream + 1, after.distance)
    if (yield from records.agree(again)):
        return again
    if (yield from records.agree(next_one)):
        return (
            next_one if again.upstream + 1 == next_one.upstream else (yield from _find_first(records, again, next_one))
        )
    end = min(begin + _WINDOW, after.downstream)
    near = range(last.upstream + 1 - _WINDOW, last.upstream + 1 + _WINDOW)
    for copy in (yield from records.copies(near, range(begin, end))):
        if copy.upstream <= last.upstream + 1 and (yield from records.agree(copy)):
            return copy
    return None


def _find_first(
    records: _Records, low: OffsetMapping, high: OffsetMapping
) -> Generator[RecordOffsets, Records, OffsetMapping | None]:
    """Find the first mapping from which a distance holds; it holds at ``high`` and does not at ``low``."""
    while high.upstream - low.upstream > 1:
        middle = _at((low.upstream + high.upstream) // 2, high.distance)
        if (yield from records.agree(middle)):
            high = middle
        else:
            low = middle
    return high


def _at(upstream: int, distance: int) -> OffsetMapping:
    return OffsetMapping(upstream, upstream + distance)
