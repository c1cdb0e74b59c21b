"""The outcome of a search for the record on which a sink failed, and of its skip (``outcome.json``)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.workspace.files import JsonFile, read_json


class PoisonResult(StrEnum):
    """How far a run has come."""

    #: No task has failed.
    HEALTHY = "healthy"
    #: Only read, and nothing was changed.
    DRY_RUN = "dry_run"
    #: The record is found and kept; nothing was skipped yet.
    FOUND = "found"
    #: Someone has refused to skip it.
    REJECTED = "rejected"
    #: It was skipped, and the sink runs.
    SKIPPED = "skipped"
    #: The sink does not run: no record was proved, or ``max_skips`` were skipped.
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SkippedPlace(JsonRecord):
    """Where a record is: topic, partition, offset."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class PoisonOutcome(JsonFile):
    """The outcome of a run.

    Attributes:
        connector: The sink.
        result: How far the run has come.
        message: A sentence that says how far it has come; without the content of any record.
        skipped: The records that were skipped.
        written_at: When this was written.
    """

    connector: str
    result: PoisonResult
    message: str
    skipped: tuple[SkippedPlace, ...]
    written_at: datetime

    @classmethod
    def read(cls, uri: str) -> PoisonOutcome:
        """Read an outcome; raises :class:`DatasetError` if there is none."""
        return cls.from_json(read_json(uri))
