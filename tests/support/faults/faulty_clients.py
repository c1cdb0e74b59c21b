"""Clients that count the calls of an operation and break one of them.

A clean run counts the calls; each of them is then broken, before it reaches the real system and, if that makes a
difference, after it did. Looks that follow each other count as one, as their number is a matter of how fast the machine
is.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets import disk
from airflow_provider_connect_offsets.exceptions import OutcomeUnknown, Unreachable
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga import Registry, settle
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace import files

#: Calls that change something. If the answer is lost, nobody knows whether they did; any other call simply failed.
CHANGES = frozenset(
    {
        *(
            "stop",
            "pause",
            "resume",
            "write_offsets",
            "reset_offsets",
            "write_all",
            "create",
            "update_config",
            "restart",
        ),  # of Connect and its offsets
        *("empty", "restore_policy", "remove_keys", "delete_topic"),  # of topics
        *("commit", "delete"),  # of consumer groups; "delete" of connectors, too
        *("annotate", "patch", "create_config_map", "write_texts", "delete_config_map"),  # of Kubernetes
    }
)
_LATE = 1.5
Value = TypeVar("Value")


class Fault(StrEnum):
    """How a call breaks."""

    KILLED = "SIGKILL"
    INTERRUPTED = "on_kill"
    LOST = "request or answer lost"
    LATE = "answer lost, and the write comes late"
    JOURNAL = "workspace unwritable from here on"
    THEIRS = "resumed by someone else"
    ZOMBIE = "frozen until another run has taken over"


class Outage(StrEnum):
    """The system that fails at a call and comes back."""

    WORKER_KILLED = "worker killed and restarted"
    WORKER_LEFT = "worker stopped in order and restarted"
    ROLLING = "rolling restart of two workers"
    BROKER_KILLED = "broker killed and restarted"


class Killed(BaseException):
    """A simulated SIGKILL: nothing is done after it, whoever catches it."""


@dataclass
class Faults:
    """The fault, and the number of the call before or after which it happens; without a fault, calls are only counted.

    world: lets happen there what is no fault of this process, as an outage is.
    """

    fault: Fault | Outage | None = None
    at: int = -1
    after: bool = False
    world: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)
    happened: bool = False
    dead: bool = False
    unwritable: bool = False
    registry: Registry | None = None
    _leases: set[Path] = field(default_factory=set)
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def clients(self, clients: Clients) -> Clients:
        """The same clients, with the fault."""
        self.registry = self.registry or make_registry(clients)
        both = clients.clusters
        wrapped = both and replace(both, source=self.around(both.source), target=self.around(both.target))
        behind = {name: self.around(getattr(clients, name)) for name in ("offsets", "control", "logs", "groups")}
        return replace(clients, clusters=wrapped, **behind)

    def around(self, client: Value) -> Value:
        """A client, and those that it has, whose calls are counted, and one of them broken."""
        if client is None:
            return client
        broken: Any = _Faulty(client, self)
        return broken  # type: ignore[no-any-return]

    @contextmanager
    def files(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Refuse writes of files after a simulated kill, and all writes if the workspace is unwritable."""
        publish = disk.replace

        def write(path: Path, content: bytes, **how: Any) -> None:
            if path.name.endswith(".lease.json"):  # which runs out, and nobody waits for that in here
                self._leases.add(path)
            else:
                self.refuse_dead()
                if self.unwritable:
                    raise OSError(30, "Read-only file system", str(path))
            publish(path, content, **how)

        with monkeypatch.context() as patched:
            patched.setattr(disk, "replace", write)
            yield

    @contextmanager
    def naming(self, operation: str, successor: str) -> Iterator[None]:
        """Add the cell, and the calls made so far, to any error."""
        try:
            yield
        except BaseException as error:
            when = "after" if self.after else "before"
            error.add_note(f"{operation}, {self.fault} {when} call {self.at} ({successor}); the calls: {self.calls}")
            raise

    def mend(self) -> None:
        """End the fault, after requests that arrive late have arrived."""
        self.dead = self.unwritable = False
        with self._changing:
            return

    def call(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call, with what happens at it; a change waits for one that comes late, as it does in a worker."""
        self.refuse_dead()
        # However often something is polled until it is as it should be, that is one moment.
        again = name not in CHANGES and self.calls[-1:] == [name]
        if not again:
            self.calls.append(name)
        here = not again and len(self.calls) - 1 == self.at and self.fault is not None
        if here and self.fault is Fault.LATE:
            self._come_late(name, call)
        if here and not self.after:
            self._happen(name)
        with self._changing if name in CHANGES else nullcontext():
            answer = call()
        if here and self.after:
            self._happen(name)
        return answer

    def refuse_dead(self) -> None:
        """Raise if the simulated process is dead."""
        if self.dead:
            raise Killed

    def _come_late(self, name: str, call: Callable[[], Any]) -> None:
        if name not in CHANGES or self.after:  # the answer to a read does not come late: it is lost
            return
        self.happened = True
        self._changing.acquire()

        def come() -> None:
            try:
                call()
            finally:
                self._changing.release()

        threading.Timer(_LATE, come).start()
        raise OutcomeUnknown(f"on purpose: {name} was not answered, and comes late.")

    def _happen(self, name: str) -> None:
        if self.fault is Fault.LATE:
            return
        self.happened = True
        if self.fault is Fault.KILLED:
            self.dead = True
            raise Killed
        if self.fault is Fault.INTERRUPTED:
            raise SystemExit(143)
        if self.fault is Fault.JOURNAL:
            self.unwritable = True
        elif self.fault is Fault.ZOMBIE:
            Context().run(self._be_taken_over)  # another process, which this one's lease does not fence
        elif self.fault is Fault.LOST:
            raise (OutcomeUnknown if name in CHANGES else Unreachable)(f"on purpose: the answer to {name} was lost.")
        else:
            self.world()

    def _be_taken_over(self) -> None:
        """Let another run find the lease expired, settle what is left, and end, before this one goes on."""
        assert self.registry is not None
        stranger = Owner.here(run=f"test/{uuid4().hex}", task="apply")
        homes = {lease.parent for lease in self._leases}
        for home in homes:
            newest = max(home.glob("*.lease.json"))
            files.write_json(newest.as_uri(), {**json.loads(newest.read_text()), "seconds": 0})
        for home in homes:
            journal = Journal(home.parent.parent.as_uri(), cluster="", resource="").at(home.name, home.as_uri())
            if settle(journal, stranger, self.registry) is None:
                with journal.claim(stranger):
                    continue


class _Faulty:
    """A client whose calls are counted, and one of them broken."""

    def __init__(self, client: Any, faults: Faults) -> None:
        self._client = client
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        if hasattr(value, "__enter__"):
            return self._faults.around(value)
        if not callable(value):
            return value
        return lambda *arguments, **named: self._faults.call(name, lambda: value(*arguments, **named))
