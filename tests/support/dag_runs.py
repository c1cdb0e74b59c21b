"""What a test sees of a DAG run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome


@dataclass(frozen=True)
class Ran:
    """A DAG run that has ended."""

    state: str
    tasks: dict[str, str]
    directory: RunDirectory
    output: str

    @cached_property
    def outcome(self) -> Outcome | None:
        """How the change ended, as far as it got."""
        return Outcome.read(self.directory.outcome)
