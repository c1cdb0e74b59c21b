"""How a change ended (``outcome.json``): written by the change, read by the page and by whoever asks later."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

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
class Outcome:
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

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return {
            **asdict(self),
            "result": self.result.value,
            "started_at": self.started_at.isoformat(),
            "finished_at": self.finished_at.isoformat(),
            "warnings": list(self.warnings),
            "offsets": [asdict(moved) for moved in self.offsets],
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Outcome:
        """Read what :meth:`as_json` wrote."""
        return cls(
            **{
                **fields,
                "result": Result(fields["result"]),
                "started_at": datetime.fromisoformat(fields["started_at"]),
                "finished_at": datetime.fromisoformat(fields["finished_at"]),
                "warnings": tuple(fields["warnings"]),
                "offsets": tuple(MovedOffset(**moved) for moved in fields["offsets"]),
            }
        )

    def write(self, uri: str) -> None:
        """Publish it."""
        files.write_json(uri, self.as_json())

    @classmethod
    def read(cls, uri: str) -> Outcome | None:
        """Read it; None where no change has ended yet."""
        fields = files.read_json_if_any(uri)
        return None if fields is None else cls.from_json(fields)
