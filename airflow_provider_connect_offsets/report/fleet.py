"""The change of a fleet of connectors: its report, a table for logs, and the question to the approver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.html import Figure, publish
from airflow_provider_connect_offsets.report.question import (
    MOST_ROWS,
    Rows,
    escape_line,
    markdown,
    prose_line,
    report_link,
)
from airflow_provider_connect_offsets.report.standing import Pending, Tone
from airflow_provider_connect_offsets.report.tables import row_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.datasets import each_read_once
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import FleetUndo

# Most requests that are listed, if they differ between connectors.
_REQUESTS = 5
_WORST_FIRST = (Tone.ALARM, Tone.BAD, Tone.CALM, Tone.GOOD)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the fleet's tables.

    Attributes:
        connector: the connector
        change: its change
        report: URI of its report, relative to the fleet's
    """

    connector: str
    change: Change
    report: str

    @property
    def changed_count(self) -> int:
        """Partitions that its plan changes."""
        return 0 if self.change.summary is None else self.change.summary.changed

    @property
    def warnings(self) -> int:
        """Warnings of its plan."""
        return sum(verdict.severity is Severity.WARNING for verdict in self.change.verdicts)

    @property
    def numbers(self) -> tuple[str, str, str]:
        """Partitions that are changed, records delivered again and records never delivered."""
        return (
            f"{self.changed_count:,}",
            words.number_or_unknown(self.change.records_again),
            words.number_or_unknown(self.change.records_never),
        )

    @property
    def downtime(self) -> str:
        """Its downtime; empty if there was none."""
        seconds = self.change.outcome.downtime_seconds if self.change.outcome is not None else None
        return "" if seconds is None else words.seconds(seconds)


@dataclass(frozen=True)
class FleetChange:
    """The changes of all connectors of a fleet, by name."""

    fleet: FleetDirectory
    members: Mapping[str, Change]

    @classmethod
    def read(cls, fleet: FleetDirectory, *, pending: Pending | None = None) -> FleetChange:
        """Read what the members' directories contain so far; raises :class:`DatasetError` if there is no list yet."""
        with each_read_once():
            return cls(fleet, {name: Change.read(run, pending=pending) for name, run in fleet.members().items()})

    @property
    def noun(self) -> Noun:
        """What its members are: connectors, or consumer groups."""
        return next((change.request.noun for change in self.members.values()), Noun.CONNECTOR)

    @property
    def requests(self) -> list[str]:
        """What was requested: one sentence if it is the same of all, else the commonest requests, each with a count."""
        sentences = (words.request(change.request, name=f"each {self.noun}") for change in self.members.values())
        counts = Counter(sentences).most_common()
        if len(counts) < 2:
            return [sentence for sentence, _ in counts]
        more = sum(count for _, count in counts[_REQUESTS:])
        listed = [f"{quantify(count, self.noun)}: {sentence}" for sentence, count in counts[:_REQUESTS]]
        return [*listed, *([f"{quantify(more, self.noun)}: other requests."] if more else [])]

    @property
    def digest(self) -> str:
        """One digest for all plans."""
        return plan_digest(change.summary.digest for change in self.members.values() if change.summary)

    def errors(self) -> dict[str, str]:
        """Return the first error of each connector that has an error or no plan, by connector."""
        errors = {}
        for name, change in self.members.items():
            messages = [verdict.message for verdict in change.verdicts if verdict.severity is Severity.ERROR]
            if messages or change.summary is None:
                errors[name] = messages[0] if messages else f"{name!r} has no plan."
        return errors

    def sums(self) -> dict[str, Any]:
        """Return totals of connectors, partitions, changes, records and warnings; a task returns them, too."""
        summaries = [change.summary for change in self.members.values() if change.summary]
        return {
            "connectors": len(self.members),
            "partitions": sum(summary.partitions for summary in summaries),
            "changed": sum(summary.changed for summary in summaries),
            "records_again": sum(summary.records_again for summary in summaries),
            "records_skipped": sum(summary.records_never for summary in summaries),
            "warnings": sum(line.warnings for line in self.lines),
        }

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """A row for each connector, worst first."""
        root = f"{self.fleet.uri.rstrip('/')}/"
        lines = (Line(name, change, change.run.report.removeprefix(root)) for name, change in self.members.items())
        return tuple(sorted(lines, key=lambda line: (_WORST_FIRST.index(line.change.standing.tone), line.connector)))

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of connectors by the headline of their banner."""
        headlines = [line.change.standing.headline for line in self.lines]
        return {headline: headlines.count(headline) for headline in dict.fromkeys(headlines)}

    @property
    def title(self) -> str:
        """The heading of the report."""
        return f"Offsets of {quantify(len(self.members), self.noun)}"

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""
        return f"Change the {self.title[0].lower()}{self.title[1:]}?"

    def table(self, *, limit: int = MOST_ROWS) -> Group:
        """Return a table of how far the change of each connector has come, worst first."""
        headings = (self.noun.capitalize(), "Standing", "Partitions", "Again", "Never", "Warnings")
        rows = [
            (line.connector, line.change.standing.headline, *line.numbers, f"{line.warnings:,}") for line in self.lines
        ]
        return row_table(quantify(len(self.members), self.noun), self._rows(headings, rows), limit=limit)

    def question(self, *, link: str | None = None) -> str:
        """Return the question to the approver: what would change, by connector; ``link``: see ``question.question``."""
        sums = self.sums()
        partitions = f"{sums['changed']:,} of {quantify(sums['partitions'], 'partition')}"
        headings = (self.noun.capitalize(), "Partitions", "Delivered again", "Never", "Warnings")
        rows = [(line.connector, *line.numbers, str(line.warnings or "")) for line in self.lines]
        parts = [
            f"Offsets of **{quantify(len(self.members), self.noun)}**: {partitions} would be changed.",
            *map(prose_line, self.requests),
            (
                f"Records delivered again: **{sums['records_again']:,}**. "
                f"Records never delivered: **{sums['records_skipped']:,}**."
            ),
            *(f"**Note**: {escape_line(note)}" for note in self.fleet.notes()),
            self._rows(headings, rows).markdown(),
            report_link(self.fleet.report, link),
            f"Exactly the plans with digest `{self.digest[:12]}` will be applied. Nothing has been stopped yet.",
        ]
        return markdown(parts)

    def write(self) -> str:
        """Write the report of all connectors as the fleet's ``report.html``, and return its URI."""
        sums = self.sums()
        figures = (
            Figure(f"{sums['connectors']:,}", f"{self.noun}s"),
            Figure(f"{sums['changed']:,}", "partitions to change", f"of {sums['partitions']:,}"),
            Figure(f"{sums['records_again']:,}", "records delivered again"),
            Figure(f"{sums['records_skipped']:,}", "records never delivered"),
        )
        undo = FleetUndo.read(self.fleet.undo)
        return publish(self.fleet.report, "fleet.html.j2", title=self.title, change=self, figures=figures, undo=undo)

    def _rows(self, headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Rows:
        numbers = range(len(headings) - 4, len(headings))
        return Rows(f"{self.noun}s", headings, rows, numbers, self.fleet.report)
