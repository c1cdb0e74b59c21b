"""Doors through which a fault happens at one call that an operation makes, whichever call that is.

A clean run counts the calls; each of them is then broken, before it reaches the real system and after it did.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import pytest

from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.exceptions import OutcomeUnknown, Unreachable
from airflow_provider_connect_offsets.workspace import files

#: Calls that change something: of them an answer that is lost tells nothing; any other simply failed.
_CHANGES = frozenset({"stop", "pause", "resume", "write_offsets", "reset_offsets", "empty", "put_back"})


class Fault(StrEnum):
    """What happens at a call."""

    KILLED = "SIGKILL"
    INTERRUPTED = "on_kill"
    LOST = "request or answer lost"
    JOURNAL = "workspace unwritable from here on"


class Killed(BaseException):
    """SIGKILL, as far as this process can play it: nothing is done any more, whoever catches it."""


@dataclass
class Faults:
    """Where the fault is put: at the call of that number, before it or after it; none: calls are only counted."""

    fault: Fault | None = None
    at: int = -1
    after: bool = False
    calls: list[str] = field(default_factory=list)
    happened: bool = False
    dead: bool = False
    unwritable: bool = False

    def doors(self, doors: Doors) -> Doors:
        """The same doors, with the fault behind them."""
        wrapped = {side: _Faulty(cluster, self) for side, cluster in doors.clusters.items()}
        logs, groups = (None if one is None else _Faulty(one, self) for one in (doors.logs, doors.groups))
        return replace(
            doors,
            offsets=_Faulty(doors.offsets, self),
            control=_Faulty(doors.control, self),
            logs=logs,
            groups=groups,
            clusters=wrapped,
        )

    @contextmanager
    def journals(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """Let the dead write no journals, and nobody where the workspace is unwritable."""
        write = files.write_json

        def write_json(uri: str, value: Any) -> None:
            if uri.endswith(".record.json"):  # a lease runs out, which nobody waits for in here
                self.refuse_dead()
                if self.unwritable:
                    raise OSError(30, "Read-only file system")
            write(uri, value)

        with monkeypatch.context() as patched:
            patched.setattr(files, "write_json", write_json)
            yield

    def mend(self) -> None:
        """Let whoever comes next do as they like."""
        self.dead = self.unwritable = False

    def call(self, name: str, call: Callable[[], Any]) -> Any:
        """Make a call, with what happens at it."""
        self.refuse_dead()
        number = len(self.calls)
        self.calls.append(name)
        here = number == self.at and self.fault is not None
        if here and not self.after:
            self._happen(name)
        answer = call()
        if here and self.after:
            self._happen(name)
        return answer

    def refuse_dead(self) -> None:
        if self.dead:
            raise Killed

    def _happen(self, name: str) -> None:
        self.happened = True
        if self.fault is Fault.KILLED:
            self.dead = True
            raise Killed
        if self.fault is Fault.INTERRUPTED:
            raise SystemExit(143)
        if self.fault is Fault.JOURNAL:
            self.unwritable = True
            return
        raise (OutcomeUnknown if name in _CHANGES else Unreachable)(f"on purpose: the answer to {name} was lost.")


class _Faulty:
    """A client whose calls are counted, and one of them broken."""

    def __init__(self, client: Any, faults: Faults) -> None:
        self._client = client
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._client, name)
        if not callable(value):
            return value
        return lambda *arguments, **named: self._faults.call(name, lambda: value(*arguments, **named))
