"""One lock per cluster: passes of one cluster follow each other, those of different clusters run at the same time."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sandbox import SandboxError
from tests.support.strimzi.settings import Settings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    do: Callable[[], None]
    until: float = float("inf")


class Locks:
    """The locks of clusters, and the passes that wait for them, in their order (Strimzi's ``withLock``)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guard = threading.Lock()
        #: Of each cluster whose lock is taken.
        self._waiting: dict[str, deque[_Waiting]] = {}

    def run(self, cluster: str, do: Callable[[], None]) -> None:
        """Do a pass as soon as the lock of its cluster is free; it is given up if that takes too long."""
        self._add(cluster, _Waiting(do, until=time.monotonic() + self._settings.lock_timeout))

    def run_in_any_case(self, cluster: str, do: Callable[[], None]) -> None:
        """Do a pass as soon as the lock of its cluster is free, however long that takes."""
        self._add(cluster, _Waiting(do))

    def is_awaited(self, cluster: str) -> bool:
        """Whether a pass waits for the lock of a cluster."""
        with self._guard:
            return bool(self._waiting.get(cluster))

    def settle(self, timeout: float) -> None:
        """Return when all passes are done, or given up, that wait now."""
        with self._guard:
            clusters = list(self._waiting)
        done = [threading.Event() for _ in clusters]
        for cluster, event in zip(clusters, done, strict=True):
            self.run_in_any_case(cluster, event.set)
        until = time.monotonic() + timeout
        for cluster, event in zip(clusters, done, strict=True):
            if not event.wait(max(0.0, until - time.monotonic())):
                raise SandboxError(f"The operator did not end its passes of {cluster} within {timeout:.0f} s.")

    def _add(self, cluster: str, waiting: _Waiting) -> None:
        with self._guard:
            if cluster in self._waiting:
                self._waiting[cluster].append(waiting)
                return
            self._waiting[cluster] = deque()
        threading.Thread(target=self._hold, args=(cluster, waiting.do), name=f"strimzi {cluster}", daemon=True).start()

    def _hold(self, cluster: str, do: Callable[[], None]) -> None:
        """Hold the lock of a cluster for a pass, and as long as others wait for it."""
        do()
        while True:
            with self._guard:
                if not self._waiting[cluster]:
                    del self._waiting[cluster]
                    return
                waiting = self._waiting[cluster].popleft()
            if time.monotonic() <= waiting.until:
                waiting.do()
            else:
                _log.info("a pass of %s is given up: its lock was not free in time", cluster)
