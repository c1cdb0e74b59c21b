"""Time as a value that tests can replace, and the one way to repeat a call until a timeout."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import tenacity
from tenacity.retry import retry_base
from tenacity.wait import wait_base

Reading = TypeVar("Reading")

# Seconds between two log lines on progress.
_REPORTED_EVERY = 10.0
# Waiting too long is downtime, so the wait is short at first and never longer than a tenth of a second.
_SHORT = tenacity.wait_exponential(multiplier=0.02, max=0.1)


@dataclass(frozen=True, slots=True)
class Clock:
    """Time that only goes forward.

    Attributes:
        now: Returns seconds since an arbitrary moment.
        sleep: Waits for a number of seconds.
    """

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


SYSTEM_CLOCK = Clock()


def make_attempts(
    retry: retry_base,
    *,
    timeout: float,
    clock: Clock = SYSTEM_CLOCK,
    wait: wait_base = _SHORT,
    before_sleep: Callable[[tenacity.RetryCallState], None] | None = None,
) -> tenacity.Retrying:
    """Return attempts that end as their last one did: with its result, or with its error.

    Args:
        retry: Which result or error is worth another attempt (``tenacity.retry_if_…``).
        timeout: Seconds from now after which no attempt begins.
        clock: Measures the timeout and waits between attempts.
        wait: How long to wait between attempts; by default 0.02 to 0.1 s.
        before_sleep: Called before each wait, for example to log the reason.
    """
    deadline = clock.now() + timeout
    return tenacity.Retrying(
        retry=retry,
        wait=wait,
        stop=lambda state: clock.now() + state.upcoming_sleep > deadline,
        sleep=clock.sleep,
        before_sleep=before_sleep,
        retry_error_callback=_last_outcome,
    )


def poll(
    read: Callable[[], Reading], until: Callable[[Reading], bool], *, timeout: float, clock: Clock = SYSTEM_CLOCK
) -> Reading:
    """Repeat ``read`` until ``until`` accepts the result or ``timeout`` seconds have passed; return the last."""
    return make_attempts(tenacity.retry_if_result(lambda reading: not until(reading)), timeout=timeout, clock=clock)(
        read
    )


def at_intervals(clock: Clock = SYSTEM_CLOCK, *, seconds: float = _REPORTED_EVERY) -> Callable[[], bool]:
    """Return a function that returns True once in each interval, for progress in a log; not in the first interval."""
    last = clock.now()

    def due() -> bool:
        nonlocal last
        is_due = clock.now() - last >= seconds
        last = clock.now() if is_due else last
        return is_due

    return due


def _last_outcome(state: tenacity.RetryCallState) -> Any:
    return state.outcome.result() if state.outcome else None
