"""The reset of a MirrorMaker 2 flow as one task group, wired so that one that was not made fails the run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.operators.mirror_reset import (
    ApplyMirrorResetOperator,
    ApproveMirrorResetOperator,
    BeginMirrorResetOperator,
    PlanMirrorResetOperator,
    RestoreMirrorFlowOperator,
    SnapshotMirrorFlowOperator,
)
from airflow_provider_connect_offsets.task_groups.wiring import Kit, Wanted, wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import TaskGroup

_KIT = Kit(
    snapshot=SnapshotMirrorFlowOperator,
    plan=PlanMirrorResetOperator,
    approve=ApproveMirrorResetOperator,
    begin=BeginMirrorResetOperator,
    apply=ApplyMirrorResetOperator,
    restore=RestoreMirrorFlowOperator,
)


def mirror_reset(  # noqa: PLR0913 - what a reset needs, each by its name
    *,
    source_connector: str,
    checkpoint_connector: str = "",
    to: str = "earliest",
    value: str = "",
    topics: str = "",
    partitions: str = "",
    checkpoints: bool | str = False,
    approval: bool | str = True,
    dry_run: bool | str = False,
    approval_timeout: timedelta | None = timedelta(hours=12),
    plan_ttl: timedelta = timedelta(hours=1),
    sync_timeout: timedelta = timedelta(minutes=3),
    control: str = "rest",
    connect_conn_id: str = "kafka_connect_default",
    source_kafka_conn_id: str = "kafka_source",
    target_kafka_conn_id: str = "kafka_target",
    spark_conn_id: str = "spark_default",
    spark: Mapping[str, Any] | None = None,
    group_id: str = "reset",
    part: str = "",
) -> TaskGroup:
    """Reset a flow: where its MirrorSource resumes, together with its offset syncs and, as asked, its checkpoints.

    Snapshot, plan, approve, begin, apply, outcome, and restore as teardown, as in ``guarded_offset_change``, with the
    same arguments for what they have in common. ``sync_timeout``: how long the first new syncs are waited for once
    the flow runs again; workers with a long ``offset.flush.interval.ms`` need more than that.
    """
    wanted = Wanted(
        asked={
            "source_connector": source_connector,
            "checkpoint_connector": checkpoint_connector,
            "checkpoints": checkpoints,
            "to": to,
            "value": value,
            "topics": topics,
            "partitions": partitions,
            "part": part,
        },
        approval=approval,
        dry_run=dry_run,
        approval_timeout=approval_timeout,
        plan_ttl=plan_ttl,
        clients={
            "connect_conn_id": connect_conn_id,
            "source_kafka_conn_id": source_kafka_conn_id,
            "target_kafka_conn_id": target_kafka_conn_id,
            "control": control,
        },
        spark_conn_id=spark_conn_id,
        spark=spark or {},
        applying={"sync_timeout": sync_timeout.total_seconds()},
    )
    return wire(_KIT, wanted, group_id=group_id)
