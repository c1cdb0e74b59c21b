"""Task groups that change where connectors and MirrorMaker 2 flows resume."""

from __future__ import annotations

from typing import Any

from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.offsets.requests.replay import ReplayInterval
from airflow_provider_connect_offsets.operators import apply, fleet, plan, restore, snapshot
from airflow_provider_connect_offsets.operators import mirror_reset as reset
from airflow_provider_connect_offsets.operators.replay import made, planned
from airflow_provider_connect_offsets.parameters.backfill import WindowParams
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
from airflow_provider_connect_offsets.task_groups.wiring import PLANNED, task_group, tasks, wire

#: What the trigger forms of the changes show.
CHANGE = (ConnectorChangeParams, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)
FLEET = (FleetChangeParams, FleetLimitsParams, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)
GROUPS = (GroupChangeParams, GroupLimitsParams, ApprovalParams, GroupConnectionParams, SparkConnectionParams)
REPLAY = (ReplayInterval, ApprovalParams, ConnectorConnectionParams, SparkConnectionParams)
RESET = (FlowResetParams, ApprovalParams, FlowConnectionParams, SparkConnectionParams)

_CHANGE = tasks(
    snapshot=snapshot.SnapshotConnectorOffsetsOperator,
    plan=plan.PlanConnectorOffsetsOperator,
    approve=apply.ApproveOffsetPlanOperator,
    begin=apply.BeginOffsetChangeOperator,
    apply=apply.ApplyOffsetPlanOperator,
    restore=restore.RestoreConnectorOffsetsOperator,
)
#: The tasks of a fleet's change; a restore of a snapshot has another first task.
FLEET_TASKS = tasks(
    snapshot=fleet.SnapshotFleetOperator,
    plan=fleet.PlanFleetOperator,
    approve=fleet.ApproveFleetOperator,
    begin=fleet.BeginFleetChangeOperator,
    apply=fleet.ApplyFleetPlansOperator,
    restore=fleet.RestoreFleetOperator,
)
_REPLAY = tasks(
    snapshot=planned.SnapshotReplayOperator,
    plan=planned.PlanReplayOperator,
    approve=planned.ApproveReplayOperator,
    begin=planned.BeginReplayOperator,
    apply=("deliver", made.ReplayIntervalOperator),
    restore=("release", made.ReleaseReplayOperator),
)
_RESET = tasks(
    snapshot=reset.SnapshotMirrorFlowOperator,
    plan=reset.PlanMirrorResetOperator,
    approve=reset.ApproveMirrorResetOperator,
    begin=reset.BeginMirrorResetOperator,
    apply=reset.ApplyMirrorResetOperator,
    restore=reset.RestoreMirrorFlowOperator,
)


@task_group(*CHANGE, PartParams, PlanAgeParams, WindowParams, group_id="change", required=("to",), **PLANNED)
def guarded_offset_change(*, group_id: str, **values: Any) -> TaskGroup:
    """Snapshot, plan, approve, begin, apply, outcome, and restore as teardown, for one connector.

    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template. After a rejection, or
    ``approval_timeout`` without an answer, all that follows is skipped. ``spark``: more arguments for the
    ``SparkSubmitOperator`` that plans (``conf``, ``executor_memory``, …).
    """
    return wire(_CHANGE, values, group_id=group_id)


@task_group(*FLEET, PartParams, PlanAgeParams, WindowParams, group_id="change", required=("to",), **PLANNED)
def guarded_fleet_change(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_offset_change`` for every connector whose whole name matches ``connectors``.

    One snapshot, one Spark application and one approval serve all; then ``apply`` changes them, ``max_down`` at a time.
    A change that fails is undone by itself, the other connectors are changed, and the run fails with the names.
    """
    return wire(FLEET_TASKS, values, group_id=group_id)


@task_group(*GROUPS, PartParams, PlanAgeParams, group_id="change", required=("to",), **PLANNED)
def guarded_group_change(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_fleet_change`` for the consumer groups of plain applications whose whole name matches ``groups``.

    A group with members is refused. Nothing is stopped or resumed: whoever runs the applications does that.
    """
    of_groups = {"connectors": values["groups"], "control": Control.GROUPS.value, "connect_conn_id": ""}
    return wire(FLEET_TASKS, {**values, **of_groups}, group_id=group_id)


@task_group(*REPLAY, PartParams, PlanAgeParams, WindowParams, group_id="replay", **PLANNED)
def bounded_replay(*, group_id: str, **values: Any) -> TaskGroup:
    """Deliver the records of an interval once more, by a clone of the connector, which keeps running.

    Snapshot, plan, approve, begin, deliver, outcome, and release as teardown. An interval without records is skipped.
    Every argument but ``approval_timeout``, ``spark`` and ``group_id`` may be a template.
    """
    return wire(_REPLAY, values, group_id=group_id)


@task_group(*RESET, PartParams, PlanAgeParams, SyncsAwaitedParams, group_id="reset", **PLANNED)
def mirror_reset(*, group_id: str, **values: Any) -> TaskGroup:
    """``guarded_offset_change`` for a MirrorMaker 2 flow: MirrorSource, offset syncs and, if requested, checkpoints."""
    return wire(_RESET, values, group_id=group_id)
