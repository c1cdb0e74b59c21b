"""Read a change from its run directory, at any stage."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import Action, PlanRow
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity, Verdict
from airflow_provider_connect_offsets.report import standing
from airflow_provider_connect_offsets.report.moves import PositionMove, moves
from airflow_provider_connect_offsets.report.standing import Pending, Standing
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, read_dataset_if_any
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTORS,
    LOG_BOUNDS,
    OFFSET_PLAN,
    VERDICTS,
)


@dataclass(frozen=True, slots=True)
class ConnectorBefore:
    """The connector at the snapshot."""

    connector_class: str
    state: str
    observed_at: datetime


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of a plan, from its ``summary.json``."""

    partitions: int
    changed: int
    records_again: int
    records_never: int
    errors: int
    digest: str
    planned_at: datetime

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Summary:
        """Read ``summary.json``."""
        return cls(
            partitions=fields["partitions"],
            changed=fields["set"] + fields["clear"],
            records_again=fields["records_again"],
            records_never=fields["records_skipped"],
            errors=fields["verdicts"][Severity.ERROR],
            digest=fields["digest"],
            planned_at=datetime.fromisoformat(fields["planned_at"]),
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """An additional table of a report.

    Attributes:
        title: text above the table
        headings: headings of the columns
        rows: cells of each row
        numbers: indexes of columns with numbers
        note: text below the table; empty: none
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()
    note: str = ""


@dataclass(frozen=True)
class Change:
    """One change: its request, plan, verdicts and outcome, as far as they exist.

    Attributes:
        run: the run's directory
        request: the request
        observed: the connector at the snapshot; None before the snapshot
        summary: numbers of the plan; None before the plan
        rows: the plan's rows
        verdicts: the plan's verdicts, worst first
        bounds: logs of the plan's topics, by partition
        recorded: the outcome recorded in the run, of this or of an earlier plan; None without an outcome
        pending: why a plan without an outcome is not applied yet; None if unknown
        title: heading of the report
        facts: more facts by label, shown below the figures
        listings: additional tables
    """

    run: RunDirectory
    request: Request
    observed: ConnectorBefore | None = None
    summary: Summary | None = None
    rows: tuple[PlanRow, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    bounds: Mapping[TopicPartition, range] = field(default_factory=dict)
    recorded: Outcome | None = None
    pending: Pending | None = None
    title: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    listings: tuple[Listing, ...] = ()

    @classmethod
    def read(
        cls,
        run: RunDirectory,
        *,
        pending: Pending | None = None,
        title: str = "",
        facts: Mapping[str, str] | None = None,
    ) -> Change:
        """Read what ``run`` contains so far.

        Raises:
            DatasetError: the request is missing
        """
        request = Request.from_json(files.read_json(run.request))
        summary = files.read_json_if_any(run.summary)
        # The job writes the summary last: without it, plan and verdicts are unfinished, or belong to another plan.
        planned, own = summary is not None, run.of(request.connector)
        rows = tuple(_plan_row(row) for row in read_dataset(run.offset_plan, OFFSET_PLAN, **own)) if planned else ()
        return cls(
            run=run,
            request=request,
            observed=_read_observed(run, request.connector),
            summary=None if summary is None else Summary.of(summary),
            rows=rows,
            verdicts=sort_verdicts(read_dataset(run.verdicts, VERDICTS, **own)) if planned else (),
            bounds=_bounds(run, {row.topic for row in rows if row.topic is not None}),
            recorded=Outcome.read(run.outcome),
            pending=pending,
            title=title or f"Offsets of {request.connector}",
            facts=facts or {},
        )

    @cached_property
    def outcome(self) -> Outcome | None:
        """The outcome of this plan; None if it has none, even if an earlier plan of the run has one."""
        return None if self.earlier_outcome is not None else self.recorded

    @cached_property
    def earlier_outcome(self) -> Outcome | None:
        """The outcome of an earlier plan of the run; None without an earlier outcome.

        It is shown, because that plan may have changed offsets, but not as the outcome of this plan.
        """
        if self.recorded is None:
            return None
        since = self.summary.planned_at if self.summary else self.observed.observed_at if self.observed else None
        other = self.summary is not None and self.summary.digest != self.recorded.digest
        return self.recorded if other or (since is not None and self.recorded.finished_at < since) else None

    @cached_property
    def standing(self) -> Standing:
        """The banner."""
        if self.outcome is not None:
            return standing.banner_of_outcome(self.outcome, noun=self.request.noun)
        if self.summary is not None:
            return standing.banner_of_plan(self.summary.errors, self.pending)
        return standing.banner_of_request(snapshot=self.observed is not None)

    @cached_property
    def moves(self) -> tuple[PositionMove, ...]:
        """The partitions that the plan changes, worst first."""
        errors = (verdict for verdict in self.verdicts if verdict.severity is Severity.ERROR)
        faulty = {verdict.partition for verdict in errors if verdict.partition is not None}
        proved = self.outcome.offsets if self.outcome is not None else ()
        return moves(self.rows, self.bounds, proved, faulty)

    @cached_property
    def records_again(self) -> int | None:
        """Records delivered again, counted from the position when the connector was stopped, else as planned."""
        planned = None if self.summary is None else self.summary.records_again
        return self._sum_counted([move.records_again for move in self.moves], planned)

    @cached_property
    def records_never(self) -> int | None:
        """Records never delivered, counted as ``records_again`` is."""
        planned = None if self.summary is None else self.summary.records_never
        return self._sum_counted([move.records_never for move in self.moves], planned)

    def _sum_counted(self, numbers: list[int | None], planned: int | None) -> int | None:
        """Return the sum, or the plan's number unless all partitions were read back and their numbers are known."""
        known = [number for number in numbers if number is not None]
        proved = bool(numbers) and all(move.proved is not None for move in self.moves)
        return sum(known) if proved and len(known) == len(numbers) else planned


def _plan_row(row: Mapping[str, Any]) -> PlanRow:
    return PlanRow(**{**row, "action": Action(row["action"])})


def sort_verdicts(rows: Iterable[Mapping[str, Any]]) -> tuple[Verdict, ...]:
    """Return the verdicts in rows of dataset ``verdicts``, sorted by severity, rule and message."""
    verdicts = (Verdict(**{**row, "severity": Severity(row["severity"])}) for row in rows)
    order = list(Severity)
    return tuple(sorted(verdicts, key=lambda v: (order.index(v.severity), v.rule, _natural_key(v.message))))


def _natural_key(text: str) -> list[str | int]:
    """Return a sort key that puts partition 2 before partition 10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", text)]


def _read_observed(run: RunDirectory, connector: str) -> ConnectorBefore | None:
    rows = read_dataset_if_any(run.connectors, CONNECTORS, connector=(connector,))
    return next((ConnectorBefore(row["connector_class"], row["state"], row["observed_at"]) for row in rows), None)


def _bounds(run: RunDirectory, topics: Collection[str]) -> dict[TopicPartition, range]:
    rows = read_dataset_if_any(run.log_bounds, LOG_BOUNDS, topic=topics) if topics else []
    return {
        TopicPartition(row["topic"], row["kafka_partition"]): range(row["log_start"], row["log_end"]) for row in rows
    }
