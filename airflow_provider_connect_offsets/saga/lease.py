"""Leases: which process makes a change, and whether it is still alive."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from airflow_provider_connect_offsets.clock import Clock

log = logging.getLogger(__name__)

HEARTBEAT = 4.0
DEAD_AFTER = 20.0
# A holder that could not renew its lease for so long does nothing more: others may soon take it for dead.
SILENT_AFTER = DEAD_AFTER - 2 * HEARTBEAT
_RETRY = 1.0
_WATCHED_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Owner:
    """Who makes a change: the run (``dag_id/run_id``), the task in it, and the process.

    ``host`` is for people. ``machine`` and ``started`` tell processes apart that have the same number: on other
    machines, in other containers, and after it was given to another one. They are empty where the system hides them.
    """

    run: str
    task: str
    host: str
    pid: int
    machine: str = ""
    started: str = ""

    @classmethod
    def here(cls, *, run: str, task: str) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(run, task, socket.gethostname(), pid, _machine(), _started(pid))

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to be dead: it ran on this very machine (and container), and no longer does."""
        known = self.machine and self.started and self.machine == _machine()
        return bool(known) and _started(self.pid) != self.started


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a generation; ``heard_at`` and ``until`` in seconds since 1970, by the holder's clock.

    ``home``: of a resource that is held together with another one, the URI of that one's generation (without the names
    of its files), whose lease counts; else empty.
    """

    owner: Owner
    heard_at: float
    until: float
    home: str = ""

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Lease:
        """Read a lease."""
        times = float(fields["heard_at"]), float(fields["until"])
        return cls(Owner(**fields["owner"]), *times, home=str(fields.get("home", "")))

    @property
    def is_over(self) -> bool:
        """Whether nobody will go on with it, as far as it tells: it was given up, or its process is gone."""
        return self.until <= self.heard_at or (self.owner.pid > 0 and self.owner.is_gone)

    def is_fresh(self, now: float) -> bool:
        """Whether ``now``, which another clock may tell, lies in its time."""
        return self.heard_at - DEAD_AFTER <= now < self.until


def living(read: Callable[[], Lease | None], *, wall: Callable[[], float], clock: Clock) -> Lease | None:
    """The lease that ``read`` gives, where its owner is alive as far as can be known; None where nobody is.

    Two machines' clocks need not agree: one that seems to have run out, or to come from the future, is watched by this
    machine's clock before anybody is taken for dead. ``wall``: seconds since 1970.
    """
    lease = read()
    if lease is None or lease.is_over:
        return None
    if lease.is_fresh(wall()):
        return lease
    silent_since = clock.now()
    while clock.now() < silent_since + DEAD_AFTER:
        clock.sleep(_WATCHED_EVERY)
        now = read()
        if now is None or now.is_over:
            return None
        if now != lease:
            return now
    return None


class Heartbeat:
    """Renews a lease while a block lasts; one that can't be renewed is tried again every second."""

    def __init__(self, renew: Callable[[], None], clock: Clock) -> None:
        self._renew = renew
        self._clock = clock
        self._heard_at = clock.now()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def silent_for(self) -> float:
        """Seconds since the lease was renewed last."""
        return self._clock.now() - self._heard_at

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End, and wait for a renewal that is under way."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = HEARTBEAT
        while not self._ended.wait(pause):
            asked_at = self._clock.now()
            try:
                self._renew()
            except Exception:
                log.warning("A lease could not be renewed; trying again.", exc_info=True)
                pause = _RETRY
            else:
                self._heard_at = asked_at
                pause = HEARTBEAT


def _machine() -> str:
    """This boot of this machine, and the container in it: process numbers mean something only in there."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process was started, in ticks since the boot; empty where there is none, or it has ended (proc(5))."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # Its name, in parentheses, may hold anything.
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in {"Z", "X"} else fields[18]
