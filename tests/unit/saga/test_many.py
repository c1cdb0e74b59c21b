"""Many sagas: how many run at once, and when no further one begins."""

from __future__ import annotations

import threading

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotApplied
from airflow_provider_connect_offsets.saga.many import ManySagas


def test_never_more_than_so_many_at_once() -> None:
    """As many as allowed run at a time, and no more."""
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

    ended = dict(ManySagas(change, at_once=3, max_failures=1).run(range(12)))

    assert ended == {number: number for number in range(12)}
    assert most == 3


def test_the_next_ones_begin_while_the_caller_works_on_what_has_ended() -> None:
    """A report that takes its time keeps nobody waiting."""
    others = threading.Semaphore(0)

    def change(number: int) -> int:
        if number > 1:
            others.release()
        return number

    changing = ManySagas(change, at_once=2, max_failures=1).run(range(4))

    next(changing)
    assert others.acquire(timeout=60)
    assert len(list(changing)) == 3


def test_after_so_many_failures_no_further_one_is_begun() -> None:
    """The third failure ends it; members that were changed before stay changed."""
    begun: list[int] = []

    def change(number: int) -> int:
        begun.append(number)
        if number % 2:
            raise NotApplied(f"not {number}")
        return number

    ended = dict(ManySagas(change, at_once=1, max_failures=3).run(range(100)))

    assert begun == [0, 1, 2, 3, 4, 5]
    assert [number for number, found in ended.items() if isinstance(found, NotApplied)] == [1, 3, 5]


def test_halted_it_ends_what_is_under_way() -> None:
    """It begins nothing more."""
    begun: list[int] = []

    def change(number: int) -> int:
        begun.append(number)
        if number == 3:
            many.halt()
        return number

    many = ManySagas(change, at_once=1, max_failures=1)

    assert dict(many.run(range(10))) == {number: number for number in range(4)}
    assert begun == [0, 1, 2, 3]


@pytest.mark.parametrize(("at_once", "max_failures"), [(0, 1), (1, 0)])
def test_numbers_that_would_change_nothing_are_refused(at_once: int, max_failures: int) -> None:
    """Rather than a run that does nothing and looks like success."""
    with pytest.raises(InvalidRequest, match="must be 1 or greater"):
        ManySagas(str, at_once=at_once, max_failures=max_failures)
