"""The directories in which a DAG run stores its datasets."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.hooks.settings import workspace_uri
from airflow_provider_connect_offsets.workspace.layout import RunDirectory, run_directory


def map_index_of(instance: Any) -> int | None:
    """Return the index of a mapped task instance, or of one in a mapped task group; None if it is not mapped."""
    index: int | None = instance.map_index
    return None if index is None or index < 0 else index


def directory_of(instance: Any, *, part: str) -> RunDirectory:
    """Return the directory of the datasets of a task instance's run.

    ``part`` and the map index separate several changes of one run.
    """
    index = map_index_of(instance)
    parts = "-".join(word for word in (part, "" if index is None else str(index)) if word)
    return run_directory(workspace_uri(), dag_id=instance.dag_id, run_id=instance.run_id, part=parts)
