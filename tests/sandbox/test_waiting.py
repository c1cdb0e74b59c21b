"""A wait ends when the condition is true, or reports what it expected and what changed meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import requests

from sandbox import waiting
from sandbox.errors import NotInTime, RestRefusal
from sandbox.waiting import wait_for, wait_until


@dataclass
class Clock:
    """Stands in for the module ``time``: a second passes wherever a second is slept."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that only waiting moves on."""
    made = Clock()
    monkeypatch.setattr(waiting, "time", made)
    return made


def test_the_first_true_answer_is_returned() -> None:
    """Falsy answers mean "not yet"."""
    answers = iter([None, 0, "", "there", "later"])

    assert wait_until(lambda: next(answers), 10, "it did not come", interval=0) == "there"


def test_a_late_condition_is_named() -> None:
    """The message says what was waited for, and how long; the condition is polled once even without any time."""
    polled: list[int] = []
    with pytest.raises(NotInTime, match=r"the broker did not come \(waited 0 s\)"):
        wait_until(lambda: polled.append(1), 0, "the broker did not come")

    assert polled == [1]


def test_it_goes_on_as_long_as_something_moves(clock: Clock) -> None:
    """Far longer than it has without progress, and the condition is what ends it."""
    began = clock.now

    progress = {"records": lambda: clock.now // 59}
    wait_until(lambda: clock.now >= began + 500, 60, "it did not come", progress=progress, interval=1)

    assert clock.now == began + 500


def test_it_fails_when_nothing_has_moved_for_so_long(clock: Clock) -> None:
    """The message has the time and kind of the last change, and all last observed values."""
    began = clock.now
    progress = {"records": lambda: min(clock.now - began, 100) // 10, "state": lambda: "RUNNING"}

    with pytest.raises(NotInTime) as late:
        wait_until(lambda: False, 60, "it has not caught up", progress=progress, interval=1)

    assert str(late.value) == (
        "it has not caught up (waited 160 s, 60 s without progress; what changed last: records; "
        "last observed: records 10; state RUNNING)"
    )


def test_it_ends_however_much_moves(clock: Clock) -> None:
    """After ten times the time that it has without progress."""
    began = clock.now

    with pytest.raises(NotInTime, match=r"waited 600 s, 0 s without progress; what changed last: turns"):
        wait_until(lambda: False, 60, "it turns in circles", progress={"turns": lambda: clock.now}, interval=1)

    assert clock.now == began + 600


def test_a_condition_that_takes_its_time_is_no_reason_to_give_up(clock: Clock) -> None:
    """What has moved while it was polled counts, also where that took longer than there was time for."""
    polled: list[int] = []

    def condition() -> bool:
        clock.sleep(100)
        polled.append(1)
        return len(polled) == 4

    assert wait_until(condition, 60, "it did not come", progress={"records": lambda: len(polled)})


def test_progress_is_observed_once_a_second(clock: Clock) -> None:
    """That may cost more than the condition."""
    began, times = clock.now, [0]

    def observe() -> int:
        times[0] += 1
        return 0

    wait_until(lambda: clock.now >= began + 10, 60, "it did not come", progress={"records": observe}, interval=0.25)

    assert times == [10]


def test_what_can_not_be_observed_does_not_end_a_wait(clock: Clock) -> None:
    """Only the kind of its error counts: the text of an error may differ each time, and would be taken for progress."""

    def observe() -> object:
        raise ConnectionError(f"refused at {clock.now}")

    with pytest.raises(NotInTime, match=r"waited 60 s, 60 s without .* last observed: records ConnectionError\)"):
        wait_until(lambda: False, 60, "it did not come", progress={"records": observe}, interval=1)


def test_a_value_is_waited_for_and_named(clock: Clock) -> None:
    """A changed answer counts as progress; the error names the last answer and the expected answer."""
    began = clock.now

    wait_for(lambda: (clock.now - began) // 50, 4, 60, "it is not there", interval=1)
    assert clock.now == began + 200

    with pytest.raises(NotInTime, match=r"it is not there: 9 was expected \(waited 110 s, 60 s .* observed 5\)"):
        wait_for(lambda: min((clock.now - began) // 50, 5), 9, 60, "it is not there", interval=1)


@pytest.mark.parametrize(
    ("refusal", "passes"),
    [
        (RestRefusal("GET /", 409, "rebalance"), True),
        (RestRefusal("GET /", 500, "Request timed out"), True),
        (RestRefusal("PATCH /", 500, "its tasks haven't stopped completely yet or"), True),
        (RestRefusal("GET /", 500, "NullPointerException"), False),
        (RestRefusal("GET /", 404, "not found"), False),
        (RestRefusal("POST /", 409, "Connector c already exists"), False),
        (requests.ReadTimeout("no answer within 30 s"), True),
        (requests.ConnectionError("nobody listens"), False),
    ],
    ids=lambda value: getattr(value, "status_code", None),
)
def test_a_request_to_a_busy_server_is_repeated(clock: Clock, refusal: Exception, *, passes: bool) -> None:
    """One that rebalances, or is too busy to answer, has not said no; any other refusal ends the wait."""
    began = clock.now

    def condition() -> bool:
        if clock.now == began:
            raise refusal
        return True

    if passes:
        assert wait_until(condition, 60, "it did not come")
    else:
        with pytest.raises(type(refusal)):
            wait_until(condition, 60, "it did not come")
