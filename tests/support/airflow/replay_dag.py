"""A DAG around the task group of a bounded replay, whose connector and interval the run's configuration gives."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.parameters.change import ApprovalParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams, SparkConnectionParams


@ready_dag(
    ApprovalParams, ConnectorConnectionParams, SparkConnectionParams, description="Deliver an interval once more"
)
def interval_replay(**values: Any) -> None:
    """Deliver the records of an interval once more."""
    of_run: dict[str, Any] = {name: f"{{{{ dag_run.conf.{name} }}}}" for name in ("connector", "begins", "ends")}
    task_groups.bounded_replay(**of_run, **values)
