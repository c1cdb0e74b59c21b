"""Task groups that change where connectors and MirrorMaker 2 flows resume."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    BeginOffsetChangeOperator,
)
from airflow_provider_connect_offsets.operators.fleet import (
    ApplyFleetPlansOperator,
    ApproveFleetOperator,
    BeginFleetChangeOperator,
    PlanFleetOperator,
    RestoreFleetOperator,
    SnapshotFleetOperator,
)
from airflow_provider_connect_offsets.operators.mirror_reset import (
    ApplyMirrorResetOperator,
    ApproveMirrorResetOperator,
    BeginMirrorResetOperator,
    PlanMirrorResetOperator,
    RestoreMirrorFlowOperator,
    SnapshotMirrorFlowOperator,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.replay.made import ReleaseReplayOperator, ReplayIntervalOperator
from airflow_provider_connect_offsets.operators.replay.planned import (
    ApproveReplayOperator,
    BeginReplayOperator,
    PlanReplayOperator,
    SnapshotReplayOperator,
)
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.snapshot import SnapshotConnectorOffsetsOperator
from airflow_provider_connect_offsets.parameters.backfill import IntervalParams, WindowParams
from airflow_provider_connect_offsets.parameters.change import (
    ApprovalParams,
    ConnectorChangeParams,
    FleetChangeParams,
    FleetLimitsParams,
    GroupChangeParams,
    GroupLimitsParams,
)
from airflow_provider_connect_offsets.parameters.connections import (
    ConnectorConnectionParams,
    Control,
    FlowConnectionParams,
    GroupConnectionParams,
    SparkConnectionParams,
)
from airflow_provider_connect_offsets.parameters.flow import FlowResetParams
from airflow_provider_connect_offsets.parameters.tasks import PartParams, PlanAgeParams, SyncsAwaitedParams
from airflow_provider_connect_offsets.task_groups.wiring import task_group, tasks, wire

#: What the trigger forms of the changes show.
CHANGE = (ConnectorChangeParams, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)
FLEET = (FleetChangeParams, FleetLimitsParams, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)
GROUPS = (GroupChangeParams, GroupLimitsParams, ApprovalParams, GroupConnectionParams, SparkConnectionParams)
REPLAY = (IntervalParams, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)
RESET = (FlowResetParams, ApprovalParams, FlowConnectionParams, SparkConnectionParams)

_BY_CODE: dict[str, Any] = {"approval_timeout": timedelta(hours=12), "spark": None}
_CHANGE = tasks(
    snapshot=SnapshotConnectorOffsetsOperator,
    plan=PlanConnectorOffsetsOperator,
    approve=ApproveOffsetPlanOperator,
    begin=BeginOffsetChangeOperator,
    apply=ApplyOffsetPlanOperator,
    restore=RestoreConnectorOffsetsOperator,
)
#: The tasks of a fleet's change; a restore of a snapshot has another first one.
FLEET_TASKS = tasks(
    snapshot=SnapshotFleetOperator,
    plan=PlanFleetOperator,
    approve=ApproveFleetOperator,
    begin=BeginFleetChangeOperator,
    apply=ApplyFleetPlansOperator,
    restore=RestoreFleetOperator,
)
_REPLAY = tasks(
    snapshot=SnapshotReplayOperator,
    plan=PlanReplayOperator,
    approve=ApproveReplayOperator,
    begin=BeginReplayOperator,
    apply=("deliver", ReplayIntervalOperator),
    restore=("release", ReleaseReplayOperator),
)
_RESET = tasks(
    snapshot=SnapshotMirrorFlowOperator,
    plan=PlanMirrorResetOperator,
    approve=ApproveMirrorResetOperator,
    begin=BeginMirrorResetOperator,
    apply=ApplyMirrorResetOperator,
    restore=RestoreMirrorFlowOperator,
)


@task_group(*CHANGE, PartParams, PlanAgeParams, WindowParams, group_id="change", required=("to",), **_BY_CODE)
def guarded_offset_change(*, group_id: str, **values: Any) -> TaskGroup:
    """Snapshot, plan, approve, begin, apply, outcome, and restore as teardown, for one connector.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template. After a rejection, or
    ``approval_timeout`` without an answer, all that follows is skipped. ``spark``: more arguments for the
    ``SparkSubmitOperator`` that plans (``conf``, ``executor_memory``, …).
    """
    return wire(_CHANGE, values, group_id=group_id)


@task_group(*FLEET, PartParams, PlanAgeParams, WindowParams, group_id="change", required=("to",), **_BY_CODE)
def guarded_fleet_change(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_offset_change`` for every connector whose whole name matches ``connectors``.

    One snapshot, one Spark application, one approval for all; then ``apply`` changes them, ``max_down`` at a time. One
    that fails is undone by itself, the others are changed, and the run fails with the names.
    """
    return wire(FLEET_TASKS, values, group_id=group_id)


@task_group(*GROUPS, PartParams, PlanAgeParams, group_id="change", required=("to",), **_BY_CODE)
def guarded_group_change(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_fleet_change`` for the consumer groups of plain applications whose whole name matches ``groups``.

    A group with members is refused. Nothing is stopped or resumed: whoever runs the applications does that.
    """
    of_groups = {"connectors": values["groups"], "control": Control.GROUPS.value, "connect_conn_id": ""}
    return wire(FLEET_TASKS, {**values, **of_groups}, group_id=group_id)


@task_group(*REPLAY, PartParams, PlanAgeParams, WindowParams, group_id="replay", **_BY_CODE)
def bounded_replay(*, group_id: str, **values: Any) -> TaskGroup:
    """Deliver the records of an interval once more, by a clone of the connector, which keeps running.

    Snapshot, plan, approve, begin, deliver, outcome, and release as teardown. An interval without records is skipped.
    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template.
    """
    return wire(_REPLAY, values, group_id=group_id)


@task_group(*RESET, PartParams, PlanAgeParams, SyncsAwaitedParams, group_id="reset", **_BY_CODE)
def mirror_reset(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_offset_change`` for a MirrorMaker 2 flow: its MirrorSource, offset syncs and, if asked, checkpoints."""
    return wire(_RESET, values, group_id=group_id)
