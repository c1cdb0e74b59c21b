"""Offsets at which the distance between two logs changes, found by few of their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from airflow_provider_connect_offsets.offsets.bisecting import (
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

    ``looks`` counts how often records were asked for, ``read`` how many.
    """

    remote: Sequence[int | None]
    source: Mapping[int, bytes] = field(default_factory=lambda: {at: b"%d" % at for at in range(LENGTH)})
    looks: int = 0
    read: int = 0

    def found(self, *known: tuple[int, int], lowest: int = 0) -> set[tuple[int, int]]:
        """Search it."""
        logs = LogRanges(range(LENGTH), range(len(self.remote)))
        one = search([OffsetMapping(*pair) for pair in known], logs, lowest=lowest)
        return {(pair.upstream, pair.downstream) for pair in in_turns({"": one}, self.answer)[""]}

    def answer(self, asked: Mapping[str, RecordOffsets]) -> dict[str, Records]:
        """Give what is there of what is asked for."""
        self.looks += 1
        self.read += sum(len(one.source) + len(one.target) for one in asked.values())
        return {
            key: Records(
                {at: self.source[at] for at in one.source if at in self.source},
                {at: self._copy(at) for at in one.target},
            )
            for key, one in asked.items()
        }

    def _copy(self, at: int) -> bytes:
        origin = self.remote[at]
        return b"somebody's at %d" % at if origin is None else self.source[origin]


def last(remote: Sequence[int | None]) -> tuple[int, int]:
    """The last record of either log."""
    return LENGTH - 1, len(remote) - 1


def test_records_that_were_copied_again() -> None:
    """The last one before they come again, and the first of them: nothing is left open between."""
    remote = [*range(70_000), *range(69_900, LENGTH)]
    book = Logbook(remote)

    assert book.found((-1, -1), last(remote)) == {(69_999, 69_999), (69_900, 70_000), last(remote)}
    assert book.looks < 30
    assert book.read < 1000


@pytest.mark.parametrize("count", [1, 3, 500])
def test_records_of_somebody_else(count: int) -> None:
    """What lies between the two stays open, and is no longer than it was."""
    remote = [*range(12_345), *[None] * count, *range(12_345, LENGTH)]

    assert Logbook(remote).found((-1, -1), last(remote)) == {
        (12_344, 12_344),
        (12_345, 12_345 + count),
        last(remote),
    }


def test_several_changes() -> None:
    """One after the other, each by what stands next."""
    remote = [*range(100), *range(95, 5000), None, *range(5000, 60_000), *range(59_990, LENGTH)]

    assert Logbook(remote).found((-1, -1), last(remote)) == {
        (99, 99),
        (95, 100),
        (4999, 5004),
        (5000, 5006),
        (59_999, 60_005),
        (59_990, 60_006),
        last(remote),
    }


def test_nothing_is_looked_for_before_the_lowest_position() -> None:
    """What was read by all is of no use any more."""
    remote = [*range(100), None, *range(100, 5000), None, *range(5000, LENGTH)]
    book = Logbook(remote)

    assert book.found((0, 0), (2000, 2001), last(remote), lowest=3000) == {(4999, 5000), (5000, 5002), last(remote)}


def test_equal_distances_ask_for_no_record() -> None:
    """There is nothing to be found."""
    book = Logbook(list(range(LENGTH)))

    assert book.found((-1, -1), (50, 50), (LENGTH - 1, LENGTH - 1)) == set()
    assert book.looks == 0


def test_what_was_found_is_not_looked_for_again() -> None:
    """No offset lies between two mappings that follow each other, so no record of theirs is read once more."""
    remote = [*range(70_000), *range(69_900, LENGTH)]
    book = Logbook(remote)

    assert book.found((-1, -1), (69_999, 69_999), (69_900, 70_000), last(remote)) == set()
    assert book.looks == 0


def test_less_was_replicated_than_the_source_counts() -> None:
    """A gap may be made up for there, so that equal distances would prove nothing; no record is read."""
    remote = [*range(100), *range(105, LENGTH)]
    book = Logbook(remote)

    assert book.found((-1, -1), last(remote)) == set()
    assert book.looks == 0


def test_an_offset_of_the_source_without_a_record() -> None:
    """Where it is come by, nothing is believed of that partition."""
    remote = [*range(70_000), None, *range(70_000, LENGTH)]
    source = {at: b"%d" % at for at in range(LENGTH) if at != LENGTH // 2}

    assert Logbook(remote, {**source, LENGTH - 10: b"0"}).found((-1, -1), last(remote)) == set()


def test_records_that_look_the_same() -> None:
    """Nor where they do; they may agree at any distance."""
    remote = [*range(70_000), None, *range(70_000, LENGTH)]

    assert Logbook(remote, {at: b"%d" % (at % 50) for at in range(LENGTH)}).found((-1, -1), last(remote)) == set()


def test_changes_that_make_up_for_one_another() -> None:
    """Somebody's record in the place of one that was not replicated: samples between show it."""
    remote = [*range(30_000), None, *range(30_000, 60_000), *range(60_001, 90_000), None, *range(90_000, LENGTH)]

    assert Logbook(remote).found((-1, -1), last(remote)) == set()


def test_a_mapping_that_the_records_disprove() -> None:
    """It is of another topic of that name: what would rest on it isn't looked for."""
    remote = [*range(70_000), None, *range(70_000, LENGTH)]

    assert Logbook(remote).found((-1, -1), (80_000, 80_005)) == set()


def test_many_partitions_at_the_same_time() -> None:
    """Each look answers what all of them ask for."""
    remotes = {str(at): [*range(at), None, *range(at, LENGTH)] for at in (10, 20_000, 50_000)}
    books = {name: Logbook(remote) for name, remote in remotes.items()}
    looks = 0

    def read(asked: Mapping[str, RecordOffsets]) -> dict[str, Records]:
        nonlocal looks
        looks += 1
        return {name: books[name].answer({name: offsets})[name] for name, offsets in asked.items()}

    searches = {
        name: search(
            [OffsetMapping(-1, -1), OffsetMapping(*last(remote))], LogRanges(range(LENGTH), range(len(remote)))
        )
        for name, remote in remotes.items()
    }
    found = in_turns(searches, read)

    assert {name: len(mappings) for name, mappings in found.items()} == dict.fromkeys(remotes, 3)
    assert looks == max(book.looks for book in books.values())
