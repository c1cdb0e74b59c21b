"""Leases: which process changes a resource, and whether it is still alive. All times are seconds."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord

log = logging.getLogger(__name__)

HEARTBEAT = 4.0
DEAD_AFTER = 20.0
# A holder that could not renew its lease for this long does nothing more: others may soon take it for dead.
SILENT_AFTER = DEAD_AFTER - 2 * HEARTBEAT
_RETRY = 1.0
_WATCHED_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Owner(JsonRecord):
    """Who makes a change.

    Attributes:
        run: ``dag_id/run_id``.
        task: The task in it.
        host: The machine's name, for people.
        pid: The process; 0: the run, between two of its tasks.
        machine: The boot and container that process numbers belong to; empty if the system hides it.
        started: When the process was started, in ticks since the boot; empty if the system hides it.
    """

    run: str
    task: str
    host: str
    pid: int
    machine: str = ""
    started: str = ""

    @classmethod
    def here(cls, *, run: str, task: str) -> Owner:
        """Return this process as the owner."""
        pid = os.getpid()
        return cls(run, task, socket.gethostname(), pid, _machine(), _started(pid))

    @property
    def is_gone(self) -> bool:
        """True if the process is known to be dead: it ran on this machine (and container), and no longer does."""
        known = self.machine and self.started and self.machine == _machine()
        return bool(known) and _started(self.pid) != self.started


@dataclass(frozen=True, slots=True)
class Lease(JsonRecord):
    """Who may write a generation.

    Attributes:
        owner: The holder.
        heard_at: When the holder renewed it last, in seconds since 1970 by the holder's clock.
        until: When it ends, by the same clock.
        home: If the resource is one of several of a saga: URI of the generation whose lease counts; else empty.
    """

    owner: Owner
    heard_at: float
    until: float
    home: str = ""

    @property
    def is_over(self) -> bool:
        """True if it was ended, or its process is known to be dead."""
        return self.until <= self.heard_at or (self.owner.pid > 0 and self.owner.is_gone)

    def is_fresh(self, now: float) -> bool:
        """True if ``now``, which may be of another clock, lies between its begin and its end."""
        return self.heard_at - DEAD_AFTER <= now < self.until


def living(read: Callable[[], Lease | None], *, wall: Callable[[], float], clock: Clock) -> Lease | None:
    """Read a lease, and find out whether its owner is alive.

    Clocks of two machines may differ. A lease that seems to have ended, or to come from the future, is observed for
    ``DEAD_AFTER`` seconds of this machine's clock before its owner is taken for dead.

    Args:
        read: Reads the lease; None if there is none.
        wall: Returns the seconds since 1970.
        clock: Measures the time of observation.

    Returns:
        The lease as last read; None if there is none or its owner is dead.
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
    """Renews a lease every ``HEARTBEAT`` seconds while a block lasts, and tries again every second if that fails.

    Args:
        renew: Renews the lease.
        clock: Measures the time since the last renewal.
    """

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
        """Begin to renew."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """End, after a renewal that is under way."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = HEARTBEAT
        while not self._ended.wait(pause):
            renewed_at = self._clock.now()
            try:
                self._renew()
            except Exception:
                log.warning("A lease could not be renewed; trying again.", exc_info=True)
                pause = _RETRY
            else:
                self._heard_at = renewed_at
                pause = HEARTBEAT


def _machine() -> str:
    """Return this boot of this machine, and its container: process numbers are unique only within it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(pid: int) -> str:
    """Return when a process was started, in ticks since the boot; empty if it has ended or is unknown (proc(5))."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The process's name, in parentheses, may contain any character.
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in {"Z", "X"} else fields[18]
