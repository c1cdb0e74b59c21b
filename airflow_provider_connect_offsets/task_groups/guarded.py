"""A whole change as one task group, wired so that a change that was not applied fails the run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    BeginOffsetChangeOperator,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.snapshot import SnapshotConnectorOffsetsOperator
from airflow_provider_connect_offsets.task_groups.wiring import Kit, Wanted, wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import TaskGroup

_KIT = Kit(
    snapshot=SnapshotConnectorOffsetsOperator,
    plan=PlanConnectorOffsetsOperator,
    approve=ApproveOffsetPlanOperator,
    begin=BeginOffsetChangeOperator,
    apply=ApplyOffsetPlanOperator,
    restore=RestoreConnectorOffsetsOperator,
)


def guarded_offset_change(  # noqa: PLR0913 - what a change needs, each by its name
    *,
    connector: str,
    to: str,
    value: str = "",
    topics: str = "",
    partitions: str = "",
    only_back: bool | str = False,
    approval: bool | str = True,
    dry_run: bool | str = False,
    approval_timeout: timedelta | None = timedelta(hours=12),
    plan_ttl: timedelta = timedelta(hours=1),
    control: str = "rest",
    connect_conn_id: str = "kafka_connect_default",
    kafka_conn_id: str = "kafka_default",
    spark_conn_id: str = "spark_default",
    spark: Mapping[str, Any] | None = None,
    group_id: str = "change",
    part: str = "",
) -> TaskGroup:
    """Snapshot, plan, approve, begin, apply, outcome, and restore as teardown.

    Every argument but the durations, ``spark`` and ``group_id`` may be a template. After ``approval_timeout`` without
    an answer, or after a rejection, all that follows is skipped. A plan that is older than ``plan_ttl`` when it is
    approved is refused, and has to be made anew. ``spark``: more arguments for the
    ``SparkSubmitOperator`` that plans (``conf``, ``executor_memory``, …). ``part`` keeps several groups of a DAG apart.
    ``only_back``: partitions that have not come as far as asked stay where they are, so that nothing unread is skipped.
    """
    wanted = Wanted(
        asked={
            "connector": connector,
            "to": to,
            "value": value,
            "topics": topics,
            "partitions": partitions,
            "only_back": only_back,
            "part": part,
        },
        approval=approval,
        dry_run=dry_run,
        approval_timeout=approval_timeout,
        plan_ttl=plan_ttl,
        clients={"connect_conn_id": connect_conn_id, "kafka_conn_id": kafka_conn_id, "control": control},
        spark_conn_id=spark_conn_id,
        spark=spark or {},
    )
    return wire(_KIT, wanted, group_id=group_id)
