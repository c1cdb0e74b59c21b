"""The search for offset mappings at changes of the distance between two logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from airflow_provider_connect_offsets.offsets.mappings.bisecting import (
    LogRanges,
    OffsetMapping,
    RecordOffsets,
    Records,
    in_turns,
    search,
)

LENGTH = 100_000


@dataclass
class Logbook:
    """Two logs: by offset of the remote topic the record of the source that it is a copy of, None for somebody else's.

    ``reads`` counts how often records were requested, ``read`` how many.
    """

    remote: Sequence[int | None]
    source: Mapping[int, bytes] = field(default_factory=lambda: {at: b"%d" % at for at in range(LENGTH)})
    reads: int = 0
    read: int = 0

    def result(self, *known: tuple[int, int], lowest: int = 0) -> set[tuple[int, int]]:
        """Run the search."""
        logs = LogRanges(range(LENGTH), range(len(self.remote)))
        one = search([OffsetMapping(*mapping) for mapping in known], logs, lowest=lowest)
        return {(mapping.upstream, mapping.downstream) for mapping in in_turns({"": one}, self.answer)[""]}

    def answer(self, requested: Mapping[str, RecordOffsets]) -> dict[str, Records]:
        """Return the requested records that exist."""
        self.reads += 1
        self.read += sum(len(one.source) + len(one.target) for one in requested.values())
        return {
            key: Records(
                {at: self.source[at] for at in one.source if at in self.source},
                {at: self._copy(at) for at in one.target},
            )
            for key, one in requested.items()
        }

    def _copy(self, at: int) -> bytes:
        origin = self.remote[at]
        return b"somebody's at %d" % at if origin is None else self.source[origin]


def last(remote: Sequence[int | None]) -> tuple[int, int]:
    """The last record of either log."""
    return LENGTH - 1, len(remote) - 1


def test_records_that_were_copied_again() -> None:
    """The last record before the repeated ones and the first repeated one are found."""
    remote = [*range(70_000), *range(69_900, LENGTH)]
    book = Logbook(remote)

    assert book.result((-1, -1), last(remote)) == {(69_999, 69_999), (69_900, 70_000), last(remote)}
    assert book.reads < 30
    assert book.read < 1000


@pytest.mark.parametrize("count", [1, 3, 500])
def test_records_of_somebody_else(count: int) -> None:
    """The gap between the two mappings stays open and does not grow."""
    remote = [*range(12_345), *[None] * count, *range(12_345, LENGTH)]

    assert Logbook(remote).result((-1, -1), last(remote)) == {
        (12_344, 12_344),
        (12_345, 12_345 + count),
        last(remote),
    }


def test_several_changes() -> None:
    """Each change is found, one after the other."""
    remote = [*range(100), *range(95, 5000), None, *range(5000, 60_000), *range(59_990, LENGTH)]

    assert Logbook(remote).result((-1, -1), last(remote)) == {
        (99, 99),
        (95, 100),
        (4999, 5004),
        (5000, 5006),
        (59_999, 60_005),
        (59_990, 60_006),
        last(remote),
    }


def test_nothing_is_read_before_the_lowest_position() -> None:
    """Mappings before the lowest requested position are of no use."""
    remote = [*range(100), None, *range(100, 5000), None, *range(5000, LENGTH)]
    book = Logbook(remote)

    assert book.result((0, 0), (2000, 2001), last(remote), lowest=3000) == {(4999, 5000), (5000, 5002), last(remote)}


def test_equal_distances_ask_for_no_record() -> None:
    """There is no change to search for."""
    book = Logbook(list(range(LENGTH)))

    assert book.result((-1, -1), (50, 50), (LENGTH - 1, LENGTH - 1)) == set()
    assert book.reads == 0


def test_what_was_found_is_not_read_again() -> None:
    """Between two consecutive mappings there is no offset, so no record is read again."""
    remote = [*range(70_000), *range(69_900, LENGTH)]
    book = Logbook(remote)

    assert book.result((-1, -1), (69_999, 69_999), (69_900, 70_000), last(remote)) == set()
    assert book.reads == 0


def test_less_was_replicated_than_the_source_counts() -> None:
    """A gap may cancel out there, so equal distances prove nothing and no record is read."""
    remote = [*range(100), *range(105, LENGTH)]
    book = Logbook(remote)

    assert book.result((-1, -1), last(remote)) == set()
    assert book.reads == 0


def test_an_offset_of_the_source_without_a_record() -> None:
    """If one is met, no mapping of that partition is returned."""
    remote = [*range(70_000), None, *range(70_000, LENGTH)]
    source = {at: b"%d" % at for at in range(LENGTH) if at != LENGTH // 2}

    assert Logbook(remote, {**source, LENGTH - 10: b"0"}).result((-1, -1), last(remote)) == set()


def test_records_that_look_the_same() -> None:
    """Equal records may agree at any distance, so no mapping is returned."""
    remote = [*range(70_000), None, *range(70_000, LENGTH)]

    assert Logbook(remote, {at: b"%d" % (at % 50) for at in range(LENGTH)}).result((-1, -1), last(remote)) == set()


def test_changes_that_make_up_for_one_another() -> None:
    """Samples reveal a foreign record in place of one that was not replicated."""
    remote = [*range(30_000), None, *range(30_000, 60_000), *range(60_001, 90_000), None, *range(90_000, LENGTH)]

    assert Logbook(remote).result((-1, -1), last(remote)) == set()


def test_a_mapping_that_the_records_disprove() -> None:
    """It belongs to an earlier topic of that name, so nothing is searched from it."""
    remote = [*range(70_000), None, *range(70_000, LENGTH)]

    assert Logbook(remote).result((-1, -1), (80_000, 80_005)) == set()


def test_many_partitions_at_the_same_time() -> None:
    """Each read serves the requests of all partitions."""
    remotes = {str(at): [*range(at), None, *range(at, LENGTH)] for at in (10, 20_000, 50_000)}
    books = {name: Logbook(remote) for name, remote in remotes.items()}
    reads = 0

    def read(requested: Mapping[str, RecordOffsets]) -> dict[str, Records]:
        nonlocal reads
        reads += 1
        return {name: books[name].answer({name: offsets})[name] for name, offsets in requested.items()}

    searches = {
        name: search(
            [OffsetMapping(-1, -1), OffsetMapping(*last(remote))], LogRanges(range(LENGTH), range(len(remote)))
        )
        for name, remote in remotes.items()
    }
    result = in_turns(searches, read)

    assert {name: len(mappings) for name, mappings in result.items()} == dict.fromkeys(remotes, 3)
    assert reads == max(book.reads for book in books.values())
