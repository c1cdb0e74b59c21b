"""Restore what consumer groups had before a failover committed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.operators.groups import RestoreGroupOffsetsOperator
from airflow_provider_connect_offsets.parameters.connections import TargetConnectionParams
from airflow_provider_connect_offsets.parameters.failover import RestoredRunParams


@ready_dag(
    RestoredRunParams,
    TargetConnectionParams,
    description="Restore what consumer groups had before a failover",
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_failover_restore(**values: Any) -> None:
    """### Restore consumer groups after a failover

    Every partition that the failover has moved gets the offset that its group had there before, with its metadata; one
    that had none loses it again. What else the groups hold is not touched. All is read back. A group that anyone is
    in, or that has gone on since, is left as it is, and the run fails and names it. A run that is killed is run again.
    """
    RestoreGroupOffsetsOperator(task_id="restore", retries=2, retry_delay=timedelta(seconds=10), **values)
