"""One change over many connectors: a directory that lists them, and a run directory for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment


@dataclass(frozen=True, slots=True)
class FleetDirectory:
    """All that belongs to one change over many connectors within one DAG run."""

    uri: str

    @property
    def report(self) -> str:
        """The page over all of them (HTML)."""
        return join(self.uri, "report.html")

    @property
    def _list(self) -> str:
        return join(self.uri, "fleet.json")

    def publish(self, connectors: Iterable[str]) -> None:
        """List the connectors, once the snapshots of all are written."""
        files.write_json(self._list, {"connectors": sorted(connectors)})

    def member(self, connector: str) -> RunDirectory:
        """The run directory of one connector."""
        return RunDirectory(join(self.uri, "connectors", unique_segment(connector)))

    def members(self) -> Mapping[str, RunDirectory]:
        """The run directories by connector, sorted by name; raises :class:`DatasetError` where there is no list yet."""
        return {name: self.member(name) for name in files.read_json(self._list)["connectors"]}
