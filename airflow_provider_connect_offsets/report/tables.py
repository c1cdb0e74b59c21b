"""Tables for the console and for task logs: the plan, its verdicts, and the offsets read back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from io import StringIO

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.moves import ReadBack
from airflow_provider_connect_offsets.report.standing import Tone

MOST_ROWS = 20

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_READ_BACK = {ReadBack.REQUESTED: "green", ReadBack.BEFORE: "yellow"}
_TONES = {Tone.GOOD: "bold green", Tone.CALM: "bold", Tone.BAD: "bold red", Tone.ALARM: "bold reverse red"}


def plan_table(change: Change, *, limit: int = MOST_ROWS) -> Group:
    """The partitions that the plan changes, worst first."""
    table = new_table("Partition", numbers=("Log", "Before", "After", "Records"))
    for move in change.moves[:limit]:
        planned = replace(move, proved=None)  # as it was approved
        log = "" if planned.log is None else str(planned.log)
        table.add_row(*cells(planned.where, log, planned.before, planned.after, planned.effect))
    return titled(f"Plan: {words.request(change.request)}", table, _plan_note(change, limit))


def verdict_table(change: Change, *, limit: int = MOST_ROWS) -> Group:
    """The verdicts of the plan, worst first."""
    table = new_table("Severity", "Rule", "Message")
    for verdict in change.verdicts[:limit]:
        message = words.without_credentials(verdict.message)
        table.add_row(Text(verdict.severity.upper(), _STYLES[verdict.severity]), *cells(verdict.rule, message))
    if not change.verdicts:
        return titled("Verdicts", table, "None." if change.summary else "There is no plan yet.")
    return titled("Verdicts", table, more_in(len(change.verdicts), limit, change.run.verdicts))


def offsets_table(change: Change, *, limit: int = MOST_ROWS) -> Group:
    """The position of each partition before the change, the requested one, and the one read back."""
    table = new_table("Partition", numbers=("Before", "Requested", "Read back"))
    table.add_column("That is")
    proved = [move for move in change.moves if move.proved is not None]
    for move in proved[:limit]:
        read_back = Text(move.read_back or "", _READ_BACK.get(move.read_back or ReadBack.NEITHER, "bold red"))
        table.add_row(*cells(move.where, move.before, move.after, move.stored or ""), read_back)
    if not proved:
        return titled("Offsets", table, "Nothing was read back." if change.outcome else "No outcome is recorded.")
    return titled("Offsets", table, more_in(len(proved), limit, change.run.outcome))


def outcome_line(change: Change) -> Text:
    """The change's banner and downtime, in one line."""
    downtime = change.outcome.downtime_seconds if change.outcome is not None else None
    return Text.assemble(
        (change.standing.headline, _TONES[change.standing.tone]),
        ". ",
        words.without_credentials(change.standing.sentence),
        "" if downtime is None else f" Downtime: {words.seconds(downtime)}.",
    )


def as_text(renderable: RenderableType, *, width: int = 140) -> str:
    """Render for a log, without colour codes."""
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False, _environ={})
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def new_table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """A table whose cells fold; columns of ``numbers`` are aligned to the right."""
    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for column in numbers:
        table.add_column(column, justify="right")
    return table


def titled(title: str, table: Table, note: str) -> Group:
    """A title, the table if it has rows, and a note; title and note may be wider than the table."""
    parts: list[RenderableType] = [
        Text(title, "bold"),
        *([table] if table.rows else []),
        *([Text(note)] if note else []),
    ]
    return Group(*parts)


def cells(*texts: str) -> Iterable[Text]:
    """Cells without markup."""
    return (Text(text) for text in texts)


def _plan_note(change: Change, limit: int) -> str:
    if change.summary is None:
        return "There is no plan yet."
    if not change.moves:
        return f"Nothing to change in {words.count(change.summary.partitions, 'partition')}."
    counts = f"{change.summary.changed:,} of {words.count(change.summary.partitions, 'partition')} to change."
    return f"{counts} {more_in(len(change.moves), limit, change.run.offset_plan)}".strip()


def more_in(number: int, limit: int, uri: str) -> str:
    """A note on rows beyond ``limit``; empty if there are none."""
    return f"{number - limit:,} more in {words.without_credentials(uri)}" if number > limit else ""
