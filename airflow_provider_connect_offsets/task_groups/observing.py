"""Task groups that observe: a flow's readiness for a failover, and stored offsets without a connector."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.offsets.requests.orphans import OrphanSearch
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest, Thresholds
from airflow_provider_connect_offsets.operators import orphans, readiness
from airflow_provider_connect_offsets.parameters.connections import (
    FlowConnectionParams,
    SparkConnectionParams,
    StorageConnectionParams,
)
from airflow_provider_connect_offsets.parameters.flow import HistoryParams
from airflow_provider_connect_offsets.parameters.orphans import RemovalParams
from airflow_provider_connect_offsets.parameters.tasks import PartParams
from airflow_provider_connect_offsets.task_groups.wiring import (
    PLANNED,
    RETRIES,
    Task,
    spark_of,
    task_group,
    tasks,
    wire,
)

#: What the trigger forms show.
READINESS = (ReadinessRequest, Thresholds, HistoryParams, FlowConnectionParams, SparkConnectionParams)
ORPHANS = (OrphanSearch, RemovalParams, StorageConnectionParams, SparkConnectionParams)

_ORPHANS = tasks(
    snapshot=orphans.SnapshotStoredOffsetsOperator,
    plan=("find", orphans.FindOrphanedOffsetsOperator),
    approve=orphans.ApproveRemovalOperator,
    apply=("remove", orphans.RemoveOrphanedOffsetsOperator),
)


@task_group(*ORPHANS, PartParams, group_id="orphans", **PLANNED)
def orphaned_offsets(*, group_id: str, **values: Any) -> TaskGroup:
    """Snapshot, find, approve, remove: offsets in ``offsets_topic`` whose connector no longer exists.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template. Without ``remove``, if
    nothing is orphaned, after a rejection, and after ``approval_timeout`` without an answer, nothing is removed and the
    run is a success. ``spark``: more arguments for the ``SparkSubmitOperator`` that searches.
    """
    return wire(_ORPHANS, values, group_id=group_id)


@task_group(
    ReadinessRequest,
    HistoryParams,
    FlowConnectionParams,
    SparkConnectionParams,
    PartParams,
    group_id="readiness",
    spark=None,
)
def mirror_readiness(*, group_id: str, **values: Any) -> TaskGroup:
    """Snapshot, judge, and a last task that fails if a threshold is crossed; the report is written before that.

    Every argument but ``spark`` and ``group_id`` may be a template. ``spark``: more arguments for the
    ``SparkSubmitOperator`` that judges.
    """
    with TaskGroup(group_id) as group:
        snapshot = Task(task_id="snapshot", operator=readiness.SnapshotMirrorReadinessOperator).make(values, **RETRIES)
        judge = Task(task_id="judge", operator=readiness.JudgeMirrorReadinessOperator).make(
            values, run_uri=snapshot.output, **spark_of(values)
        )
        readiness.RequireMirrorReadyOperator(task_id="ready", summary=judge.output, retries=0)
    return group
