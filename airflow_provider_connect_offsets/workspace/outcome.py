"""How a change ended (``outcome.json``): written by the change, read by the page and by whoever asks later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.workspace import files


class Result(StrEnum):
    """Applied and proved; nothing to change; taken back; refused before anything was written; neither is proved."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    RESTORED = "restored"
    REFUSED = "refused"
    LEFT_STOPPED = "left_stopped"
    #: Applied and proved, but records at its positions were deleted as the connector resumed.
    RECORDS_DELETED = "records_deleted"
    #: Someone else resumed the connector while the change was under way.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class MovedOffset:
    """One partition: where it stood when the connector was stopped, what was wanted, what was read back at the end."""

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
class Outcome(JsonRecord):
    """The end of a change. States and downtime are None where nothing was stopped; ``run`` is ``dag_id/run_id``."""

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

    def write(self, uri: str) -> None:
        """Publish it."""
        files.write_json(uri, self.as_json())

    @classmethod
    def read(cls, uri: str) -> Outcome | None:
        """Read it; None where no change has ended yet."""
        fields = files.read_json_if_any(uri)
        return None if fields is None else cls.from_json(fields)
