"""Many connectors: which are meant, how many at once, and when no further one is begun."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_provider_connect_offsets.change.fleet import Fleet, refuse_incomplete, select
from airflow_provider_connect_offsets.exceptions import (
    FleetIncomplete,
    InvalidRequest,
    NotApplied,
    RecordsDeleted,
    StoreError,
    UnknownConnector,
    Unreachable,
)

NAMES = ["orders-mirror", "orders-sink", "payments-sink"]


def test_whole_names_are_matched() -> None:
    """Not parts of them; sorted, whatever the order was."""
    assert select(reversed(NAMES), ".*-sink") == ["orders-sink", "payments-sink"]
    assert select(NAMES, "orders-sink") == ["orders-sink"]


@pytest.mark.parametrize(
    ("pattern", "sentence"), [("sink", "matches none of the 3 connectors"), ("a(", "is no regular")]
)
def test_a_pattern_that_means_nothing_is_refused(pattern: str, sentence: str) -> None:
    """In one sentence that shows what there is."""
    with pytest.raises(InvalidRequest, match=sentence):
        select(NAMES, pattern)


def test_never_more_than_so_many_at_once() -> None:
    """As many as allowed run side by side, and no more."""
    running, most, lock, full = 0, 0, threading.Lock(), threading.Barrier(3, timeout=60)

    def change(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        full.wait()  # three are here at the same time, or it fails
        with lock:
            running -= 1
        return number

    ended = dict(Fleet(change, at_once=3, max_failures=1).run(range(12)))

    assert ended == {number: number for number in range(12)}
    assert most == 3


def test_after_so_many_failures_no_further_one_is_begun() -> None:
    """The third failure ends it; those that were changed before stay so."""
    begun: list[int] = []

    def change(number: int) -> int:
        begun.append(number)
        if number % 2:
            raise NotApplied(f"not {number}")
        return number

    ended = dict(Fleet(change, at_once=1, max_failures=3).run(range(100)))

    assert begun == [0, 1, 2, 3, 4, 5]
    assert [number for number, found in ended.items() if isinstance(found, NotApplied)] == [1, 3, 5]


def test_halted_it_ends_what_is_under_way() -> None:
    """And begins nothing more."""
    begun: list[int] = []

    def change(number: int) -> int:
        begun.append(number)
        if number == 3:
            fleet.halt()
        return number

    fleet = Fleet(change, at_once=1, max_failures=1)

    assert dict(fleet.run(range(10))) == {number: number for number in range(4)}
    assert begun == [0, 1, 2, 3]


@pytest.mark.parametrize(("at_once", "max_failures"), [(0, 1), (1, 0)])
def test_numbers_that_would_change_nothing_are_refused(at_once: int, max_failures: int) -> None:
    """Rather than a run that does nothing and looks like success."""
    with pytest.raises(InvalidRequest, match="must be 1 or greater"):
        Fleet(str, at_once=at_once, max_failures=max_failures)


@pytest.mark.parametrize(
    ("ended", "kind", "sentence"),
    [
        (
            {"a": 1, "b": NotApplied("why.")},
            FleetIncomplete,
            r"1 of 2 connectors were not changed\. Failed: b\. The other 1 are",
        ),
        (
            {"a": RecordsDeleted("gone."), "b": NotApplied("why.")},
            FleetIncomplete,
            r"1 of 2 .* Failed: b\. Changed, but records at their positions were deleted: a\. ",
        ),
        ({"a": 1}, FleetIncomplete, r"1 of 2 connectors were not changed\. Not begun: b\."),
        ({"a": 1, "b": Unreachable("down.")}, StoreError, r"Failed: b\. .* down\."),
        ({"a": UnknownConnector("a is gone."), "b": Unreachable("down.")}, FleetIncomplete, "2 of 2"),
    ],
)
def test_what_is_incomplete_is_told_by_name(ended: dict[str, Any], kind: type[Exception], sentence: str) -> None:
    """A failure that may pass by itself lets the task be tried again; any other does not."""
    with pytest.raises(kind, match=sentence) as caught:
        refuse_incomplete(ended, ["a", "b"])

    assert type(caught.value) is kind


def test_what_is_complete_is_left_alone() -> None:
    """No exception."""
    refuse_incomplete({"a": 1, "b": 2}, ["a", "b"])
