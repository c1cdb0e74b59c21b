"""Waiting ends when the condition is true, or says what was waited for."""

from __future__ import annotations

import pytest

from sandbox.errors import NotInTime
from sandbox.waiting import wait_until


def test_the_first_true_answer_is_returned() -> None:
    """Falsy answers mean "not yet"."""
    answers = iter([None, 0, "", "there", "later"])

    assert wait_until(lambda: next(answers), 10, "it did not come", interval=0) == "there"


def test_a_late_condition_is_named() -> None:
    """The message says what was waited for, and how long; it is asked once even without any time."""
    asked: list[int] = []
    with pytest.raises(NotInTime, match=r"the broker did not come \(waited 0 s\)"):
        wait_until(lambda: asked.append(1), 0, "the broker did not come")

    assert asked == [1]
