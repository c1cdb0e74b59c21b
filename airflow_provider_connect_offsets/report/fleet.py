"""A change over many connectors for people: one page over all, a table for the log, and what an approver is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.page import environment
from airflow_provider_connect_offsets.report.question import MOST_ROWS, more, number, plain, report_link
from airflow_provider_connect_offsets.report.standing import Pending, Tone
from airflow_provider_connect_offsets.report.tables import cells, new_table, titled
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory

_WORST_FIRST = (Tone.ALARM, Tone.BAD, Tone.CALM, Tone.GOOD)


@dataclass(frozen=True, slots=True)
class Line:
    """One connector of the fleet, as the page and the tables show it."""

    connector: str
    change: Change
    page: str
    """Where its own page lies, seen from the fleet's."""

    @property
    def changed(self) -> int:
        """Partitions that its plan changes."""
        return 0 if self.change.summary is None else self.change.summary.changed

    @property
    def warnings(self) -> int:
        """How many warnings its plan has."""
        return sum(verdict.severity is Severity.WARNING for verdict in self.change.verdicts)

    @property
    def downtime(self) -> str:
        """How long it stood still; empty where it did not."""
        seconds = self.change.outcome.downtime_seconds if self.change.outcome is not None else None
        return "" if seconds is None else words.seconds(seconds)


@dataclass(frozen=True)
class FleetChange:
    """The changes of all connectors of a fleet, by name."""

    fleet: FleetDirectory
    members: Mapping[str, Change]

    @classmethod
    def read(cls, fleet: FleetDirectory, *, pending: Pending | None = None) -> FleetChange:
        """Read what the members' directories hold so far; raises :class:`DatasetError` where there is no list yet."""
        return cls(fleet, {name: Change.read(run, pending=pending) for name, run in fleet.members().items()})

    @property
    def digest(self) -> str:
        """One digest for all plans."""
        return plan_digest(one.summary.digest for one in self.members.values() if one.summary)

    def errors(self) -> dict[str, str]:
        """The first error of each connector that has one, or no plan."""
        found = {}
        for name, one in self.members.items():
            messages = [verdict.message for verdict in one.verdicts if verdict.severity is Severity.ERROR]
            if messages or one.summary is None:
                found[name] = messages[0] if messages else f"{name!r} has no plan."
        return found

    def sums(self) -> dict[str, Any]:
        """What a task hands on: how many connectors, partitions, changes and records."""
        found = [one.summary for one in self.members.values() if one.summary]
        return {
            "connectors": len(self.members),
            "partitions": sum(summary.partitions for summary in found),
            "changed": sum(summary.changed for summary in found),
            "records_again": sum(summary.records_again for summary in found),
            "records_skipped": sum(summary.records_never for summary in found),
            "warnings": sum(line.warnings for line in self.lines),
        }

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """A line for each connector, worst first."""
        found = (
            Line(name, one, one.run.report.removeprefix(f"{self.fleet.uri.rstrip('/')}/"))
            for name, one in self.members.items()
        )
        return tuple(sorted(found, key=lambda line: (_WORST_FIRST.index(line.change.standing.tone), line.connector)))

    @property
    def counts(self) -> dict[str, int]:
        """How many connectors have come how far."""
        headlines = [line.change.standing.headline for line in self.lines]
        return {headline: headlines.count(headline) for headline in dict.fromkeys(headlines)}


def fleet_table(change: FleetChange, *, limit: int = MOST_ROWS) -> Group:
    """How each connector stands, worst first."""
    table = new_table("Connector", "Standing")
    for heading in ("Partitions", "Again", "Never", "Warnings"):
        table.add_column(heading, justify="right")
    for line in change.lines[:limit]:
        row = (f"{line.changed:,}", number(line.change.records_again), number(line.change.records_never))
        table.add_row(*cells(line.connector, line.change.standing.headline, *row, f"{line.warnings:,}"))
    left = len(change.lines) - limit
    return titled(
        words.count(len(change.lines), "connector"),
        table,
        f"{left:,} more in {words.without_credentials(change.fleet.report)}" if left > 0 else "",
    )


def fleet_question(change: FleetChange, *, limit: int = MOST_ROWS, link: str | None = None) -> str:
    """Tell in Markdown what would change in how many connectors, and that nothing has happened yet."""
    sums = change.sums()
    partitions = f"{sums['changed']:,} of {words.count(sums['partitions'], 'partition')}"
    rows = [
        "| Connector | Partitions | Delivered again | Never | Warnings |",
        "|---|--:|--:|--:|--:|",
        *(_row(line) for line in change.lines[:limit]),
    ]
    parts = [
        f"Offsets of **{words.count(len(change.members), 'connector')}**: {partitions} would be changed.",
        f"Records delivered again: **{sums['records_again']:,}**; never: **{sums['records_skipped']:,}**.",
        "\n".join([*rows, *more(len(change.lines), limit, "connectors")]),
        report_link(change.fleet.report, link),
        f"Plans `{change.digest[:12]}` are what will be applied, and no others. Nothing has been stopped yet.",
    ]
    return "\n\n".join(parts)


def _row(line: Line) -> str:
    counted = (number(line.change.records_again), number(line.change.records_never))
    return f"| {plain(line.connector)} | {line.changed:,} | {' | '.join(counted)} | {line.warnings or ''} |"


def write_fleet_page(fleet: FleetDirectory, *, pending: Pending | None = None) -> str:
    """Publish the page over all connectors as the fleet's ``report.html``, and return where it lies."""
    change = FleetChange.read(fleet, pending=pending)
    template = environment().get_template("fleet.html.j2")
    page = template.render(
        title=f"Offsets of {words.count(len(change.members), 'connector')}",
        written_at=words.moment(datetime.now(tz=UTC)),
        change=change,
        sums=change.sums(),
    )
    files.write_bytes(fleet.report, page.encode())
    return fleet.report
