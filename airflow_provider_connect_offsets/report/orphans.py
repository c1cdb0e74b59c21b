"""Orphaned offsets: their report, a table for logs, and the question to the approver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.html import Figure, publish
from airflow_provider_connect_offsets.report.question import MOST_ROWS, Rows, escape_line, markdown, report_link
from airflow_provider_connect_offsets.report.standing import Pending, Standing, Tone
from airflow_provider_connect_offsets.report.tables import row_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory

_MEANING = (
    "A tombstone is written for each offset. If a connector of the same name is created again, it starts from the "
    "beginning instead of at the old offset. The removed records are kept in `removed.json` of the run."
)
_EXAMPLE = 100
_KIB = 1024


_WAITS = {
    Pending.DRY_RUN: ("Found, not removed", "This run removes nothing (`remove` is false)."),
    Pending.APPROVAL: ("Waiting for approval", "Nothing has been removed yet."),
    Pending.REJECTED: (
        "Rejected: nothing was removed",
        "The approver rejected it, or nobody answered in time.",
    ),
    None: ("Found, not removed", "No outcome is recorded."),
}


@dataclass(frozen=True, slots=True)
class OrphanLine:
    """A row of the tables: a connector that no longer exists."""

    connector: str
    partitions: int
    size: str
    written_at: datetime
    age: str
    partition: str
    offset: str
    standing: str
    reason: str
    tone: Tone

    @classmethod
    def of(cls, line: Mapping[str, Any], outcome: Mapping[str, Any] | None, found_at: datetime) -> OrphanLine:
        """Make the line for a connector of the summary."""
        name, written_at = line["connector"], datetime.fromisoformat(line["written_at"])
        left: Mapping[str, str] = {} if outcome is None else outcome["left"]
        standing, tone = _standing_of(name, outcome, left)
        return cls(
            connector=name,
            partitions=line["partitions"],
            size=_bytes(line["size_bytes"]),
            written_at=written_at,
            age=_age(found_at - written_at),
            partition=_shorten(line["partition"]),
            offset=_shorten(line["offset"]),
            standing=standing,
            reason=left.get(name, ""),
            tone=tone,
        )


@dataclass(frozen=True, slots=True)
class Orphans:
    """Orphaned offsets and the outcome of their removal.

    Attributes:
        directory: the run
        summary: summary of the job
        outcome: outcome of the removal; None before a removal
        pending: why they are not removed; None if unknown
    """

    directory: OrphansDirectory
    summary: Mapping[str, Any]
    outcome: Mapping[str, Any] | None
    pending: Pending | None = None

    @classmethod
    def read(cls, directory: OrphansDirectory, *, pending: Pending | None = None) -> Orphans:
        """Read the run's directory; raises :class:`DatasetError` if the job has not run yet."""
        summary, outcome = files.read_json(directory.summary), files.read_json_if_any(directory.outcome)
        # Ignore the outcome of an earlier search in the same directory.
        is_own = outcome is not None and outcome["digest"] == summary["digest"]
        return cls(directory, summary, outcome if is_own else None, pending)

    @property
    def topic(self) -> str:
        """The offsets topic."""
        return str(self.summary["request"]["topic"])

    @property
    def found_at(self) -> datetime:
        """When the job ran."""
        return datetime.fromisoformat(self.summary["found_at"])

    @property
    def size(self) -> str:
        """Size of all keys and values."""
        return _bytes(self.summary["size_bytes"])

    @property
    def gone_count(self) -> str:
        """How many connectors no longer exist."""
        return quantify(self.summary["orphaned"], "deleted connector")

    @property
    def lines(self) -> tuple[OrphanLine, ...]:
        """A row for each connector in the summary: those left alone first, then the largest."""
        lines = [OrphanLine.of(line, self.outcome, self.found_at) for line in self.summary["connectors"]]
        return tuple(sorted(lines, key=lambda line: line.tone is not Tone.BAD))

    @property
    def summary_rows(self) -> Rows:
        """The connectors for a log and an approver."""
        headings = ("Connector", "Partitions", "Last written", "Size", "Example")
        rows = list(map(_row, self.lines))
        return Rows("connectors", headings, rows, {1, 3}, self.directory.orphans, self.summary["orphaned"])

    @property
    def suspicion(self) -> str:
        """A warning that the topic may belong to another Connect cluster; empty if nothing indicates that."""
        if not self.summary["orphaned"] or self.summary["existing"]:
            return ""
        return (
            f"No connector of this Connect cluster has an offset in `{self.topic}`. Make sure that it is the "
            "`offset.storage.topic` of this Connect cluster, not of another Connect cluster on the same Kafka cluster."
        )

    @property
    def standing(self) -> Standing:
        """The banner."""
        if not self.summary["orphaned"]:
            return Standing("Nothing is orphaned", Tone.GOOD, "The connector of every selected offset exists.")
        if self.outcome is None:
            headline, sentence = _WAITS[self.pending]
            return Standing(headline, Tone.CALM, sentence)
        removed = quantify(len(self.outcome["removed"]), "connector")
        proved = f"Offsets of {removed} were removed, and the topic was read again to verify that."
        if self.outcome["left"]:
            count = quantify(len(self.outcome["left"]), "connector")
            return Standing(
                f"Not removed: offsets of {count}",
                Tone.BAD,
                f"{proved} The offsets that were not removed are listed below.",
            )
        return Standing("Removed", Tone.GOOD, proved, applied=True)

    def table(self, *, limit: int = MOST_ROWS) -> Group:
        """Return a table of the connectors that no longer exist: those left alone first, then the largest."""
        title = f"Offsets of {self.gone_count} in {self.topic}"
        return row_table(title, self.summary_rows, limit=limit, note=self.suspicion)

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""
        return f"Remove the offsets of {self.gone_count}?"

    def question(self, *, link: str | None = None) -> str:
        """Return the question to the approver: what would be removed; ``link``: see ``question.question``."""
        summary = self.summary
        offsets = f"**{quantify(summary['partitions'], 'offset')}** ({self.size})"
        parts = [
            f"Topic {escape_line(self.topic)} has {offsets} of **{self.gone_count}**.",
            f"**Check this first.** {self.suspicion}" if self.suspicion else "",
            self.summary_rows.markdown(),
            _MEANING,
            report_link(self.directory.report, link),
            (
                f"Exactly the offsets with digest `{summary['digest'][:12]}` will be removed. "
                "Nothing has been removed yet."
            ),
        ]
        return markdown(parts)

    def write(self) -> str:
        """Write the report as the run's ``report.html``, and return its URI."""
        directory = self.directory
        summary = self.summary
        figures = (
            Figure(f"{summary['orphaned']:,}", "connectors that no longer exist"),
            Figure(f"{summary['partitions']:,}", "offsets of these connectors", self.size),
            Figure(f"{summary['records']:,}", "records in the topic", f"{summary['keys']:,} keys"),
            Figure(
                f"{summary['existing']:,}", "existing connectors with offsets", f"of {summary['known']:,} that exist"
            ),
        )
        removed = {"Removed records": directory.removed} if self.outcome else {}
        uris = {"Request": directory.request, "All records": directory.stored_records, "Orphans": directory.orphans}
        return publish(
            directory.report,
            "orphans.html.j2",
            title=f"Offsets without a connector in {self.topic}",
            orphans=self,
            figures=figures,
            links={name: uri.rpartition("/")[2] for name, uri in removed.items()},
            datasets=words.uris(uris | removed),
        )


def _standing_of(name: str, outcome: Mapping[str, Any] | None, left: Mapping[str, str]) -> tuple[str, Tone]:
    if outcome is None:
        return "found", Tone.CALM
    return ("not removed", Tone.BAD) if name in left else ("removed", Tone.GOOD)


def _row(line: OrphanLine) -> tuple[str, ...]:
    written = words.moment(line.written_at)
    return line.connector, f"{line.partitions:,}", written, line.size, f"{line.partition} → {line.offset}"


def _shorten(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]}…"


def _bytes(number: int) -> str:
    if number < _KIB:
        return f"{number:,} B"
    return f"{number / _KIB:,.1f} KiB" if number < _KIB**2 else f"{number / _KIB**2:,.1f} MiB"


def _age(age: timedelta) -> str:
    """Return an age in days, hours or minutes."""
    if age.days:
        return f"{quantify(age.days, 'day')} ago"
    minutes = max(0, int(age.total_seconds() // 60))
    return f"{quantify(minutes, 'minute') if minutes < 60 else quantify(minutes // 60, 'hour')} ago"
