"""Task groups that move consumer groups to the other cluster of a flow, and home again."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators import failover, failover_flow, groups
from airflow_provider_connect_offsets.parameters.change import ApprovalParams
from airflow_provider_connect_offsets.parameters.connections import (
    FailbackConnectionParams,
    FailoverClientsParams,
    FailoverConnectionParams,
    SparkConnectionParams,
)
from airflow_provider_connect_offsets.parameters.failover import (
    DrainingParams,
    FailbackParams,
    FailoverParams,
    FlowAfterwardsParams,
)
from airflow_provider_connect_offsets.parameters.tasks import PartParams
from airflow_provider_connect_offsets.task_groups.wiring import PLANNED, task_group, tasks, wire

#: What the trigger forms show.
FAILOVER = (
    FailoverParams,
    DrainingParams,
    FlowAfterwardsParams,
    ApprovalParams,
    FailoverConnectionParams,
    SparkConnectionParams,
)
FAILBACK = (
    FailbackParams,
    DrainingParams,
    FlowAfterwardsParams,
    ApprovalParams,
    FailbackConnectionParams,
    SparkConnectionParams,
)

_TASKS = tasks(
    snapshot=failover.SnapshotFailoverOperator,
    plan=("preview", failover.TranslateGroupOffsetsOperator),
    approve=failover.ApproveFailoverOperator,
    check=("open", failover_flow.OpenFailoverOperator),
    begin=failover_flow.BeginFailoverOperator,
    replan=("translate", failover.TranslateGroupOffsetsOperator),
    apply=("commit", groups.CommitGroupOffsetsOperator),
    restore=("release", failover_flow.ReleaseFlowOperator),
)


@task_group(*FAILOVER, FailoverClientsParams, PartParams, group_id="failover", **PLANNED)
def mirror_failover(*, group_id: str, **values: Any) -> TaskGroup:
    """Snapshot, preview, approve, begin, translate, commit, outcome, and release as teardown.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template. After a rejection, or
    ``approval_timeout`` without an answer, all that follows is skipped. ``spark``: more arguments for the
    ``SparkSubmitOperator`` that translates.
    """
    return wire(_TASKS, values, group_id=group_id)


@task_group(*FAILBACK, PartParams, group_id="failback", **PLANNED)
def mirror_failback(*, group_id: str, **values: Any) -> TaskGroup:
    """``mirror_failover`` for groups that go home, to the cluster from which ``forward_connector`` brought the records.

    The source is the cluster that the groups leave, and the target is their home: the failover's connections the other
    way round.
    """
    return wire(_TASKS, {**values, "planned": True}, group_id=group_id)
