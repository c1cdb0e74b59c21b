"""Tables for the console and for task logs: the plan, its verdicts, and where the offsets stand in the end."""

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
from airflow_provider_connect_offsets.report.moves import PositionMove, ReadBack
from airflow_provider_connect_offsets.report.standing import Tone

MOST_ROWS = 20

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_FOUND = {ReadBack.WANTED: "green", ReadBack.BEFORE: "yellow"}
_TONES = {Tone.GOOD: "bold green", Tone.CALM: "bold", Tone.BAD: "bold red", Tone.ALARM: "bold reverse red"}


def plan_table(change: Change, *, limit: int = MOST_ROWS) -> Group:
    """What the plan does to each partition that it changes, worst first."""
    table = new_table("Partition")
    for heading in ("Log", "Before", "After", "Records"):
        table.add_column(heading, justify="right")
    for move in change.moves[:limit]:
        planned = replace(move, proved=None)  # as the approver saw it
        table.add_row(*cells(planned.where, _log(planned), planned.before, planned.after, planned.effect))
    return titled(f"Plan: {words.request(change.request)}", table, _plan_note(change, limit))


def verdict_table(change: Change, *, limit: int = MOST_ROWS) -> Group:
    """What the rules found, worst first."""
    table = new_table("Severity", "Rule", "What was found")
    for verdict in change.verdicts[:limit]:
        message = words.without_credentials(verdict.message)
        table.add_row(Text(verdict.severity.upper(), _STYLES[verdict.severity]), *cells(verdict.rule, message))
    if not change.verdicts:
        return titled("Verdicts", table, "None." if change.summary else "There is no plan yet.")
    return titled("Verdicts", table, _more(len(change.verdicts), limit, change.run.verdicts))


def offsets_table(change: Change, *, limit: int = MOST_ROWS) -> Group:
    """Where each partition stood, where it was to stand, and what was read back at the end."""
    table = new_table("Partition")
    for heading in ("Before", "Wanted", "Read back"):
        table.add_column(heading, justify="right")
    table.add_column("That is")
    proved = [move for move in change.moves if move.proved is not None]
    for move in proved[:limit]:
        found = Text(move.read_back or "", _FOUND.get(move.read_back or ReadBack.NEITHER, "bold red"))
        table.add_row(*cells(move.where, move.before, move.after, move.stands or ""), found)
    if not proved:
        return titled("Offsets", table, "Nothing was read back." if change.outcome else "No outcome is recorded.")
    return titled("Offsets", table, _more(len(proved), limit, change.run.outcome))


def outcome_line(change: Change) -> Text:
    """How far the change has come, in one line."""
    downtime = change.outcome.downtime_seconds if change.outcome is not None else None
    return Text.assemble(
        (change.standing.headline, _TONES[change.standing.tone]),
        ". ",
        words.without_credentials(change.standing.sentence),
        "" if downtime is None else f" Downtime: {words.seconds(downtime)}.",
    )


def as_text(renderable: RenderableType, *, width: int = 140) -> str:
    """Render for a log: no colour codes, whatever the environment says."""
    console = Console(file=StringIO(), width=width, color_system=None, force_terminal=False, _environ={})
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def new_table(*columns: str) -> Table:
    """A table whose cells fold rather than be cut off."""
    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def titled(title: str, table: Table, note: str) -> Group:
    """Title and note beside the table, not in it, as they would be folded to its width; no table without rows."""
    parts: list[RenderableType] = [
        Text(title, "bold"),
        *([table] if table.rows else []),
        *([Text(note)] if note else []),
    ]
    return Group(*parts)


def cells(*texts: str) -> Iterable[Text]:
    """Cells as they are: what looks like rich's markup in them is somebody's name."""
    return (Text(text) for text in texts)


def _log(move: PositionMove) -> str:
    return "" if move.log is None else str(move.log)


def _plan_note(change: Change, limit: int) -> str:
    if change.summary is None:
        return "There is no plan yet."
    if not change.moves:
        return f"Nothing to change in {words.count(change.summary.partitions, 'partition')}."
    counts = f"{change.summary.changed:,} of {words.count(change.summary.partitions, 'partition')} to change."
    return f"{counts} {_more(len(change.moves), limit, change.run.offset_plan)}".strip()


def _more(number: int, limit: int, uri: str) -> str:
    return f"{number - limit:,} more in {words.without_credentials(uri)}" if number > limit else ""
