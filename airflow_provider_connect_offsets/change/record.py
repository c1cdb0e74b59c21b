"""What a journal keeps of a change: how far it has come, who makes it, and what has to be put back."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from airflow_provider_connect_offsets.change.beside import Beside
from airflow_provider_connect_offsets.change.log_positions import LogPosition
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_rest
from airflow_provider_connect_offsets.stores.protocols import State


class Phase(StrEnum):
    """How far a change has come. What follows STOPPING may have stopped the connector, ALTERING have written to it.

    EMPTYING is a reset's alone: its offsets are proved, and its flow's own topics are being emptied.
    """

    CLAIMED = "claimed"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ALTERING = "altering"
    EMPTYING = "emptying"
    PROVED = "proved"
    RESTORING = "restoring"
    APPLIED = "applied"
    RESTORED = "restored"
    ABANDONED = "abandoned"

    @property
    def is_final(self) -> bool:
        """Nothing is left to be done by anyone."""
        return self in {Phase.APPLIED, Phase.RESTORED, Phase.ABANDONED}


@dataclass(frozen=True, slots=True)
class Owner:
    """Who makes a change: the run (``dag_id/run_id``), the task in it, and the process."""

    run: str
    task: str
    host: str
    pid: int

    @classmethod
    def here(cls, *, run: str, task: str) -> Owner:
        """This process."""
        return cls(run, task, socket.gethostname(), os.getpid())

    @property
    def is_gone(self) -> bool:
        """Whether the process is known to be dead: it ran on this machine, and no longer does."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:  # another user's, so it is alive
            return False
        return False


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a change.

    ``prior_offsets`` are all offsets at the stop; ``changes`` what is written over them. ``beside``: what a reset of
    its flow changes with them. ``positions``: the same changes as positions in logs, where they are some; ``deleted``
    says which records at these were deleted around the resume, and is empty where none were.
    """

    connector: str
    owner: Owner
    phase: Phase = Phase.CLAIMED
    digest: str | None = None
    prior_state: State | None = None
    prior_tasks: int | None = None
    prior_offsets: Offsets | None = None
    changes: Offsets | None = None
    beside: Beside | None = None
    positions: tuple[LogPosition, ...] = ()
    deleted: str = ""

    def expected(self) -> Offsets | None:
        """What is to stand after the change; None before it is known."""
        if self.prior_offsets is None or self.changes is None:
            return None
        return self.prior_offsets.updated(self.changes)

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return {
            "connector": self.connector,
            "owner": asdict(self.owner),
            "phase": self.phase.value,
            "digest": self.digest,
            "prior_state": None if self.prior_state is None else self.prior_state.value,
            "prior_tasks": self.prior_tasks,
            "prior_offsets": None if self.prior_offsets is None else self.prior_offsets.rest_body(),
            "changes": None if self.changes is None else self.changes.rest_body(),
            "beside": None if self.beside is None else self.beside.as_json(),
            "positions": [one.as_json() for one in self.positions],
            "deleted": self.deleted,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Record:
        """Read what :meth:`as_json` wrote."""
        prior, changes, beside = fields["prior_offsets"], fields["changes"], fields.get("beside")
        return cls(
            connector=fields["connector"],
            owner=Owner(**fields["owner"]),
            phase=Phase(fields["phase"]),
            digest=fields["digest"],
            prior_state=None if fields["prior_state"] is None else State(fields["prior_state"]),
            prior_tasks=fields["prior_tasks"],
            prior_offsets=None if prior is None else parse_rest(prior),
            changes=None if changes is None else parse_rest(changes),
            beside=None if beside is None else Beside.from_json(beside),
            # Journals of before know neither.
            positions=tuple(map(LogPosition.from_json, fields.get("positions", ()))),
            deleted=fields.get("deleted", ""),
        )


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a generation; ``heard_at`` and ``until`` in seconds since 1970."""

    owner: Owner
    heard_at: float
    until: float

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Lease:
        """Read a lease."""
        return cls(Owner(**fields["owner"]), float(fields["heard_at"]), float(fields["until"]))

    def is_dead(self, now: float) -> bool:
        """Whether nobody will go on with it."""
        return now >= self.until or (self.owner.pid > 0 and self.owner.is_gone)
