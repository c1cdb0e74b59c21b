"""Tables for the console and for task logs: the plan, its verdicts, and the offsets read back."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.moves import ReadBack
from airflow_provider_connect_offsets.report.question import MOST_ROWS, Rows, move_rows
from airflow_provider_connect_offsets.report.standing import Tone
from airflow_provider_connect_offsets.words import quantify

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_READ_BACK = {ReadBack.REQUESTED: "green", ReadBack.BEFORE: "yellow"}
_TONES = {Tone.GOOD: "bold green", Tone.CALM: "bold", Tone.BAD: "bold red", Tone.ALARM: "bold reverse red"}


def plan_table(change: Change) -> Group:
    """Return a table of the partitions that the plan changes, worst first."""
    approved = [replace(move, proved=None) for move in change.moves]
    rows = move_rows(approved, uri=change.run.offset_plan)
    return row_table(f"Plan: {words.request(change.request)}", rows, note=_plan_note(change))


def verdict_table(change: Change) -> Group:
    """Return a table of the plan's verdicts, worst first."""
    note = _more_in(len(change.verdicts), MOST_ROWS, change.run.verdicts)
    if not change.verdicts:
        note = "None." if change.summary else "There is no plan yet."
    return finding_table("Verdicts", [(one.severity, one.rule, one.message) for one in change.verdicts], note)


def finding_table(title: str, findings: Sequence[tuple[str, str, str]], note: str) -> Group:
    """Return a table of the first findings: severity, rule and message of each."""
    table = _table(("Severity", "Rule", "Message"))
    for severity, rule, message in findings[:MOST_ROWS]:
        shown = Text(severity.upper(), _STYLES[Severity(severity)])
        table.add_row(shown, *_cells(rule, mask_text(message)))
    return _group(title, table, note)


def row_table(title: str, rows: Rows, *, limit: int = MOST_ROWS, note: str = "") -> Group:
    """Return a table of the first ``limit`` rows; below it a note, and how many more rows there are."""
    table = _table(rows.headings, rows.numbers)
    for row in rows.rows[:limit]:
        table.add_row(*_cells(*row))
    return _group(title, table, f"{note} {_more_in(rows.count, min(limit, len(rows.rows)), rows.uri)}".strip())


def offsets_table(change: Change) -> Group:
    """Return a table of each partition's position before the change, as requested, and as read back."""
    table = _table(("Partition", "Before", "Requested", "Read back", "That is"), range(1, 4))
    proved = [move for move in change.moves if move.proved is not None]
    for move in proved[:MOST_ROWS]:
        read_back = Text(move.read_back or "", _READ_BACK.get(move.read_back or ReadBack.NEITHER, "bold red"))
        table.add_row(*_cells(move.where, move.before, move.after, move.stored_position or ""), read_back)
    if not proved:
        return _group("Offsets", table, "Nothing was read back." if change.outcome else "No outcome is recorded.")
    return _group("Offsets", table, _more_in(len(proved), MOST_ROWS, change.run.outcome))


def outcome_line(change: Change) -> Text:
    """Return the change's banner and downtime, in one line."""
    downtime = change.outcome.downtime_seconds if change.outcome is not None else None
    return Text.assemble(
        (change.standing.headline, _TONES[change.standing.tone]),
        ". ",
        mask_text(change.standing.sentence),
        "" if downtime is None else f" Downtime: {words.seconds(downtime)}.",
    )


def as_text(renderable: RenderableType, *, width: int = 140) -> str:
    """Render for a log, without colour codes."""
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False, _environ={})
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def _table(headings: Iterable[str], numbers: Container[int] = ()) -> Table:
    """Return a table whose cells fold; columns with the indexes ``numbers`` are aligned to the right."""
    table = Table(box=SIMPLE_HEAD)
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="right" if index in numbers else "left", overflow="fold")
    return table


def _group(title: str, table: Table, note: str) -> Group:
    """Combine a title, the table if it has rows, and a note; title and note may be wider than the table."""
    return Group(Text(title, "bold"), *([table] if table.rows else []), *([Text(note)] if note else []))


def _cells(*texts: str) -> Iterable[Text]:
    """Return cells without markup."""
    return (Text(text) for text in texts)


def _plan_note(change: Change) -> str:
    if change.summary is None:
        return "There is no plan yet."
    partitions = quantify(change.summary.partitions, "partition")
    if not change.moves:
        return f"Nothing to change in {partitions}."
    return f"{change.summary.changed:,} of {partitions} to change."


def _more_in(number: int, limit: int, uri: str) -> str:
    """Return a note on rows beyond ``limit``; empty if there are none."""
    return f"{number - limit:,} more in {mask_text(uri)}" if number > limit else ""
