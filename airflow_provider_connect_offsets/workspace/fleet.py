"""Directory of one change of many connectors: their list, and a run directory for each connector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import FleetPaths, RunDirectory


@dataclass(frozen=True, slots=True)
class FleetDirectory(FleetPaths):
    """Directory of one change of many connectors within one DAG run."""

    def publish(self, connectors: Iterable[str], *, notes: Iterable[str] = ()) -> None:
        """Write the list of connectors, once all their snapshots are written.

        Args:
            connectors: Their names.
            notes: Sentences that the approver and readers of the report must know.
        """
        files.write_json(self.listing, {"connectors": sorted(connectors), "notes": list(notes)})

    def notes(self) -> list[str]:
        """Return the notes; raises :class:`DatasetError` if there is no list yet."""
        return [str(note) for note in files.read_json(self.listing).get("notes", [])]

    def members(self) -> Mapping[str, RunDirectory]:
        """Return run directories by connector, sorted by name; raises :class:`DatasetError` if there is no list yet."""
        return {name: self.member(name) for name in files.read_json(self.listing)["connectors"]}


def members_of(run: RunDirectory) -> Mapping[str, RunDirectory]:
    """Return the run directories of a change by connector: a fleet's, or the only one itself.

    Raises :class:`DatasetError` if its first task has not ended.
    """
    if isinstance(run, FleetDirectory):
        return run.members()
    return {files.read_json(run.request)["connector"]: run}
