"""Where the distance between a source and its remote topic changes, found by reading a few single records.

Two offset mappings that differ in distance enclose a change of it: a transaction's marker, records that were copied
again, somebody else's. Up to there the records agree at the distance of the first mapping, from there on at that of the
second. What is found are more mappings, as close to the change as it can be told.

A search asks for records and goes on once it has them, so that one look at a cluster answers those of many partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple, TypeVar

# A record agrees if it is one of so many in a row that do: one alone may look like another by chance.
_COMPANY = 3
# So many records, spread evenly, must agree between two that do.
_SAMPLES = 8
# So many changes are looked for in a partition, and among so many records for what follows one.
_CHANGES, _WINDOW = 32, 64

_Key = TypeVar("_Key", bound=Hashable)


class OffsetMapping(NamedTuple):
    """The record at ``upstream`` of the source stands at ``downstream`` of the remote topic."""

    upstream: int
    downstream: int

    @property
    def distance(self) -> int:
        """How much further on it stands in the remote topic."""
        return self.downstream - self.upstream


class LogRanges(NamedTuple):
    """The offsets of both logs."""

    source: range
    target: range


class RecordOffsets(NamedTuple):
    """Records that are asked for, by their offsets in either log."""

    source: frozenset[int]
    target: frozenset[int]


class Records(NamedTuple):
    """Digests of records by their offsets; where none is, there is no record."""

    source: Mapping[int, bytes]
    target: Mapping[int, bytes]


Search = Generator[RecordOffsets, Records, list[OffsetMapping]]


class _InVainError(Exception):
    """The records show that equal distances prove nothing in this partition."""


def search(known: Iterable[OffsetMapping], logs: LogRanges, *, lowest: int = 0) -> Search:
    """Search one partition for mappings about each change of the distance; the generator returns those it has found.

    known: mappings of the logs as they are now, of a partition that is neither compacted nor transformed; those that
    the records disprove are left out. lowest: the lowest position that is asked for; what lies before it is of no use.

    Nothing is found where the source has offsets without a record, or records that look the same: there one change may
    make up for another.
    """
    places = sorted(set(known), key=lambda one: (one.downstream, one.upstream))
    changes = [
        (before, after)
        for before, after in pairwise(places)
        if before.distance != after.distance
        and after.downstream - before.downstream > 1  # else nothing lies between them that could be found
        and max(before.upstream, after.upstream) > lowest
    ]
    falls = any(after.distance < before.distance for before, after in pairwise(places))
    if falls or len(changes) > _CHANGES:
        return []
    records, found = _Records(logs), []
    try:
        for before, after in changes:
            found += yield from _between(records, before, after)
    except _InVainError:
        return []
    return found


def in_turns(
    searches: Mapping[_Key, Search], read: Callable[[Mapping[_Key, RecordOffsets]], Mapping[_Key, Records]]
) -> dict[_Key, list[OffsetMapping]]:
    """Let searches go on at the same time: ``read`` is called for what all of them ask for next, until none does."""
    found: dict[_Key, list[OffsetMapping]] = {}
    answers: dict[_Key, Records | None] = dict.fromkeys(searches)
    while answers:
        asked = {}
        for key, answer in answers.items():
            try:
                asked[key] = next(searches[key]) if answer is None else searches[key].send(answer)
            except StopIteration as ended:
                found[key] = ended.value
        answers = dict(read(asked)) if asked else {}
    return found


class _Records:
    """What was read of both logs so far."""

    def __init__(self, logs: LogRanges) -> None:
        self.logs = logs
        self._source: dict[int, bytes | None] = {}
        self._target: dict[int, bytes | None] = {}
        self._seen: dict[bytes, int] = {}

    def read(self, source: Iterable[int], target: Iterable[int]) -> Generator[RecordOffsets, Records, None]:
        """Ask for those that are not known yet."""
        asked = RecordOffsets(
            frozenset(at for at in source if at in self.logs.source and at not in self._source),
            frozenset(at for at in target if at in self.logs.target and at not in self._target),
        )
        if not asked.source and not asked.target:
            return
        told = yield asked
        self._target.update((at, told.target.get(at)) for at in asked.target)
        for at in asked.source:
            digest = told.source.get(at)
            if digest is None or self._seen.setdefault(digest, at) != at:
                raise _InVainError
            self._source[at] = digest

    def agree(self, *places: OffsetMapping) -> Generator[RecordOffsets, Records, bool]:
        """Whether at each of these places the same record stands in both logs, with its neighbours."""
        about = [near for place in places for near in _neighbours(place)]
        yield from self.read((one.upstream for one in about), (one.downstream for one in about))
        return all(self._agrees(place) for place in places)

    def copies(self, source: range, target: range) -> Generator[RecordOffsets, Records, list[OffsetMapping]]:
        """Find the records of a piece of the source that stand in a piece of the remote topic, in its order."""
        yield from self.read(source, target)
        upstream = {digest: at for at in source if (digest := self._source.get(at)) is not None}
        seen = ((self._target.get(at), at) for at in target)
        return [OffsetMapping(upstream[digest], at) for digest, at in seen if digest is not None and digest in upstream]

    def _agrees(self, place: OffsetMapping) -> bool:
        same = [self._same(near) for near in _neighbours(place)]
        return any(all(same[first : first + _COMPANY]) for first in range(_COMPANY))

    def _same(self, place: OffsetMapping) -> bool:
        record = self._source.get(place.upstream)
        return record is not None and record == self._target.get(place.downstream)


def _neighbours(place: OffsetMapping) -> list[OffsetMapping]:
    return [OffsetMapping(*(at + step for at in place)) for step in range(1 - _COMPANY, _COMPANY)]


def _between(records: _Records, before: OffsetMapping, after: OffsetMapping) -> Search:
    """Find what follows in the remote topic between two mappings, as far as that can be told."""
    # Where records look the same, it shows in a piece; single ones that lie far apart would hide it.
    yield from records.read(range(after.upstream - _WINDOW, after.upstream + _WINDOW), ())
    if not (yield from records.agree(after)):
        return []
    found = [after]
    for _ in range(_CHANGES):
        last = yield from _last(records, before, after.downstream - 1)
        if last is None:
            return found
        found.append(last)
        if last.downstream + 1 == after.downstream:
            return found
        following = yield from _following(records, last, after)
        if following is None:
            return found
        found.append(following)
        if following.distance == after.distance:
            yield from _sampled(records, following, after.upstream)
            return found
        before = following
    return found


def _last(records: _Records, first: OffsetMapping, end: int) -> Generator[RecordOffsets, Records, OffsetMapping | None]:
    """Find the last place, up to ``end`` in the remote topic, to which a distance holds; None: it holds nowhere."""
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
    yield from _sampled(records, _at(begin, distance), low)
    return _at(low, distance)


def _sampled(records: _Records, first: OffsetMapping, last: int) -> Generator[RecordOffsets, Records, None]:
    """Look whether a distance holds between two records: where it doesn't, changes have made up for one another."""
    steps = (first.upstream + (last - first.upstream) * number // _SAMPLES for number in range(_SAMPLES))
    if not (yield from records.agree(*[_at(at, first.distance) for at in steps])):
        raise _InVainError


def _following(
    records: _Records, last: OffsetMapping, after: OffsetMapping
) -> Generator[RecordOffsets, Records, OffsetMapping | None]:
    """Find the first copy behind ``last``: most often it stands at the distance of ``after`` already."""
    begin = last.downstream + 1
    again, next_one = _at(begin - after.distance, after.distance), _at(last.upstream + 1, after.distance)
    if (yield from records.agree(again)):
        return again
    if (yield from records.agree(next_one)):
        return next_one if again.upstream + 1 == next_one.upstream else (yield from _first(records, again, next_one))
    end = min(begin + _WINDOW, after.downstream)
    near = range(last.upstream + 1 - _WINDOW, last.upstream + 1 + _WINDOW)
    for copy in (yield from records.copies(near, range(begin, end))):
        if copy.upstream <= last.upstream + 1 and (yield from records.agree(copy)):
            return copy
    return None


def _first(
    records: _Records, low: OffsetMapping, high: OffsetMapping
) -> Generator[RecordOffsets, Records, OffsetMapping | None]:
    """Find the first place from which on a distance holds: at ``high`` it does, at ``low`` it does not."""
    while high.upstream - low.upstream > 1:
        middle = _at((low.upstream + high.upstream) // 2, high.distance)
        if (yield from records.agree(middle)):
            high = middle
        else:
            low = middle
    return high


def _at(upstream: int, distance: int) -> OffsetMapping:
    return OffsetMapping(upstream, upstream + distance)
