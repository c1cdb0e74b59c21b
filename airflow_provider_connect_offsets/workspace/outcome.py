"""The outcome of a change (``outcome.json``) and the approver's answer. Later tasks and reports read both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.workspace.files import JsonFile


class Result(StrEnum):
    """How a change ended."""

    #: Applied and read back.
    APPLIED = "applied"
    #: There was nothing to change.
    UNCHANGED = "unchanged"
    #: Not applied; the prior offsets were read back and the prior state was restored.
    RESTORED = "restored"
    #: Refused before anything was written.
    REFUSED = "refused"
    #: Neither the planned nor the prior offsets could be verified; the connector stays STOPPED.
    LEFT_STOPPED = "left_stopped"
    #: Applied and read back, but records at its positions were deleted as the connector resumed.
    RECORDS_DELETED = "records_deleted"
    #: Someone else resumed the connector while the change was under way.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Approval(JsonFile):
    """The approver's answer.

    Attributes:
        answer: The chosen option, ``Approve`` or ``Reject``.
        answered_by: Who chose it; None if nobody did in time, so that the default counts.
        answered_at: When it was chosen.
        triggered_by: Who triggered the run; None if no person did.
        digest: Digest of what was shown to the approver; empty if it has none.
    """

    answer: str
    answered_by: str | None
    answered_at: datetime
    triggered_by: str | None
    digest: str = ""

    @property
    def extra(self) -> dict[str, str | None]:
        """The answer's fields in the extra of an asset event."""
        return {
            "answered_by": self.answered_by,
            "answered_at": self.answered_at.isoformat(),
            "triggered_by": self.triggered_by,
        }


@dataclass(frozen=True, slots=True)
class FleetUndo(JsonFile):
    """How a person undoes all applied changes of a fleet at once.

    Attributes:
        command: The command that triggers the change back.
        applied: Number of these changes.
    """

    command: str
    applied: int


@dataclass(frozen=True, slots=True)
class MovedOffset:
    """One partition of a change.

    Attributes:
        partition: Source partition (canonical JSON).
        topic: Its Kafka topic; None if it has none.
        kafka_partition: Its Kafka partition, likewise.
        before: Offset when the connector was stopped (canonical JSON); None if none was stored.
        before_position: Its position; None if unknown.
        after: Requested offset; None to store none.
        after_position: Its position.
        stands: Offset that was read back at the end; None if none was stored.
        stands_position: Its position.
    """

    partition: str
    topic: str | None
    kafka_partition: int | None
    before: str | None
    before_position: int | None
    after: str | None
    after_position: int | None
    stands: str | None
    stands_position: int | None


@dataclass(frozen=True, slots=True)
class Outcome(JsonFile):
    """The outcome of a change.

    Attributes:
        connector: Name of the connector.
        run: ``dag_id/run_id``.
        result: How it ended.
        message: A sentence that says how it ended.
        digest: Digest of the plan.
        prior_state: State of the connector before the change; None if it was not stopped.
        final_state: State after the change; None if it was not stopped.
        downtime_seconds: Seconds from stop to resume; None if it was not stopped.
        started_at: When the change began.
        finished_at: When it ended.
        warnings: Warnings, each a sentence.
        offsets: The partitions that the plan changes.
        approval: Who has triggered and approved it; None if nobody was asked.
        undo: The command that triggers the change back; empty if nothing was changed.
    """

    connector: str
    run: str
    result: Result
    message: str
    digest: str
    prior_state: str | None
    final_state: str | None
    downtime_seconds: float | None
    started_at: datetime
    finished_at: datetime
    warnings: tuple[str, ...]
    offsets: tuple[MovedOffset, ...]
    approval: Approval | None = None
    undo: str = ""
