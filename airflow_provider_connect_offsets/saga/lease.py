"""Leases: which process changes a resource, and whether it is still alive. All durations are seconds.

No two machines' clocks are compared. The store that keeps a lease says by its own clock how old the lease is. If it
can't, or before a holder is taken for dead, the lease is observed for as long as a living holder takes to renew it.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.saga.stage import JsonMap
from airflow_provider_connect_offsets.workspace.files import create_bytes, locate

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
        host: The machine's name, for messages.
        pid: The process; 0: the run, between two of its tasks.
        machine: The boot and container that process numbers belong to; empty if the system hides it.
        started: When the process was started, in ticks since the boot; empty if the system hides it.
        triggered_by: Who has triggered the run; empty if no person is known.
        approved_by: Who has approved the change; empty if nobody was asked.
    """

    run: str
    task: str
    host: str
    pid: int
    machine: str = ""
    started: str = ""
    triggered_by: str = ""
    approved_by: str = ""

    @classmethod
    def here(cls, *, run: str, task: str, triggered_by: str = "", approved_by: str = "") -> Owner:
        """Return this process as the owner."""
        pid, host = os.getpid(), socket.gethostname()
        return cls(run, task, host, pid, _machine(), _start_time(pid), triggered_by, approved_by)

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to be dead: it ran on this machine (and container), and no longer does.

        A process of another user may be hidden (``hidepid`` of proc(5)): what can't be seen is not known to be dead.
        """
        if not (self.machine and self.started and self.machine == _machine()):
            return False
        started = _start_time(self.pid)
        return started != self.started if started else not _exists(self.pid)


@dataclass(frozen=True, slots=True)
class Lease(JsonRecord):
    """Who may write a generation.

    Attributes:
        owner: The holder.
        heard_at: When the holder renewed it last, in seconds since 1970 by the holder's clock; for people, and so that
            each renewal differs from the one before.
        seconds: How long it lasts after a renewal; 0: it was ended.
        home: If the resource is one of several of a saga: URI of the generation whose lease counts; else empty.
    """

    owner: Owner
    heard_at: float
    seconds: float
    home: str = ""

    @classmethod
    def from_json(cls, value: JsonMap) -> Self:
        """Read what ``as_json`` wrote, or version 0.1, which kept the end in place of the duration."""
        kept = dict(value)
        if "until" in kept:
            kept["seconds"] = kept.pop("until") - kept["heard_at"]
        # Not super(): with slots, the class in its scope is not this one.
        return super(Lease, cls).from_json(kept)

    @property
    def is_over(self) -> bool:
        """Whether it was ended, or its process is known to be dead."""
        return self.seconds <= 0 or (self.owner.pid > 0 and self.owner.is_gone)


def read_living(read: Callable[[], Lease | None], *, age: Callable[[], float | None], clock: Clock) -> Lease | None:
    """Read a lease, and find out whether its owner is alive.

    A lease that is older than it lasts, or whose age is unknown, is observed for ``DEAD_AFTER`` seconds of this
    machine's clock before its owner is taken for dead.

    Args:
        read: Reads the lease; returns None if there is no lease.
        age: Returns the seconds since it was renewed, by one clock; None: unknown.
        clock: Measures the time of observation.

    Returns:
        The lease as last read; None without a lease, or if its owner is dead.
    """
    lease = read()
    if lease is None or lease.is_over:
        return None
    seconds = age()
    if seconds is not None and seconds < lease.seconds:
        return lease
    if seconds is None and not lease.owner.pid:
        return lease  # nobody renews it between two tasks, so nothing could be observed
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
        renew: Renews the lease; False: it is another run's, and is never renewed again.
        clock: Measures the time since the last renewal.

    Attributes:
        is_lost: True once the lease is another run's.
    """

    def __init__(self, renew: Callable[[], bool], clock: Clock) -> None:
        self.is_lost = False
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
        """Begin to renew the lease."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop renewing, after a renewal that is under way."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = HEARTBEAT
        while not self._ended.wait(pause):
            renewed_at = self._clock.now()
            try:
                self.is_lost = not self._renew()
            except Exception:
                log.warning("A lease could not be renewed. Trying again.", exc_info=True)
                pause = _RETRY
            else:
                if self.is_lost:
                    return
                self._heard_at = renewed_at
                pause = HEARTBEAT


def age(uri: str) -> float | None:
    """Return the seconds since a file was written, by the one clock of the store that keeps it.

    Another file is written to its folder for that, and both times are the store's. None: the store does not say when
    files were written, or one of the two can't be written or read.
    """
    file_system, path = locate(uri)
    now = f"{path}.{uuid.uuid4().hex}.now"
    try:
        file_system.pipe_file(now, b"now")
        try:
            file_system.invalidate_cache()
            seconds: float = (file_system.modified(now) - file_system.modified(path)).total_seconds()
        finally:
            file_system.rm_file(now)
    except Exception:  # each file system has exceptions of its own
        log.warning("Could not find out when %s was written.", uri, exc_info=True)
        return None
    return seconds


@cache
def require_single_creation(root: str) -> None:
    """Create a file under ``root`` twice, which must fail; once in each process. The file stays.

    Some stores that speak S3's protocol ignore ``If-None-Match``, and two runs would have one lease.

    Raises:
        DatasetError: The second creation succeeded as well.
        WorkspaceUnwritable: The file can't be written.
    """
    probe = f"{root.rstrip('/')}/created-once"
    if create_bytes(probe, b"1") and create_bytes(probe, b"2"):
        raise DatasetError(
            f"Nothing was done: {root} can't keep leases, because its store lets a file that exists be created again. "
            "The second creation must fail (If-None-Match of S3). Otherwise, two runs might change the same connector "
            "at once. Set [connect_offsets] workspace to a store that creates a file only once."
        )


def _machine() -> str:
    """Return this boot of this machine, and its container: process numbers are unique only within it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    """Return when a process was started, in ticks since the boot; empty if it has ended or is unknown (proc(5))."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    # The process's name, in parentheses, may contain any character.
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in {"Z", "X"} else fields[18]


def _exists(pid: int) -> bool:
    """Whether a process without a known start may be alive: signals tell hidden from missing processes (kill(2))."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return False  # of this user, so not hidden: without a start it has ended, and waits for its parent
