"""Orphaned offsets for people: a page, a table for the log, and what an approver is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.page import environment
from airflow_provider_connect_offsets.report.question import MOST_ROWS, more, plain, report_link
from airflow_provider_connect_offsets.report.standing import Standing, Tone
from airflow_provider_connect_offsets.report.tables import cells, new_table, titled
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory

_MEANING = (
    "A tombstone is written for each. A connector that is created again under such a name then starts from the "
    "beginning, instead of where the old one stood. What is removed is kept in `removed.json` of the run."
)
_EXAMPLE = 100
_KIB = 1024


class OrphansPending(StrEnum):
    """Why orphaned offsets are not removed; the datasets can't tell, so the caller may."""

    REPORT = "report"
    APPROVAL = "approval"
    REJECTED = "rejected"


_WAITS = {
    OrphansPending.REPORT: ("Found, not removed", "This run was to look only (`remove` is false)."),
    OrphansPending.APPROVAL: ("Waiting for approval", "Nothing has been removed yet."),
    OrphansPending.REJECTED: (
        "Rejected: nothing was removed",
        "Someone said no, or nobody answered in time.",
    ),
    None: ("Found, not removed", "No outcome is recorded."),
}


@dataclass(frozen=True, slots=True)
class OrphanLine:
    """One connector that is gone, as the page and the tables show it."""

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
    def of(cls, found: Mapping[str, Any], outcome: Mapping[str, Any] | None, seen: datetime) -> OrphanLine:
        """Make it of a line of the summary."""
        name, written_at = found["connector"], datetime.fromisoformat(found["written_at"])
        left: Mapping[str, str] = {} if outcome is None else outcome["left"]
        standing, tone = _standing_of(name, outcome, left)
        return cls(
            connector=name,
            partitions=found["partitions"],
            size=_bytes(found["size_bytes"]),
            written_at=written_at,
            age=_age(seen - written_at),
            partition=_shortened(found["partition"]),
            offset=_shortened(found["offset"]),
            standing=standing,
            reason=left.get(name, ""),
            tone=tone,
        )


@dataclass(frozen=True, slots=True)
class Orphans:
    """What was found, and what became of it."""

    directory: OrphansDirectory
    summary: Mapping[str, Any]
    outcome: Mapping[str, Any] | None
    pending: OrphansPending | None = None

    @classmethod
    def read(cls, directory: OrphansDirectory, *, pending: OrphansPending | None = None) -> Orphans:
        """Read what the run's directory holds; raises :class:`DatasetError` where nothing was looked for yet."""
        summary, outcome = files.read_json(directory.summary), files.read_json_if_any(directory.outcome)
        # What became of an earlier search in the same directory is not the end of this one.
        is_its_own = outcome is not None and outcome["digest"] == summary["digest"]
        return cls(directory, summary, outcome if is_its_own else None, pending)

    @property
    def topic(self) -> str:
        """The topic that was looked through."""
        return str(self.summary["request"]["topic"])

    @property
    def found_at(self) -> datetime:
        """When."""
        return datetime.fromisoformat(self.summary["found_at"])

    @property
    def size(self) -> str:
        """Keys and values of all orphans together."""
        return _bytes(self.summary["size_bytes"])

    @property
    def gone(self) -> str:
        """How many connectors are gone."""
        return words.count(self.summary["orphaned"], "deleted connector")

    @property
    def lines(self) -> tuple[OrphanLine, ...]:
        """A line for each connector that the summary lists, largest first, those that were left alone before."""
        found = [OrphanLine.of(one, self.outcome, self.found_at) for one in self.summary["connectors"]]
        return tuple(sorted(found, key=lambda line: line.tone is not Tone.BAD))

    @property
    def suspicion(self) -> str:
        """What speaks against the topic's being that of this Connect cluster; empty where nothing does."""
        if not self.summary["orphaned"] or self.summary["existing"]:
            return ""
        return (
            f"No connector of this Connect cluster has an offset in `{self.topic}`. Make sure that it is the "
            "`offset.storage.topic` of this very cluster, and not of another one on the same Kafka."
        )

    @property
    def standing(self) -> Standing:
        """How far it has come, said first."""
        if not self.summary["orphaned"]:
            return Standing("Nothing is orphaned", Tone.GOOD, "Every offset that was looked for has its connector.")
        if self.outcome is None:
            headline, sentence = _WAITS[self.pending]
            return Standing(headline, Tone.CALM, sentence)
        gone = words.count(len(self.outcome["removed"]), "connector")
        proved = f"Offsets of {gone} were removed, and the topic was read again to prove it."
        if self.outcome["left"]:
            count = words.count(len(self.outcome["left"]), "connector")
            return Standing(f"Not removed: offsets of {count}", Tone.BAD, f"{proved} The others are named below.")
        return Standing("Removed", Tone.GOOD, proved, applied=True)


