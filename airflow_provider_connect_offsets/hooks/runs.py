"""The directories in which a DAG run stores its datasets."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets.hooks.clients import workspace_uri
from airflow_provider_connect_offsets.workspace.layout import RunDirectory, run_directory


def directory_of(instance: Any, *, part: str) -> RunDirectory:
    """Return the directory of the datasets of a task instance's run.

    ``part`` and the map index separate several changes of one run.
    """
    mapped = str(instance.map_index) if instance.map_index is not None and instance.map_index >= 0 else ""
    parts = "-".join(word for word in (part, mapped) if word)
    return run_directory(workspace_uri(), dag_id=instance.dag_id, run_id=instance.run_id, part=parts)
