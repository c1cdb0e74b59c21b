"""Bounded replays: their report, a table for logs, and the question to the approver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import sort_verdicts
from airflow_provider_connect_offsets.report.html import Figure, publish
from airflow_provider_connect_offsets.report.question import (
    MOST_ROWS,
    Rows,
    escape_line,
    markdown,
    report_link,
    verdict_lines,
)
from airflow_provider_connect_offsets.report.standing import Pending, Standing, Tone, banner_of_plan
from airflow_provider_connect_offsets.report.tables import row_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory
from airflow_provider_connect_offsets.workspace.replay import DeliveredRange, ReplayOutcome, ReplayResult
from airflow_provider_connect_offsets.workspace.schemas import REPLAY_PLAN, VERDICTS

_IN_THE_REPORT = 500
_HEADINGS = ("Partition", "From", "To", "Delivered", "Beyond")
_MEANING = (
    "From and To are offsets: the interval includes From, but not To. Beyond counts the offsets from To on that were "
    "delivered before the clone had stopped. Offsets without a record (compaction, transactions) count too."
)
_ENDS = {
    ReplayResult.DELIVERED: ("Delivered", Tone.GOOD),
    ReplayResult.UNDONE: ("Not fully delivered: nothing is left of the clone", Tone.BAD),
    ReplayResult.REFUSED: ("Refused: nothing was created", Tone.BAD),
    ReplayResult.UNFINISHED: ("UNFINISHED: the clone may still exist, act now", Tone.ALARM),
}


@dataclass(frozen=True, slots=True)
class Replay:
    """A bounded replay, at any stage after its plan.

    Attributes:
        run: the run's directory
        request: the request
        summary: summary of the job
        rows: rows of dataset ``replay_plan``
        verdicts: the plan's verdicts, worst first
        outcome: outcome of this plan; None if it has none
        pending: why the plan is not carried out yet; None if unknown
    """

    run: ReplayDirectory
    request: ReplayRequest
    summary: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    verdicts: tuple[Verdict, ...]
    outcome: ReplayOutcome | None = None
    pending: Pending | None = None

    @classmethod
    def read(cls, run: ReplayDirectory, *, pending: Pending | None = None) -> Replay:
        """Read what ``run`` contains; raises :class:`DatasetError` if the job has not run yet."""
        summary, outcome = files.read_json(run.summary), ReplayOutcome.read(run.outcome)
        rows = sorted(
            read_dataset(run.replay_plan, REPLAY_PLAN), key=lambda row: (row["topic"], row["kafka_partition"])
        )
        verdicts = sort_verdicts(read_dataset(run.verdicts, VERDICTS))
        # Ignore the outcome of an earlier plan in the same directory.
        is_own = outcome is not None and outcome.digest == summary["digest"]
        request = ReplayRequest.from_json(files.read_json(run.request))
        return cls(run, request, summary, tuple(rows), verdicts, outcome if is_own else None, pending)

    @property
    def lines(self) -> list[tuple[str, ...]]:
        """A row of strings for each partition with records in the interval, or with records delivered beyond it."""
        of_outcome = {} if self.outcome is None else {(one.topic, one.partition): one for one in self.outcome.ranges}
        pairs = [(row, of_outcome.get((row["topic"], row["kafka_partition"]))) for row in self.rows]
        return [_line(row, found) for row, found in pairs if row["action"] == "replay" or (found and found.beyond)]

    @property
    def summary_rows(self) -> Rows:
        """The lines for a log and an approver; before the outcome, without what was delivered."""
        columns = 3 if self.outcome is None else len(_HEADINGS)
        rows = [line[:columns] for line in self.lines]
        return Rows("partitions", _HEADINGS[:columns], rows, range(1, columns), self.run.replay_plan)

    @property
    def standing(self) -> Standing:
        """The banner."""
        if self.outcome is None:
            return banner_of_plan(self.summary["verdicts"]["error"], self.pending)
        headline, tone = _ENDS[self.outcome.result]
        return Standing(headline, tone, self.outcome.message, applied=self.outcome.result is ReplayResult.DELIVERED)

    def table(self, *, limit: int = MOST_ROWS) -> Group:
        """Return a table of the ranges, and of what was delivered of each."""
        return row_table(f"Replay of {self.request.connector}, {self.request.interval}", self.summary_rows, limit=limit)

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""
        return f"Deliver {self.request.connector} once more?"

    def question(self, *, link: str | None = None) -> str:
        """Return the question to the approver: what would be delivered again; ``link``: see ``question.question``."""
        request, summary = self.request, self.summary
        parts = [
            (
                f"**{summary['offsets']:,}** offsets of {quantify(summary['partitions'], 'partition')} would be "
                f"delivered once more, from {escape_line(request.interval)}. A temporary connector, "
                f"{escape_line(request.clone)}, delivers them. {escape_line(request.connector)} keeps running."
            ),
            self.summary_rows.markdown(),
            verdict_lines(self.verdicts),
            report_link(self.run.report, link),
            (
                f"Exactly the plan with digest `{summary['digest'][:12]}` will be carried out. "
                "Nothing has been created yet."
            ),
        ]
        return markdown(parts)

    def write(self) -> str:
        """Write the report as the run's ``report.html``, and return its URI."""
        run, outcome, lines = self.run, self.outcome, self.lines
        figures = [
            Figure(f"{self.summary['offsets']:,}", "offsets in the interval"),
            Figure(f"{self.summary['partitions']:,}", "partitions", f"{self.summary['left_out']:,} have none"),
        ]
        if outcome is not None and outcome.ranges:
            figures += [
                Figure(f"{outcome.delivered_count:,}", "delivered once more"),
                Figure(words.number_or_unknown(outcome.beyond_count), "delivered beyond the end"),
            ]
        uris = {"Request": run.request, "Ranges": run.replay_ranges, "Plan": run.replay_plan, "Verdicts": run.verdicts}
        return publish(
            run.report,
            "replay.html.j2",
            title=f"Replay of {self.request.connector}",
            replay=self,
            figures=figures,
            headings=_HEADINGS,
            lines=lines[:_IN_THE_REPORT],
            hidden=max(0, len(lines) - _IN_THE_REPORT),
            meaning=_MEANING,
            datasets=words.uris(uris),
        )


def _line(row: Mapping[str, Any], found: DeliveredRange | None) -> tuple[str, ...]:
    where = f"{row['topic']}-{row['kafka_partition']}"
    counts = ("", "") if found is None else (f"{found.delivered:,}", words.number_or_unknown(found.beyond))
    return (where, f"{row['begins']:,}", f"{row['ends']:,}", *counts)
