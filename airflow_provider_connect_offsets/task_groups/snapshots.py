"""Task groups on snapshots of a Connect cluster: take and compare them on a schedule, and restore one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.offsets.requests.snapshots import SnapshotRequest
from airflow_provider_connect_offsets.operators.snapshots.keep import (
    CompareSnapshotsOperator,
    RequireNoSurpriseOperator,
    SnapshotConnectClusterOperator,
)
from airflow_provider_connect_offsets.operators.snapshots.restore import SnapshotForRestoreOperator
from airflow_provider_connect_offsets.parameters.change import ApprovalParams, FleetLimitsParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams, SparkConnectionParams
from airflow_provider_connect_offsets.parameters.snapshots import (
    KeptSnapshotsParams,
    RestoreSnapshotParams,
    SnapshotConnectionParams,
)
from airflow_provider_connect_offsets.parameters.tasks import PartParams, PlanAgeParams
from airflow_provider_connect_offsets.task_groups.changes import FLEET_TASKS
from airflow_provider_connect_offsets.task_groups.wiring import PLANNED, RETRIES, Task, spark_of, task_group, wire

#: What the trigger forms show.
SNAPSHOT = (SnapshotRequest, KeptSnapshotsParams, SnapshotConnectionParams, SparkConnectionParams)
RESTORE = (RestoreSnapshotParams, FleetLimitsParams, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)

_RESTORE = replace(FLEET_TASKS, snapshot=Task(task_id="snapshot", operator=SnapshotForRestoreOperator))


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


@task_group(*RESTORE, PartParams, PlanAgeParams, group_id="change", **PLANNED)
def guarded_snapshot_restore(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_fleet_change`` to the offsets of a kept snapshot, for its connectors that match ``connectors``."""
    return wire(_RESTORE, values, group_id=group_id)
