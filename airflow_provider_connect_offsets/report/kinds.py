"""The report of a run of any kind, by its directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from airflow_provider_connect_offsets.report.change import Change
from airflow_provider_connect_offsets.report.change_report import write_change_report
from airflow_provider_connect_offsets.report.fleet import FleetChange
from airflow_provider_connect_offsets.report.flow.failover import Failover
from airflow_provider_connect_offsets.report.flow.mirror_reset import Reset
from airflow_provider_connect_offsets.report.orphans import Orphans
from airflow_provider_connect_offsets.report.poison.records import PoisonedRecords
from airflow_provider_connect_offsets.report.question import question
from airflow_provider_connect_offsets.report.replay.bounded import Replay
from airflow_provider_connect_offsets.report.standing import Pending
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.layout import (
    Directory,
    FailoverDirectory,
    OrphansDirectory,
    PoisonDirectory,
    ReplayDirectory,
    ResetDirectory,
    RunDirectory,
)


class Report(Protocol):
    """What the reports of all kinds of runs that someone approves have in common."""

    @property
    def subject(self) -> str:
        """The question to the approver, in one line."""

    def question(self, *, link: str | None = None) -> str:
        """Return the question in Markdown; ``link``: URL of the report, None if reports are not served."""

    def write(self) -> str:
        """Write the report as the run's ``report.html``, and return its URI."""


@dataclass(frozen=True, slots=True)
class _OfChange:
    """The report of the change of one connector."""

    change: Change

    @property
    def subject(self) -> str:
        return f"Change the offsets of {self.change.request.connector}?"

    def question(self, *, link: str | None = None) -> str:
        return question(self.change, link=link)

    def write(self) -> str:
        return write_change_report(self.change)

    @classmethod
    def read(cls, run: RunDirectory, *, pending: Pending | None = None) -> _OfChange:
        return cls(Change.read(run, pending=pending))


_KINDS: Mapping[type[Directory], Callable[..., Report]] = {
    RunDirectory: _OfChange.read,
    FleetDirectory: FleetChange.read,
    ResetDirectory: Reset.read,
    FailoverDirectory: Failover.read,
    ReplayDirectory: Replay.read,
    OrphansDirectory: Orphans.read,
    PoisonDirectory: PoisonedRecords.read,
}


def read_report(directory: Directory, *, pending: Pending | None = None) -> Report:
    """Read what a run's directory contains so far.

    Args:
        directory: The directory of a change, fleet, reset, failover, replay, search for orphans or for poison records.
        pending: Why its plan is not applied yet; None if that is unknown.

    Raises:
        DatasetError: A file that each report of this kind needs is missing.
    """
    more: dict[str, Any] = {} if pending is None else {"pending": pending}
    return _KINDS[type(directory)](directory, **more)
