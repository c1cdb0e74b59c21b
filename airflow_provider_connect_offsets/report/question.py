"""What a person is asked before a plan is applied, in Markdown, as Airflow's Required Actions show it."""

from __future__ import annotations

import re

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.moves import PositionMove

MOST_ROWS = 20

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def question(change: Change, *, limit: int = MOST_ROWS, link: str | None = None) -> str:
    """Tell what would change, worst first, what the rules found, and that nothing has happened yet.

    link: where a browser opens the report; None where reports are not served.
    """
    if change.summary is None:
        return f"There is no plan in {words.without_credentials(change.run.uri)}."
    records = f"delivered again: **{number(change.records_again)}**; never: **{number(change.records_never)}**"
    changed = f"{change.summary.changed:,} of {words.count(change.summary.partitions, 'partition')}"
    parts = [
        f"{_prose(words.request(change.request))} **{changed}** would be changed.",
        f"Records {records}.",
        _table(change, limit),
        *_verdicts(change, limit),
        report_link(change.run.report, link),
        f"Plan `{change.summary.digest[:12]}` is what will be applied, and no other. Nothing has been stopped yet.",
    ]
    return "\n\n".join(part for part in parts if part)


def report_link(uri: str, link: str | None) -> str:
    """Lead to the report. Where reports are not served, say where it is: no browser follows the URI of a workspace."""
    if link is None:
        return f"The report with all of it: `{words.without_credentials(uri)}`"
    return f"[The report with all of it](<{link}>)"


def _table(change: Change, limit: int) -> str:
    if not change.moves:
        return ""
    rows = [
        "| Partition | Log | Before | After | Records |",
        "|---|--:|--:|--:|--:|",
        *(_row(move) for move in change.moves[:limit]),
    ]
    return "\n".join([*rows, *more(len(change.moves), limit, "partitions")])


def _verdicts(change: Change, limit: int) -> list[str]:
    found = [f"- **{verdict.severity}**: {_prose(verdict.message)}" for verdict in change.verdicts[:limit]]
    return ["\n".join([*found, *more(len(change.verdicts), limit, "verdicts")])] if found else []


def more(count: int, limit: int, things: str) -> list[str]:
    """Say how many a shortened table leaves out."""
    return ["", f"… and {count - limit:,} more {things} in the report."] if count > limit else []


def number(counted: int | None) -> str:
    """A number of records, which may not be known."""
    return "unknown" if counted is None else f"{counted:,}"


def _row(move: PositionMove) -> str:
    log = "" if move.log is None else str(move.log)
    return f"| {' | '.join(plain(cell) for cell in (move.where, log, move.before, move.after, move.effect))} |"


def _prose(text: str) -> str:
    """A verdict's sentence: its backticks are meant as such, all else is somebody's names."""
    quoted = words.without_credentials(text).split("`")
    return "`".join(part if number % 2 else plain(part) for number, part in enumerate(quoted))


def plain(text: str) -> str:
    """Text as it is: what looks like Markdown in it is somebody's name."""
    return _MARKDOWN.sub(r"\\\1", text)
