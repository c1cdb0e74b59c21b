"""Wait for a condition as long as there is progress.

On a busy machine everything is slower and nothing is wrong. So a wait observes what changes on the way to its
condition, and its timeout starts again after each change.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

import requests

from sandbox.errors import NotInTime, RestRefusal

T = TypeVar("T")

#: What changes during a wait: by its name, a function that returns its current value.
Progress = Mapping[str, Callable[[], object]]

_NOTHING: Progress = MappingProxyType({})
# A wait with progress ends after so many timeouts.
_AT_MOST = 10
_INTERVAL = 1.0  # seconds: progress is observed less often than the condition, as it costs as much
_SHOWN = 300  # characters of each observed value


def wait_until(
    condition: Callable[[], T],
    timeout: float,
    message: str,
    *,
    progress: Progress = _NOTHING,
    interval: float = 0.05,
) -> T:
    """Poll ``condition`` and return its first true answer.

    Raises :class:`NotInTime` once nothing in ``progress`` has changed for ``timeout`` seconds, or after ten times as
    long in all, and after polling at least once. The error has ``message``, the last values and the last change.
    """
    watched = _Watched(progress)
    while not (answer := _poll(condition)):
        watched.observe(within=timeout)
        if watched.still >= timeout or watched.waited_seconds >= _AT_MOST * timeout:
            raise NotInTime(f"{message} ({watched})")
        time.sleep(interval)
    return answer


def wait_for(
    read: Callable[[], object],
    expected: object,
    timeout: float,
    message: str,
    *,
    progress: Progress = _NOTHING,
    interval: float = 0.05,
) -> None:
    """Wait until ``read`` returns ``expected``; a new answer is progress, too."""
    observed: list[object] = [None]

    def is_there() -> bool:
        observed[0] = read()
        return observed[0] == expected

    late = f"{message}: {_shorten(expected)} was expected"
    wait_until(is_there, timeout, late, progress={"observed": lambda: observed[0], **progress}, interval=interval)


def _poll(condition: Callable[[], T]) -> T | None:
    try:
        return condition()
    except requests.Timeout:  # a busy server is asked again, like one that says so
        return None
    except RestRefusal as refusal:
        if not refusal.is_for_now:
            raise
        return None


class _Watched:
    """The values that a wait observes, and when they last changed."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._began = self._moved = time.monotonic()
        self._observed_at = float("-inf")
        self._values: dict[str, object] = {}
        self._what = "nothing"

    @property
    def waited_seconds(self) -> float:
        """Seconds since the wait began."""
        return time.monotonic() - self._began

    @property
    def still(self) -> float:
        """Seconds since the last change, or since the wait began."""
        return time.monotonic() - self._moved

    def observe(self, *, within: float) -> None:
        """Observe changes once a second, and always before ``within`` seconds without progress are over."""
        now = time.monotonic()
        if not self._progress or (now - self._observed_at < _INTERVAL and self.still < within):
            return
        is_first, self._observed_at = not self._values, now
        observed = {name: _observe(read) for name, read in self._progress.items()}
        changed = [name for name in observed if observed[name] != self._values.get(name)]
        self._values = observed
        if changed:
            self._moved = time.monotonic()
            self._what = "nothing" if is_first else ", ".join(changed)

    def __str__(self) -> str:
        text = f"waited {self.waited_seconds:.0f} s"
        if self._progress:
            text += f", {self.still:.0f} s without progress; what changed last: {self._what}; last observed: "
            text += "; ".join(f"{name} {_shorten(value)}" for name, value in self._values.items())
        return text


def _observe(read: Callable[[], object]) -> object:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - whether the wait fails is the condition's to say
        return type(error).__name__  # and not its text, which may differ each time


def _shorten(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
