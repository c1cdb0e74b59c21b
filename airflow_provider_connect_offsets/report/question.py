"""The question to the approver of a plan, in Markdown, as Airflow's Required Actions show it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.moves import PositionMove

MOST_ROWS = 20

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def question(change: Change, *, limit: int = MOST_ROWS, link: str | None = None) -> str:
    """What the plan would change, worst first, and its verdicts.

    Args:
        change: the change
        limit: rows of each table
        link: URL of the report for a browser; None if reports are not served
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
        f"Exactly plan `{change.summary.digest[:12]}` will be applied. Nothing has been stopped yet.",
    ]
    return markdown(parts)


def report_link(uri: str, link: str | None) -> str:
    """A link to the report, or its URI if ``link`` is None: browsers can't open URIs of the workspace."""
    if link is None:
        return f"The full report: `{words.without_credentials(uri)}`"
    return f"[The full report](<{link}>)"


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
    lines = [f"- **{verdict.severity}**: {_prose(verdict.message)}" for verdict in change.verdicts[:limit]]
    return ["\n".join([*lines, *more(len(change.verdicts), limit, "verdicts")])] if lines else []


def more(count: int, limit: int, things: str) -> list[str]:
    """Lines below a table that leaves out rows."""
    return ["", f"… and {count - limit:,} more {things} in the report."] if count > limit else []


def number(counted: int | None) -> str:
    """A number of records, or ``unknown``."""
    return "unknown" if counted is None else f"{counted:,}"


def _row(move: PositionMove) -> str:
    log = "" if move.log is None else str(move.log)
    return markdown_row(move.where, log, move.before, move.after, move.effect)


def markdown_row(*cells: str) -> str:
    """A row of a Markdown table with these texts, escaped."""
    return f"| {' | '.join(plain(cell) for cell in cells)} |"


def markdown(parts: Iterable[str]) -> str:
    """Paragraphs, without empty ones."""
    return "\n\n".join(part for part in parts if part)


def _prose(text: str) -> str:
    """A verdict's message: backticks stay, all other Markdown is escaped."""
    quoted = words.without_credentials(text).split("`")
    return "`".join(part if number % 2 else plain(part) for number, part in enumerate(quoted))


def plain(text: str) -> str:
    """Text with Markdown escaped."""
    return _MARKDOWN.sub(r"\\\1", text)
