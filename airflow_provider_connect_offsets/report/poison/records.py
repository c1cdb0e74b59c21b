"""Records on which a sink failed: the report on them, and the question to the approver of a skip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.html import publish
from airflow_provider_connect_offsets.report.question import Rows, escape_line, markdown, report_link
from airflow_provider_connect_offsets.report.standing import Standing, Tone
from airflow_provider_connect_offsets.workspace.datasets import read_newest
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from airflow_provider_connect_offsets.workspace.poison import PoisonOutcome, PoisonResult
from airflow_provider_connect_offsets.workspace.schemas import POISON_RECORDS

#: Most characters of a key, value or message that are shown.
SHOWN = 200

_HEADLINES = {
    PoisonResult.HEALTHY: ("Nothing to skip", Tone.GOOD),
    PoisonResult.DRY_RUN: ("Dry run: nothing was changed", Tone.CALM),
    PoisonResult.FOUND: ("Found and kept, not skipped", Tone.CALM),
    PoisonResult.REJECTED: ("Rejected: nothing was skipped", Tone.CALM),
    PoisonResult.SKIPPED: ("Skipped", Tone.GOOD),
    PoisonResult.FAILED: ("The sink is not running", Tone.BAD),
}
_MEANING = (
    "Exactly these records will be skipped: the sink never gets them. Their content is in the report, and is kept in "
    "the run's directory. Nothing has been skipped yet."
)
_WAYS = {"read": "read", "reported": "reported by Connect"}


@dataclass(frozen=True, slots=True)
class PoisonLine:
    """A row of the tables: a record that was kept.

    Attributes:
        topic: Its topic.
        partition: Its partition.
        offset: Its offset.
        standing: ``skipped`` or ``found``.
        why: What fails.
        way: How it was found.
        message: The error's message, shortened; empty if it is not kept.
        key: Its key as text, shortened.
        value: Its value as text, shortened.
    """

    topic: str
    partition: int
    offset: int
    standing: str
    why: str
    way: str
    message: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class PoisonedRecords:
    """The records of a run, and its outcome."""

    directory: PoisonDirectory
    outcome: PoisonOutcome
    lines: tuple[PoisonLine, ...]

    @classmethod
    def read(cls, directory: PoisonDirectory) -> PoisonedRecords:
        """Read a run's directory; raises :class:`DatasetError`."""
        outcome = PoisonOutcome.read(directory.outcome)
        skipped = {(one.topic, one.partition, one.offset) for one in outcome.skipped}
        rows = read_newest(directory.poison_records, POISON_RECORDS) or []
        return cls(directory, outcome, tuple(_line(row, skipped) for row in rows))

    @property
    def standing(self) -> Standing:
        """The banner."""
        headline, tone = _HEADLINES[self.outcome.result]
        is_applied = self.outcome.result is PoisonResult.SKIPPED
        return Standing(headline, tone, self.outcome.message, applied=is_applied)

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""
        what = "this record" if len(self.lines) == 1 else f"these {len(self.lines)} records"
        return f"Skip {what} of {self.outcome.connector}?"

    def question(self, *, link: str | None = None) -> str:
        """Return where the records are, and why they fail; ``link``: see ``question.question``.

        The content of records may be personal data: it is in the report only, of which Airflow's database has no copy.
        """
        headings = ("Topic", "Partition", "Offset", "Why")
        table = Rows("records", headings, list(map(_row, self.lines)), {1, 2}, self.directory.poison_records)
        parts = [
            (
                f"{escape_line(self.outcome.connector)} has failed on the records listed here. "
                "All records before them are delivered."
            ),
            table.markdown(),
            report_link(self.directory.report, link),
            _MEANING,
        ]
        return markdown(parts)

    def write(self) -> str:
        """Write the report as the run's ``report.html``, and return its URI."""
        return publish(
            self.directory.report,
            "poison.html.j2",
            title=f"Records on which {self.outcome.connector} failed",
            records=self,
            datasets=words.uris({"Records": self.directory.poison_records}),
        )


def shorten(text: str) -> str:
    """Shorten a string; characters that can't be printed are written as escapes."""
    printable = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text[:SHOWN])
    return f"{printable}…" if len(text) > SHOWN else printable


def _row(line: PoisonLine) -> tuple[str, ...]:
    return line.topic, str(line.partition), f"{line.offset:,}", line.why


def _line(row: Mapping[str, Any], skipped: set[tuple[str, int, int]]) -> PoisonLine:
    place = row["topic"], row["kafka_partition"], row["offset"]
    is_kept = row["headers"] is not None
    return PoisonLine(
        *place,
        standing="skipped" if place in skipped else "found",
        why=row["why"],
        way=_WAYS.get(row["way"], row["way"]),
        message=shorten(row["message"] or ""),
        key=_content(row["key"], row["key_size"], is_kept=is_kept),
        value=_content(row["value"], row["value_size"], is_kept=is_kept),
    )


def _content(raw: bytes | None, size: int | None, *, is_kept: bool) -> str:
    if size is None:
        return "none"
    if not is_kept:
        return f"{size:,} bytes, not kept"
    return shorten((raw or b"").decode(errors="backslashreplace"))
