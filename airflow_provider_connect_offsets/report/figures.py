"""The few numbers of a change that a reader looks for first."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change, Summary
from airflow_provider_connect_offsets.report.standing import Tone
from airflow_provider_connect_offsets.workspace.outcome import Outcome, Result


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it counts; ``note`` says more in small print, ``kind`` colours it."""

    value: str
    label: str
    note: str = ""
    kind: str = ""


def key_figures(change: Change) -> tuple[Figure, ...]:
    """Partitions, records again, records never, downtime; nothing where nothing is planned."""
    if change.summary is None:
        return ()
    return (
        _partitions(change, change.summary),
        _records(change, change.records_again, change.summary.records_again, "delivered again", "again"),
        _records(change, change.records_never, change.summary.records_never, "never delivered", "never"),
        _downtime(change),
    )


def _partitions(change: Change, summary: Summary) -> Figure:
    label = "partitions changed" if change.standing.applied else "partitions to change"
    return Figure(f"{summary.changed:,}", label, f"of {summary.partitions:,}")


def _records(change: Change, number: int | None, planned: int, effect: str, kind: str) -> Figure:
    """A number that isn't what was planned is told beside the plan's: the approver saw the other one."""
    value = f"{number or 0:,}"
    label = f"{'record' if number == 1 else 'records'} {effect}"
    if change.outcome is not None and change.outcome.result is Result.RECORDS_DELETED and kind == "again":
        return Figure(value, label, "at most: records were deleted", kind)
    if not change.standing.applied:
        return Figure(value, label, "if it were applied" if number else "", kind if number else "")
    return Figure(value, label, "" if number == planned else f"planned: {planned:,}", kind if number else "")


def _downtime(change: Change) -> Figure:
    outcome = change.outcome
    if outcome is None:
        vouched = change.pending is not None or change.standing.tone is Tone.BAD
        return Figure("none", "downtime", "nothing was stopped") if vouched else Figure("unknown", "downtime")
    states = "" if outcome.prior_state is None else f"{outcome.prior_state} → {outcome.final_state or 'not known'}"
    return Figure(_duration(outcome), "downtime", states)


def _duration(outcome: Outcome) -> str:
    if outcome.result is Result.LEFT_STOPPED:
        return "ongoing"
    if outcome.downtime_seconds is not None:
        return words.seconds(outcome.downtime_seconds)
    return "none" if outcome.result is Result.UNCHANGED else "unknown"
