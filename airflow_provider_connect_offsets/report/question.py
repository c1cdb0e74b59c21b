"""The question to the approver of a plan, in Markdown, as Airflow's Required Actions show it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.verdicts import Verdict
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.moves import PositionMove
from airflow_provider_connect_offsets.words import quantify

MOST_ROWS = 20

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!&$])")
# What becomes a link without any markup (GitHub Flavored Markdown, autolinks), even if it is escaped.
_LINKED = re.compile(r"://|www\.|[\w.+-]@[\w-]|mailto:|xmpp:", re.IGNORECASE)
# Line breaks and other control characters, which would end a row of a table.
_LINES = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def question(change: Change, *, link: str | None = None) -> str:
    """Return what the plan would change, worst first, and its verdicts.

    Args:
        change: the change
        link: URL of the report for a browser; None if reports are not served
    """
    if change.summary is None:
        return f"There is no plan in {mask_text(change.run.uri)}."
    again, never = words.number_or_unknown(change.records_again), words.number_or_unknown(change.records_never)
    changed = f"{change.summary.changed:,} of {quantify(change.summary.partitions, 'partition')}"
    parts = [
        f"{prose_line(words.request(change.request))} **{changed}** would be changed.",
        f"Records delivered again: **{again}**. Records never delivered: **{never}**.",
        move_rows(change.moves, uri=change.run.offset_plan).markdown(),
        verdict_lines(change.verdicts),
        report_link(change.run.report, link),
        f"Exactly the plan with digest `{change.summary.digest[:12]}` will be applied. Nothing has been stopped yet.",
    ]
    return markdown(parts)


def report_link(uri: str, link: str | None) -> str:
    """Return a link to the report, or its URI if ``link`` is None: browsers can't open URIs of the workspace."""
    if link is None:
        return f"The full report: `{mask_text(uri)}`"
    return f"[The full report](<{link}>)"


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of strings for an approver and for a log.

    Attributes:
        things: what the rows are
        headings: headings of the columns
        rows: cells of each row
        numbers: indexes of columns that are aligned to the right
        uri: URI of the dataset or file that has all rows
        total: how many rows that dataset or file has; None: as many as ``rows``
    """

    things: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: Container[int]
    uri: str
    total: int | None = None

    def markdown(self) -> str:
        """Return a table of the first rows; empty if there are none."""
        if not self.rows:
            return ""
        shown = self.rows[:MOST_ROWS]
        rule = "|".join("--:" if index in self.numbers else "---" for index in range(len(self.headings)))
        lines = [
            f"| {' | '.join(self.headings)} |",
            f"|{rule}|",
            *(f"| {' | '.join(map(escape_line, row))} |" for row in shown),
        ]
        return "\n".join([*lines, *more_lines(self.count, len(shown), self.things)])

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.rows) if self.total is None else self.total


def move_rows(moves: Sequence[PositionMove], *, uri: str) -> Rows:
    """Return rows for moves of partitions; ``uri``: URI of the plan."""
    headings = ("Partition", "Log", "Before", "After", "Records")
    logs = [move.log_ends for move in moves]
    rows = [(move.where, log, move.before, move.after, move.effect) for move, log in zip(moves, logs, strict=True)]
    return Rows("partitions", headings, rows, range(1, 5), uri)


def verdict_lines(verdicts: Sequence[Verdict]) -> str:
    """Return the first of these verdicts as a Markdown list."""
    lines = [f"- **{verdict.severity}**: {prose_line(verdict.message)}" for verdict in verdicts[:MOST_ROWS]]
    return "\n".join([*lines, *more_lines(len(verdicts), MOST_ROWS, "verdicts")])


def more_lines(count: int, limit: int, things: str) -> list[str]:
    """Return lines below a table that leaves out rows; empty if it leaves out none."""
    return ["", f"… and {count - limit:,} more {things} in the report."] if count > limit else []


def markdown(parts: Iterable[str]) -> str:
    """Join paragraphs, without empty ones."""
    return "\n\n".join(part for part in parts if part)


def prose_line(text: str) -> str:
    """Return a verdict's message: what is in backticks stays so, all other Markdown is escaped."""
    quoted = mask_text(text).split("`")
    if len(quoted) % 2 == 0:  # the last backtick has no partner
        quoted[-2:] = ["'".join(quoted[-2:])]
    pieces = [code(part) if number % 2 else escape_line(part) for number, part in enumerate(quoted)]
    # Two codes that touch would be one, up to the next backtick. Within code there is none.
    return "".join(pieces).replace("``", "` `")


def escape_line(text: str) -> str:
    """Return text as one line with Markdown escaped; a word that would become a link becomes code."""
    words = re.split(r"(\s+)", _LINES.sub(" ", text))
    return "".join(code(word) if _LINKED.search(word) else _MARKDOWN.sub(r"\\\1", word) for word in words)


def code(text: str) -> str:
    """Return text as one line of code, in which only a backtick and, in a table, a vertical bar have a meaning."""
    inside = _LINES.sub(" ", text).replace("`", "'").replace("|", "\\|")
    return f"`{inside}`" if inside else ""
