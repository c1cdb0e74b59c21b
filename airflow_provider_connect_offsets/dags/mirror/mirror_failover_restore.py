"""Restore the offsets that consumer groups had before a failover."""

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
    description="Restore the offsets that consumer groups had before a failover",
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_failover_restore(**values: Any) -> None:
    """### Restore consumer groups after a failover

    In every partition that the failover moved, each group gets the offset and metadata that it had there before; if it
    had none, its offset is deleted. Other offsets of the groups are not touched, and everything is read back. A group
    that has members, or that has read on since the failover, is left unchanged, and the run fails and names it. If the
    run is killed, run it again.
    """
    RestoreGroupOffsetsOperator(task_id="restore", retries=2, retry_delay=timedelta(seconds=10), **values)
