"""Runs of the DAG that removes orphaned offsets, and what they wrote."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.operators.orphans import RemoveOrphanedOffsetsOperator
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from tests.support.airflow.dag_runs import Ran


def tasks(ran: Ran) -> dict[str, str]:
    return {name.removeprefix("orphans."): state for name, state in ran.tasks.items()}


def directory_of(ran: Ran) -> OrphansDirectory:
    return OrphansDirectory(ran.directory.uri)


def read(uri: str) -> Any:
    return json.loads(local(uri).read_text())


def partition_of(connector: str, directory: OrphansDirectory) -> dict[str, Any]:
    """The source partition of an orphaned connector."""
    found: list[dict[str, Any]] = read(directory.summary)["connectors"]
    partition: dict[str, Any] = json.loads(next(one["partition"] for one in found if one["connector"] == connector))
    return partition


def local(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


def removal(directory: OrphansDirectory, digest: str) -> RemoveOrphanedOffsetsOperator:
    return RemoveOrphanedOffsetsOperator(task_id="remove", run_uri=directory.uri, digest=digest, connect_conn_id="cell")


def execute(operator: Any) -> Any:
    instance = SimpleNamespace(dag_id="test", run_id=uuid4().hex, map_index=-1, task_id=operator.task_id)
    return type(operator).execute.__wrapped__(operator, {"ti": instance})
