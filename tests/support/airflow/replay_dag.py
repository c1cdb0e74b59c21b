"""A DAG of a user's own around the task group of a bounded replay, whose interval its Params give."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.changes import REPLAY


@ready_dag(*REPLAY, description="Deliver an interval once more")
def interval_replay(**values: Any) -> None:
    """Deliver the records of an interval once more."""
    task_groups.bounded_replay(**values)
