"""All records of two short logs, matched."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from airflow_provider_connect_offsets.offsets.mappings.bisecting import LogRanges, OffsetMapping, Records, in_turns
from airflow_provider_connect_offsets.offsets.mappings.matching import MOST_OFFSETS, match, ranges_to_match


def matched(
    source: Mapping[int, bytes], target: Mapping[int, bytes], *known: tuple[int, int], may_repeat: bool = False
) -> list[OffsetMapping]:
    """All that is found in two logs which begin at 0 and end after their last record."""
    ranges = LogRanges(range(max(source) + 1), range(max(target) + 1))
    search = match([OffsetMapping(*mapping) for mapping in known], ranges, may_repeat=may_repeat)
    return in_turns({"": search}, lambda _requested: {"": Records(source, target)})[""]


def log(text: str) -> dict[int, bytes]:
    """A record for each letter; a dot is an offset without one."""
    return {offset: letter.encode() for offset, letter in enumerate(text) if letter != "."}


def test_gaps_of_either_log_are_known() -> None:
    """The source has a transaction marker, and the remote topic has one elsewhere."""
    assert matched(log("ab.c"), log("a.bc")) == [(0, 0, 1, 2), (1, 2, 3, 3), (3, 3, 4, 4)]


def test_a_record_that_is_no_copy_stays_open() -> None:
    """The mapping before it says where it lies."""
    assert matched(log("abc"), log("axbc")) == [(0, 0, 1, 1), (1, 2, 2, 3), (2, 3, 3, 4)]


def test_copies_that_were_made_twice() -> None:
    """Three in a row are recognised, though each digest occurs twice; two are not."""
    found = matched(log("abcdef"), log("abcdefbcdef"))

    assert [mapping[:2] for mapping in found] == [*((at, at) for at in range(6)), *((at, at + 5) for at in range(1, 6))]
    assert [mapping[0] for mapping in matched(log("abcd"), log("abcdcd"))] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("known", "expected"),
    [((), []), (((0, 0),), [0]), (((0, 0), (3, 3)), [0, 1, 2, 3]), (((0, 0), (2, 3)), [0, 2])],
)
def test_values_that_repeat_need_a_mapping(known: tuple[tuple[int, int], ...], expected: list[int]) -> None:
    """All between two mappings at the same distance is a copy if all records are equal there."""
    assert [mapping[0] for mapping in matched(log("aaaa"), log("aaaa"), *known)] == expected


def test_a_mapping_whose_records_differ_counts_for_nothing() -> None:
    assert matched(log("aa"), log("xa"), (0, 0), (1, 1)) == [(1, 1, 2, 2)]


def test_a_digest_that_an_unread_record_may_have_needs_neighbours() -> None:
    assert matched(log("ab"), log("ab"), may_repeat=True) == []
    assert len(matched(log("abc"), log("abc"), may_repeat=True)) == 3


def test_what_decides_about_the_positions_is_read_if_it_is_short() -> None:
    """Reading begins at the last mapping before all positions, or else at the start of the remote topic."""
    logs = LogRanges(range(10_000), range(10_000))
    far = [OffsetMapping(9_500, 9_400)]

    assert ranges_to_match(far, logs, lowest=9_600) == LogRanges(range(9_500, 10_000), range(9_400, 10_000))
    assert ranges_to_match(far, logs, lowest=9_000) is None
    assert ranges_to_match([], logs, lowest=9_999) is None
    short = LogRanges(range(MOST_OFFSETS), range(MOST_OFFSETS))
    assert ranges_to_match([], short, lowest=10) == LogRanges(range(MOST_OFFSETS), range(MOST_OFFSETS))
