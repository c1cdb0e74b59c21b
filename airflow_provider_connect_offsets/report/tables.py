"""The same facts as tables for a console or a task's log."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.plan import PlanRow
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report.change import Change

LIMIT = 20
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_TONES = {"good": "bold green", "calm": "bold", "bad": "bold red", "alarm": "bold white on red"}


def plan_table(change: Change) -> Table:
    """The plan: a row per partition that is changed, up to a limit."""
    table = _table(f"Plan for {change.connector}: {change.request}", change)
    for heading in ("log start", "log end", "before", "after"):
        table.add_column(heading, justify="right")
    table.add_column("action")
    table.add_column("why")
    for row in change.changed[:LIMIT]:
        start, end = _limits(change, row)
        before, after = position_of(row.before_position, row.before), position_of(row.after_position, row.after)
        table.add_row(*_where(row), start, end, before, after, row.action.value, row.reason)
    return table


def verdict_table(change: Change) -> Table:
    """The verdicts, worst first, up to a limit."""
    more = len(change.verdicts) - LIMIT
    table = Table(title="Verdicts", title_justify="left", caption=f"and {more} more" if more > 0 else None)
    table.add_column("severity")
    table.add_column("rule")
    table.add_column("what was found", overflow="fold")
    for verdict in change.verdicts[:LIMIT]:
        table.add_row(Text(verdict.severity.value, _STYLES[verdict.severity]), verdict.rule, verdict.message)
    if not change.verdicts:
        table.add_row("", "", "nothing to remark")
    return table


def offsets_table(change: Change) -> Table:
    """Positions before, wanted, and as they were read back."""
    table = _table(f"Positions of {change.connector}", change)
    for heading in ("before", "wanted", "read back"):
        table.add_column(heading, justify="right")
    stands = change.stands
    for row in change.changed[:LIMIT]:
        moved = stands.get(row.partition)
        read_back = position_of(moved.stands_position, moved.stands) if moved else "-"
        before = (
            position_of(moved.before_position, moved.before) if moved else position_of(row.before_position, row.before)
        )
        table.add_row(*_where(row), before, position_of(row.after_position, row.after), read_back)
    return table


def outcome_line(change: Change) -> Text:
    """How it ended, in one line."""
    line = Text(change.stage.value, _TONES[change.stage.tone])
    outcome = change.outcome
    if outcome is not None and outcome.downtime_seconds is not None:
        line.append(f"; the connector stood still for {outcome.downtime_seconds:.1f} s", "default")
    return line


def as_text(renderable: RenderableType, *, width: int = 160) -> str:
    """Render for a log: no colours."""
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    console.print(renderable)
    printed = console.file
    return printed.getvalue() if isinstance(printed, io.StringIO) else ""


def position_of(position: int | None, offset: str | None) -> str:
    """A position for people; what is stored, where that has none."""
    if position is not None:
        return f"{position}"
    return offset if offset is not None else "nothing stored"


def _table(title: str, change: Change) -> Table:
    more = len(change.changed) - LIMIT
    kept = len(change.rows) - len(change.changed)
    notes = [f"and {more} more in {change.run.offset_plan}"] if more > 0 else []
    notes += [f"{kept} left alone"] if kept else []
    table = Table(title=title, title_justify="left", caption="; ".join(notes) or None, caption_justify="left")
    table.add_column("topic")
    table.add_column("partition", justify="right")
    return table


def _where(row: PlanRow) -> tuple[str, str]:
    if row.topic is None or row.kafka_partition is None:
        return row.partition, ""
    return row.topic, str(row.kafka_partition)


def _limits(change: Change, row: PlanRow) -> tuple[str, str]:
    if row.topic is None or row.kafka_partition is None:
        return "", ""
    found = change.bounds.get(TopicPartition(row.topic, row.kafka_partition))
    return (str(found.log_start), str(found.log_end)) if found else ("?", "?")
