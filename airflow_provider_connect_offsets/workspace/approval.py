"""Who has asked for a change, and who has answered: the file ``approval.json`` of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_provider_connect_offsets.workspace.files import JsonFile


@dataclass(frozen=True, slots=True)
class Approval(JsonFile):
    """The answer to a run's question.

    Attributes:
        answer: The option that was chosen, ``Approve`` or ``Reject``.
        answered_by: Who has chosen it; None if nobody did in time, so that the default counts.
        answered_at: When.
        triggered_by: Who has triggered the run; None for one that no person has.
        digest: Digest of what was shown; empty if it has none.
    """

    answer: str
    answered_by: str | None
    answered_at: datetime
    triggered_by: str | None
    digest: str = ""

    @property
    def extra(self) -> dict[str, str | None]:
        """What an asset event says of it."""
        return {
            "answered_by": self.answered_by,
            "answered_at": self.answered_at.isoformat(),
            "triggered_by": self.triggered_by,
        }
