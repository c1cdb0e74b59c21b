"""The result of a DAG run: state, tasks, directory and output; and what a command that triggers one asks for."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from airflow_provider_connect_offsets.operations.stages.captured import connections_of
from airflow_provider_connect_offsets.saga import journals
from airflow_provider_connect_offsets.workspace.layout import RunDirectory, journal_root
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from airflow_provider_connect_offsets.workspace.paths import unique_segment


@dataclass(frozen=True)
class Ran:
    """A DAG run that has ended; ``run``: ``dag_id/run_id``."""

    state: str
    run: str
    tasks: dict[str, str]
    directory: RunDirectory
    output: str

    @cached_property
    def outcome(self) -> Outcome | None:
        """The outcome of the change, as far as it was written."""
        return Outcome.read(self.directory.outcome)


def params_of(command: str, dag_id: str) -> dict[str, Any]:
    """The Params of a command that triggers that DAG, as a shell reads it."""
    *words, conf = shlex.split(command)
    assert words == ["airflow", "dags", "trigger", dag_id, "--conf"]
    params: dict[str, Any] = json.loads(conf)
    return params


def connections_in(workspace: str, connector: str) -> set[str]:
    """The Airflow connections that a connector's journal names, in any saga."""
    found = [
        one for one in journals(journal_root(workspace)) if one.uri.rpartition("/")[2] == unique_segment(connector)
    ]
    records = [journal.record(number) for journal in found for number in range(1, journal.newest_generation() + 1)]
    return {connection for record in records if record is not None for connection in connections_of(record)}
