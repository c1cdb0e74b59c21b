"""Task groups that move consumer groups to the other cluster of a flow, and home again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.failover import (
    ApproveFailoverOperator,
    SnapshotFailoverOperator,
    TranslateGroupOffsetsOperator,
)
from airflow_provider_connect_offsets.operators.failover_flow import (
    BeginFailoverOperator,
    OpenFailoverOperator,
    ReleaseFlowOperator,
)
from airflow_provider_connect_offsets.operators.groups import CommitGroupOffsetsOperator
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
from airflow_provider_connect_offsets.task_groups.wiring import task_group, tasks, wire

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

_BY_CODE: dict[str, Any] = {"approval_timeout": timedelta(hours=12), "spark": None}
_TASKS = tasks(
    snapshot=SnapshotFailoverOperator,
    plan=("preview", TranslateGroupOffsetsOperator),
    approve=ApproveFailoverOperator,
    check=("open", OpenFailoverOperator),
    begin=BeginFailoverOperator,
    replan=("translate", TranslateGroupOffsetsOperator),
    apply=("commit", CommitGroupOffsetsOperator),
    restore=("release", ReleaseFlowOperator),
)


@task_group(*FAILOVER, FailoverClientsParams, PartParams, group_id="failover", **_BY_CODE)
def mirror_failover(*, group_id: str, **values: Any) -> TaskGroup:
    """Snapshot, preview, approve, begin, translate, commit, outcome, and release as teardown.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template. After a rejection, or
    ``approval_timeout`` without an answer, all that follows is skipped. ``spark``: more arguments for the
    ``SparkSubmitOperator`` that translates.
    """
    return wire(_TASKS, values, group_id=group_id)


@task_group(*FAILBACK, PartParams, group_id="failback", **_BY_CODE)
def mirror_failback(*, group_id: str, **values: Any) -> TaskGroup:
    """The same tasks, for groups that go home: to the cluster from which ``forward_connector`` brought the records.

    Source is the cluster that the groups leave, target their home, so that the connections are those of the failover
    the other way round.
    """
    return wire(_TASKS, {**values, "planned": True}, group_id=group_id)
