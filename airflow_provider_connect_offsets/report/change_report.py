"""The report of one change or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.offsets.verdicts import Rule, Severity, Verdict
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change, Summary
from airflow_provider_connect_offsets.report.charts.picture import Names, draw
from airflow_provider_connect_offsets.report.html import Figure, embed_drawing, publish, render_template
from airflow_provider_connect_offsets.report.moves import PositionMove
from airflow_provider_connect_offsets.report.standing import Pending, Tone
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_ROWS = 200
MOST_BANDS = 40
MOST_OF_A_RULE = 5

_TEMPLATE = "change.html.j2"


def write_report(run: RunDirectory, *, pending: Pending | None = None) -> str:
    """Write the report of a run as its ``report.html``, and return its URI.

    Args:
        run: the run
        pending: why its plan is not applied yet; None if unknown
    """
    return write_change_report(Change.read(run, pending=pending))


def write_change_report(change: Change) -> str:
    """Write the report of a change as ``report.html`` of its run, and return its URI."""
    return publish(change.run.report, _TEMPLATE, title=change.title, notes=(), sections=_sections([change]))


def render(changes: Sequence[Change], *, title: str, notes: Sequence[str] = ()) -> str:
    """Return the HTML of one report on ``changes``, in their order.

    Args:
        changes: the changes
        title: title of the report
        notes: paragraphs below the title, with names in backticks
    """
    return render_template(_TEMPLATE, title=title, notes=notes, sections=_sections(changes))


def _sections(changes: Sequence[Change]) -> list[_Section]:
    return [_Section.of(change, number) for number, change in enumerate(changes, start=1)]


@dataclass(frozen=True, slots=True)
class _Findings:
    """Verdicts of one rule and severity: the first few messages, and how many more there are."""

    severity: Severity
    sentence: str
    shown: tuple[str, ...]
    more: int

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> _Findings:
        rule = verdicts[0].rule
        sentence = next((known.sentence for known in Rule if known == rule), rule)
        shown = tuple(verdict.message for verdict in verdicts[:MOST_OF_A_RULE])
        return cls(verdicts[0].severity, sentence, shown, len(verdicts) - len(shown))


@dataclass(frozen=True, slots=True)
class _Section:
    """A change, prepared for the template."""

    anchor: str
    change: Change
    request: str
    figures: tuple[Figure, ...]
    findings: tuple[_Findings, ...]
    picture: Markup | None
    drawn: int
    rows: tuple[PositionMove, ...]
    datasets: dict[str, str]

    @classmethod
    def of(cls, change: Change, number: int) -> _Section:
        anchor = f"change-{number}"
        on_a_log = [move for move in change.moves if move.log is not None][:MOST_BANDS]
        return cls(
            anchor=anchor,
            change=change,
            request=words.request(change.request),
            figures=_key_figures(change),
            findings=_findings(change.verdicts),
            picture=embed_drawing(_picture(change, on_a_log, name=anchor)),
            drawn=len(on_a_log),
            rows=change.moves[:MOST_ROWS],
            datasets=_datasets(change),
        )

    @property
    def hidden_rows(self) -> int:
        """Number of rows that the table leaves out."""
        return len(self.change.moves) - len(self.rows)

    @property
    def hidden_bands(self) -> int:
        """Number of partitions on a log that the picture leaves out."""
        return sum(move.log is not None for move in self.change.moves) - self.drawn


def _picture(change: Change, moves: Sequence[PositionMove], *, name: str) -> str | None:
    if change.standing.applied:
        return draw(moves, Names("before", "after"), name=name)
    # After a failure, the current position may be unknown.
    return draw(moves, Names("before" if change.outcome else "now", "requested"), name=name)


def _findings(verdicts: Sequence[Verdict]) -> tuple[_Findings, ...]:
    kinds = groupby(verdicts, key=lambda verdict: (verdict.severity, verdict.rule))
    return tuple(_Findings.of(list(verdicts)) for _, verdicts in kinds)


def _datasets(change: Change) -> dict[str, str]:
    """Return the URIs of the datasets that exist, by name."""
    run = change.run
    uris = {"Request": run.request}
    if change.observed is not None:
        uris |= {"Offsets at the snapshot": run.connector_offsets, "Log bounds": run.log_bounds}
    if change.summary is not None:
        uris |= {"Plan": run.offset_plan, "Verdicts": run.verdicts, "Summary": run.summary}
    if change.recorded is not None:
        uris["Outcome"] = run.outcome
    return words.uris(uris)


def _key_figures(change: Change) -> tuple[Figure, ...]:
    """Return partitions, records delivered again or skipped, and downtime as figures; empty if there is no plan.

    Without downtime if it isn't known whether anything was stopped.
    """
    if change.summary is None:
        return ()
    return (
        _partitions(change, change.summary),
        _records(change, change.records_again, change.summary.records_again, "delivered again", "again"),
        _records(change, change.records_never, change.summary.records_never, "never delivered", "never"),
        *_downtime(change),
    )


def _partitions(change: Change, summary: Summary) -> Figure:
    label = "partitions changed" if change.standing.applied else "partitions to change"
    return Figure(f"{summary.changed:,}", label, f"of {summary.partitions:,}")


def _records(change: Change, number: int | None, planned: int, effect: str, kind: str) -> Figure:
    """Return a figure of records; it adds the plan's number if that differs, as the plan's number was approved."""
    value = f"{number or 0:,}"
    label = f"{'record' if number == 1 else 'records'} {effect}"
    if change.outcome is not None and change.outcome.result is Result.RECORDS_DELETED and kind == "again":
        return Figure(value, label, "at most, because records were deleted", kind)
    if not change.standing.applied:
        return Figure(value, label, "if applied" if number else "", kind if number else "")
    return Figure(value, label, "" if number == planned else f"planned: {planned:,}", kind if number else "")


def _downtime(change: Change) -> list[Figure]:
    outcome = change.outcome
    if outcome is None:
        is_known = change.pending is not None or change.standing.tone is Tone.BAD
        return [Figure("none", "downtime", "nothing was stopped")] if is_known else []
    states = "" if outcome.prior_state is None else f"{outcome.prior_state} → {outcome.final_state or 'unknown'}"
    return [Figure(_duration(outcome), "downtime", states)]


def _duration(outcome: Outcome) -> str:
    if outcome.result is Result.LEFT_STOPPED:
        return "ongoing"
    if outcome.downtime_seconds is not None:
        return words.seconds(outcome.downtime_seconds)
    return "none" if outcome.result is Result.UNCHANGED else "unknown"
