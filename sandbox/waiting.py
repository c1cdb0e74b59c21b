"""Wait for a condition, never for a fixed time: as long as something moves, and not much longer.

A busy machine makes everything slower, and nothing wrong. So a wait is told what moves on the way to its condition, and
its time begins anew whenever that has changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from sandbox.errors import NotInTime, RestRefusal

T = TypeVar("T")

#: What moves while something is waited for: by a name for it, how to look at it.
Progress = Mapping[str, Callable[[], object]]

_NOTHING: Progress = MappingProxyType({})
# However much moves, a wait ends after so many times the time that it has without any progress.
_AT_MOST = 10
_BETWEEN_LOOKS = 1.0  # seconds: what moves is looked at less often than the condition, as that costs as much
_SHOWN = 300  # characters of each thing that was seen


def wait_until(
    condition: Callable[[], T],
    timeout: float,
    message: str,
    *,
    progress: Progress = _NOTHING,
    interval: float = 0.05,
) -> T:
    """Ask ``condition`` again and again and return its first true answer.

    Raises :class:`NotInTime` once nothing in ``progress`` has changed for ``timeout`` seconds, or after ten times as
    long in all, and after asking at least once. The error has ``message``, what was last seen, and what moved last.
    """
    watched = _Watched(progress)
    while not (answer := _asked(condition)):
        watched.look(within=timeout)
        if watched.still >= timeout or watched.waited >= _AT_MOST * timeout:
            raise NotInTime(f"{message} ({watched})")
        time.sleep(interval)
    return answer


def wait_for(
    read: Callable[[], object],
    wanted: object,
    timeout: float,
    message: str,
    *,
    progress: Progress = _NOTHING,
    interval: float = 0.05,
) -> None:
    """Wait until ``read`` gives ``wanted``; any other answer than the one before is progress, too."""
    found: list[object] = [None]

    def is_there() -> bool:
        found[0] = read()
        return found[0] == wanted

    told = f"{message}: {_shown(wanted)} was waited for"
    wait_until(is_there, timeout, told, progress={"found": lambda: found[0], **progress}, interval=interval)


def _asked(condition: Callable[[], T]) -> T | None:
    try:
        return condition()
    except RestRefusal as refusal:
        if not refusal.is_for_now:
            raise
        return None


class _Watched:
    """What moves during a wait, when it was last seen to, and what it was."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._began = self._moved = time.monotonic()
        self._looked = float("-inf")
        self._seen: dict[str, object] = {}
        self._what = "nothing"

    @property
    def waited(self) -> float:
        """Seconds since the wait began."""
        return time.monotonic() - self._began

    @property
    def still(self) -> float:
        """Seconds since something has moved, or since the wait began."""
        return time.monotonic() - self._moved

    def look(self, *, within: float) -> None:
        """Look what has moved, once a second, and always before ``within`` seconds without progress are up."""
        now = time.monotonic()
        if not self._progress or (now - self._looked < _BETWEEN_LOOKS and self.still < within):
            return
        is_first, self._looked = not self._seen, now
        seen = {name: _seen(look) for name, look in self._progress.items()}
        changed = [name for name in seen if seen[name] != self._seen.get(name)]
        self._seen = seen
        if changed:
            self._moved = time.monotonic()
            self._what = "nothing" if is_first else ", ".join(changed)

    def __str__(self) -> str:
        told = f"waited {self.waited:.0f} s"
        if self._progress:
            told += f", {self.still:.0f} s without progress; what moved last: {self._what}; last seen: "
            told += "; ".join(f"{name} {_shown(value)}" for name, value in self._seen.items())
        return told


def _seen(look: Callable[[], object]) -> object:
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - whether the wait fails is the condition's to say
        return type(error).__name__  # and not its text, which may differ each time


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
