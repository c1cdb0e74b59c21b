"""All that a page or a table tells of one change, read from its run's directory, whatever stage it has got to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, PlanRow
from airflow_provider_connect_offsets.offsets.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity, Verdict
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, LOG_BOUNDS, OFFSET_PLAN, VERDICTS

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}


class Stage(StrEnum):
    """How far a change has come, in the words that stand above all else."""

    PLANNED = "Planned: nothing has been stopped or changed"
    REFUSED = "Refused: nothing was stopped or changed"
    UNCHANGED = "Nothing to change: nothing was written"
    APPLIED = "Applied and read back"
    NOT_RUNNING = "Applied and read back, but the connector is not as it was: look at it now"
    RESTORED = "NOT applied: prior offsets and state were put back"
    LEFT_STOPPED = "LEFT STOPPED: neither the plan nor the prior offsets are proved; act now"
    UNKNOWN = "NOT known to be applied: someone else resumed the connector meanwhile"

    @property
    def tone(self) -> str:
        """What it means to its reader: ``good``, ``calm``, ``bad`` or ``alarm``."""
        return _TONES[self]


_TONES = {
    Stage.PLANNED: "calm",
    Stage.REFUSED: "bad",
    Stage.UNCHANGED: "calm",
    Stage.APPLIED: "good",
    Stage.NOT_RUNNING: "alarm",
    Stage.RESTORED: "bad",
    Stage.LEFT_STOPPED: "alarm",
    Stage.UNKNOWN: "alarm",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where the log of a partition begins and ends."""

    log_start: int
    log_end: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change: what was asked, planned, found and done."""

    run: RunDirectory
    request: Request
    connector_class: str
    digest: str
    records_again: int
    records_skipped: int
    rows: tuple[PlanRow, ...]
    verdicts: tuple[Verdict, ...]
    bounds: Mapping[TopicPartition, Bounds]
    outcome: Outcome | None = None
    #: More that is known of it, said by the caller: label → text.
    facts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, run: RunDirectory, *, facts: Mapping[str, str] | None = None) -> Change:
        """Read what the plan job and the change have written; raises :class:`DatasetError` where there is no plan."""
        request = Request.from_json(read_json(run.request))
        summary = read_json(run.summary)
        rows = [
            PlanRow(**{**row, "action": Action(row["action"])}) for row in read_dataset(run.offset_plan, OFFSET_PLAN)
        ]
        found = [
            Verdict(**{**row, "severity": Severity(row["severity"])}) for row in read_dataset(run.verdicts, VERDICTS)
        ]
        connectors = {row["connector"]: row for row in read_dataset(run.connectors, CONNECTORS)}
        return cls(
            run=run,
            request=request,
            connector_class=connectors[request.connector]["connector_class"],
            digest=summary["digest"],
            records_again=summary["records_again"],
            records_skipped=summary["records_skipped"],
            rows=tuple(sorted(rows, key=_place)),
            verdicts=tuple(sorted(found, key=lambda one: (_ORDER[one.severity], one.rule, one.partition or ""))),
            bounds=_bounds_of(run, rows),
            outcome=Outcome.read(run.outcome),
            facts=facts or {},
        )

    @property
    def connector(self) -> str:
        """Its name."""
        return self.request.connector

    @property
    def changed(self) -> tuple[PlanRow, ...]:
        """Rows that are not left alone."""
        return tuple(row for row in self.rows if row.action is not Action.KEEP)

    @property
    def stands(self) -> Mapping[str, MovedOffset]:
        """What was read back at the end, by source partition."""
        return {moved.partition: moved for moved in self.outcome.offsets} if self.outcome else {}

    @property
    def stage(self) -> Stage:
        """How far it has come."""
        if self.outcome is None:
            return Stage.REFUSED if any(v.severity is Severity.ERROR for v in self.verdicts) else Stage.PLANNED
        if self.outcome.result is Result.APPLIED and self.outcome.final_state != self.outcome.prior_state:
            return Stage.NOT_RUNNING
        return Stage[self.outcome.result.name]


def _place(row: PlanRow) -> tuple[str, int, str]:
    return row.topic or "", row.kafka_partition if row.kafka_partition is not None else -1, row.partition


def _bounds_of(run: RunDirectory, rows: list[PlanRow]) -> dict[TopicPartition, Bounds]:
    """Bounds of the plan's own partitions; the dataset holds those of the whole cluster."""
    places = {(row.topic, row.kafka_partition) for row in rows}
    return {
        TopicPartition(row["topic"], row["kafka_partition"]): Bounds(row["log_start"], row["log_end"])
        for row in read_dataset(run.log_bounds, LOG_BOUNDS)
        if (row["topic"], row["kafka_partition"]) in places
    }
