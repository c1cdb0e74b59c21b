"""What a person is asked before a plan is applied, in Markdown, as Airflow's Required Actions show it."""

from __future__ import annotations

import re

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.moves import Move

MOST_ROWS = 20

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def question(change: Change, *, limit: int = MOST_ROWS) -> str:
    """Tell what would change, worst first, what the rules found, and that nothing has happened yet."""
    if change.summary is None:
        return f"There is no plan in {words.without_credentials(change.run.uri)}."
    records = f"delivered again: **{number(change.records_again)}**; never: **{number(change.records_never)}**"
    changed = f"{change.summary.changed:,} of {words.count(change.summary.partitions, 'partition')}"
    parts = [
        f"{_prose(words.request(change.request))} **{changed}** would be changed.",
        f"Records {records}.",
        _table(change, limit),
        *_verdicts(change, limit),
        page_link(change.run.report),
        f"Plan `{change.summary.digest[:12]}` is what will be applied, and no other. Nothing has been stopped yet.",
    ]
    return "\n\n".join(part for part in parts if part)


def page_link(uri: str) -> str:
    """Lead to the page; its address is also shown, as not every browser follows every kind of URI."""
    shown = words.without_credentials(uri)
    return f"[The page with all of it](<{shown}>): `{shown}`"


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
    return ["", f"… and {count - limit:,} more {things} on the page."] if count > limit else []


def number(counted: int | None) -> str:
    """A number of records, which may not be known."""
    return "unknown" if counted is None else f"{counted:,}"


def _row(move: Move) -> str:
    log = "" if move.log is None else str(move.log)
    return f"| {' | '.join(plain(cell) for cell in (move.where, log, move.before, move.after, move.effect))} |"


def _prose(text: str) -> str:
    """A verdict's sentence: its backticks are meant as such, all else is somebody's names."""
    quoted = words.without_credentials(text).split("`")
    return "`".join(part if number % 2 else plain(part) for number, part in enumerate(quoted))


def plain(text: str) -> str:
    """Text as it is: what looks like Markdown in it is somebody's name."""
    return _MARKDOWN.sub(r"\\\1", text)
