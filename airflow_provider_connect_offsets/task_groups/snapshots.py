"""Task groups on snapshots of a Connect cluster: take and compare them on a schedule."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.snapshots.keep import (
    CompareSnapshotsOperator,
    RequireNoSurpriseOperator,
    SnapshotConnectClusterOperator,
)
from airflow_provider_connect_offsets.parameters.connections import SparkConnectionParams
from airflow_provider_connect_offsets.parameters.snapshots import (
    ClusterSnapshotParams,
    KeptSnapshotsParams,
    SnapshotConnectionParams,
)
from airflow_provider_connect_offsets.parameters.tasks import PartParams
from airflow_provider_connect_offsets.task_groups.wiring import RETRIES, Task, spark_of, task_group

#: What the trigger form shows.
SNAPSHOT = (ClusterSnapshotParams, KeptSnapshotsParams, SnapshotConnectionParams, SparkConnectionParams)


@task_group(*SNAPSHOT, PartParams, group_id="snapshot", spark=None)
def connector_snapshot(*, group_id: str, **values: Any) -> TaskGroup:
    """Take a snapshot of many connectors, compare it with the one before, and fail if ``fail_on`` names a finding.

    The snapshot is kept, and the report written, before the last task fails. Every argument but ``spark`` and
    ``group_id`` may be a template. ``spark``: more arguments for the ``SparkSubmitOperator`` that compares.
    """
    with TaskGroup(group_id) as group:
        take = Task(task_id="take", operator=SnapshotConnectClusterOperator).make(values, **RETRIES)
        compare = Task(task_id="compare", operator=CompareSnapshotsOperator).make(
            values, run_uri=take.output, **spark_of(values)
        )
        RequireNoSurpriseOperator(task_id="require", summary=compare.output, retries=0)
    return group
