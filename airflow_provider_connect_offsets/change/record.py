"""What a journal keeps of a change: how far it has come, who makes it, and what has to be put back."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from airflow_provider_connect_offsets.change.beside import Beside
from airflow_provider_connect_offsets.change.lease import Owner
from airflow_provider_connect_offsets.change.log_positions import LogPosition
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_rest
from airflow_provider_connect_offsets.stores.protocols import State


def moment(at: datetime | None) -> str:
    """When offsets were observed, as records keep it; empty where a plan of an older version does not tell."""
    return "" if at is None else at.isoformat()


class Phase(StrEnum):
    """How far a change has come. What follows STOPPING may have stopped the connector, ALTERING have written to it.

    EMPTYING is a reset's alone: its offsets are proved, and its flow's own topics are being emptied. RETURNING follows
    RESTORING once the prior offsets are proved: the prior state may have been asked for.
    """

    CLAIMED = "claimed"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ALTERING = "altering"
    EMPTYING = "emptying"
    PROVED = "proved"
    RESTORING = "restoring"
    RETURNING = "returning"
    APPLIED = "applied"
    RESTORED = "restored"
    ABANDONED = "abandoned"

    @property
    def is_final(self) -> bool:
        """Nothing is left to be done by anyone."""
        return self in {Phase.APPLIED, Phase.RESTORED, Phase.ABANDONED}


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a change.

    ``prior_offsets`` are all offsets at the stop; ``changes`` what is written over them. ``beside``: what a reset of
    its flow changes with them. ``positions``: the same changes as positions in logs, where they are some; ``deleted``
    says which records at these were deleted around the resume, and is empty where none were. ``observed_at``: when the
    offsets were observed that the plan with this ``digest`` was made from; a run that is cleared makes it again.
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
    observed_at: str = ""

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
            "observed_at": self.observed_at,
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
            # Journals of before know none of these.
            positions=tuple(map(LogPosition.from_json, fields.get("positions", ()))),
            deleted=fields.get("deleted", ""),
            observed_at=fields.get("observed_at", ""),
        )