def orphans_table(found: Orphans, *, limit: int = MOST_ROWS) -> Group:
    """The connectors that are gone, largest first."""
    table = new_table("Connector")
    for heading in ("Partitions", "Size", "Last written"):
        table.add_column(heading, justify="right")
    table.add_column("Last value")
    for line in found.lines[:limit]:
        written = words.moment(line.written_at)
        table.add_row(*cells(line.connector, f"{line.partitions:,}", line.size, written, line.offset))
    left = found.summary["orphaned"] - min(limit, len(found.lines))
    title = f"Offsets in {found.topic} whose connector is gone: those of {found.gone}"
    note = f"{left:,} more in {words.without_credentials(found.directory.orphans)}" if left > 0 else ""
    return titled(title, table, " ".join(text for text in (note, found.suspicion) if text))


def orphans_question(found: Orphans, *, limit: int = MOST_ROWS, link: str | None = None) -> str:
    """Tell in Markdown what would be removed and what that means, and that nothing has happened yet."""
    summary = found.summary
    offsets = f"**{words.count(summary['partitions'], 'offset')}** ({found.size})"
    rows = [
        "| Connector | Partitions | Last written | Size | Example |",
        "|---|--:|---|--:|---|",
        *(_row(line) for line in found.lines[:limit]),
    ]
    parts = [
        f"Topic {plain(found.topic)} holds {offsets} of **{found.gone}**.",
        f"**Look twice.** {found.suspicion}" if found.suspicion else "",
        "\n".join([*rows, *more(summary["orphaned"], min(limit, len(found.lines)), "connectors")]),
        _MEANING,
        report_link(found.directory.report, link),
        f"Offsets `{summary['digest'][:12]}` are what will be removed, and no others. Nothing has been removed yet.",
    ]
    return "\n\n".join(part for part in parts if part)


def write_orphans_page(directory: OrphansDirectory, *, pending: OrphansPending | None = None) -> str:
    """Publish the page as the run's ``report.html``, and return where it lies."""
    found = Orphans.read(directory, pending=pending)
    page = (
        environment()
        .get_template("orphans.html.j2")
        .render(
            title=f"Offsets without a connector in {found.topic}",
            written_at=words.moment(datetime.now(tz=UTC)),
            found=found,
            links={"What was removed": directory.removed.rpartition("/")[2]},
            datasets={
                name: words.without_credentials(uri)
                for name, uri in (
                    ("Request", directory.request),
                    ("All records", directory.stored_records),
                    ("Orphans", directory.orphans),
                    *((("What was removed", directory.removed),) if found.outcome else ()),
                )
            },
        )
    )
    files.write_bytes(directory.report, page.encode())
    return directory.report


def _standing_of(name: str, outcome: Mapping[str, Any] | None, left: Mapping[str, str]) -> tuple[str, Tone]:
    if outcome is None:
        return "found", Tone.CALM
    return ("not removed", Tone.BAD) if name in left else ("removed", Tone.GOOD)


def _row(line: OrphanLine) -> str:
    shown = (line.connector, f"{line.partitions:,}", words.moment(line.written_at), line.size)
    return f"| {' | '.join(plain(cell) for cell in shown)} | {plain(f'{line.partition} → {line.offset}')} |"


def _shortened(text: str) -> str:
    return text if len(text) <= _EXAMPLE else f"{text[:_EXAMPLE]}…"


def _bytes(number: int) -> str:
    if number < _KIB:
        return f"{number:,} B"
    return f"{number / _KIB:,.1f} KiB" if number < _KIB**2 else f"{number / _KIB**2:,.1f} MiB"


def _age(age: timedelta) -> str:
    """How long ago, roughly."""
    if age.days:
        return f"{words.count(age.days, 'day')} ago"
    minutes = max(0, int(age.total_seconds() // 60))
    return f"{words.count(minutes, 'minute') if minutes < 60 else words.count(minutes // 60, 'hour')} ago"
