"""Wait for a condition, never for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from sandbox.errors import NotInTime

T = TypeVar("T")


def wait_until(condition: Callable[[], T], timeout: float, message: str, *, interval: float = 0.05) -> T:
    """Ask ``condition`` again and again and return its first true answer.

    Raises :class:`NotInTime` with ``message`` once ``timeout`` seconds have passed, after asking at least once.
    """
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() >= deadline:
            raise NotInTime(f"{message} (waited {timeout:g} s)")
        time.sleep(interval)
    return answer
