"""Directory of one change of many connectors: their list, and a run directory for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment


@dataclass(frozen=True, slots=True)
class FleetDirectory:
    """Directory of one change of many connectors within one DAG run."""

    uri: str

    @property
    def report(self) -> str:
        """The report on all connectors (HTML)."""
        return join(self.uri, "report.html")

    @property
    def _list(self) -> str:
        return join(self.uri, "fleet.json")

    def publish(self, connectors: Iterable[str], *, notes: Iterable[str] = ()) -> None:
        """Write the list of connectors, once all their snapshots are written.

        Args:
            connectors: Their names.
            notes: Sentences that the approver and readers of the report must know.
        """
        files.write_json(self._list, {"connectors": sorted(connectors), "notes": list(notes)})

    def notes(self) -> list[str]:
        """Return the notes; raises :class:`DatasetError` if there is no list yet."""
        return [str(note) for note in files.read_json(self._list).get("notes", [])]

    def member(self, connector: str) -> RunDirectory:
        """Return the run directory of one connector."""
        return RunDirectory(join(self.uri, "connectors", unique_segment(connector)))

    def members(self) -> Mapping[str, RunDirectory]:
        """Return run directories by connector, sorted by name; raises :class:`DatasetError` if there is no list yet."""
        return {name: self.member(name) for name in files.read_json(self._list)["connectors"]}
