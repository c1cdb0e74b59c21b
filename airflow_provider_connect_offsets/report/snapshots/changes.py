"""What changed between two snapshots of a Connect cluster: the report, and a table for logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Group

from airflow_provider_connect_offsets.offsets.requests.snapshots import COMPARED
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.report import words
from airflow_provider_connect_offsets.report.html import Figure, Findings, publish
from airflow_provider_connect_offsets.report.standing import Standing, Tone
from airflow_provider_connect_offsets.report.tables import finding_table
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.snapshots import ComparisonDirectory

# The ``change`` of a row in words, in the order of the report's table.
CHANGES: Mapping[str, str] = {
    "vanished": "no longer stored",
    "moved_back": "moved back",
    "jumped": "jumped",
    "stuck": "running, but did not move",
    "appeared": "stored for the first time",
    "moved": "moved on",
    "unchanged": "unchanged",
    "not_compared": "not compared",
}


@dataclass(frozen=True, slots=True)
class SnapshotChanges:
    """What changed since the snapshot before, from the job's summary."""

    directory: ComparisonDirectory
    summary: Mapping[str, Any]

    @classmethod
    def read(cls, directory: ComparisonDirectory) -> SnapshotChanges:
        """Read the run's directory; raises :class:`DatasetError` if the job has not run yet."""
        return cls(directory, files.read_json(directory.summary))

    @property
    def observed_at(self) -> datetime:
        """When the snapshot was taken."""
        return datetime.fromisoformat(self.summary["observed_at"])

    @property
    def previous_at(self) -> datetime | None:
        """When the previous snapshot was taken; None for the first snapshot."""
        at = self.summary["previous_at"]
        return None if at is None else datetime.fromisoformat(at)

    @property
    def standing(self) -> Standing:
        """The banner: whether anything was found that ``fail_on`` names."""
        counts = self.summary["verdicts"]
        errors, warnings = counts[Severity.ERROR.value], counts[Severity.WARNING.value]
        if errors:
            named = f"{quantify(errors, 'finding')} of rules in fail_on"
            return Standing(f"Look at this: {named}", Tone.BAD, str(self.summary["worst"]["message"]))
        if self.previous_at is None:
            return Standing("First snapshot", Tone.CALM, "There is no earlier snapshot to compare it with.")
        since = f"Compared with the snapshot of {words.moment(self.previous_at)}."
        if warnings:
            return Standing(f"Kept, with {quantify(warnings, 'warning')}", Tone.CALM, since)
        return Standing("Kept: nothing unusual", Tone.GOOD, since)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Key figures."""
        summary = self.summary
        unread = f"{summary['unread']:,} could not be read" if summary["unread"] else ""
        changes = summary["changes"]
        return (
            Figure(f"{summary['connectors']:,}", "connectors", unread, "bad" if unread else ""),
            Figure(f"{summary['partitions']:,}", "partitions with an offset"),
            Figure(f"{changes['moved']:,}", "partitions that moved forward"),
            Figure(f"{summary['lag']:,}", "records left to read", "where log ends are known"),
        )

    @property
    def changes(self) -> Sequence[tuple[str, int]]:
        """Number of partitions for each kind of change."""
        return [(text, self.summary["changes"][change]) for change, text in CHANGES.items()]

    @property
    def findings(self) -> list[Findings]:
        """The findings by rule, worst first."""
        found = self.summary["found"]
        by_rule = [Findings.of(rule.value, found, [rule], most=len(found)) for rule in COMPARED]
        severities = list(Severity)
        return sorted((one for one in by_rule if one.rows), key=lambda one: severities.index(one.rows[0][0]))

    def table(self) -> Group:
        """Return a table of the findings, worst first."""
        findings = [(severity, one.title, message) for one in self.findings for severity, _, message in one.rows]
        kinds = ", ".join(f"{number:,} {text}" for text, number in self.changes if number)
        title, note = f"Snapshot: {self.standing.headline}", f"Partitions: {kinds or 'none'}"
        return finding_table(title, findings, note)

    def write(self) -> str:
        """Write the report as the run's ``report.html``, and return its URI."""
        directory = self.directory
        summary = self.summary
        uris = {
            "This snapshot": summary["uri"],
            "Snapshot before": summary["previous"] or "none",
            "Changes": directory.offset_changes,
            "Verdicts": directory.verdicts,
        }
        return publish(
            directory.report,
            "snapshot.html.j2",
            title=f"Snapshot of {quantify(summary['connectors'], 'connector')}",
            changes=self,
            datasets=words.uris(uris),
        )
