"""The same change over many connectors as one task group, wired so that one that was not applied fails the run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.operators.fleet import (
    ApplyFleetPlansOperator,
    ApproveFleetOperator,
    BeginFleetChangeOperator,
    PlanFleetOperator,
    RestoreFleetOperator,
    SnapshotFleetOperator,
)
from airflow_provider_connect_offsets.task_groups.wiring import Kit, Wanted, wire

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import TaskGroup

_KIT = Kit(
    snapshot=SnapshotFleetOperator,
    plan=PlanFleetOperator,
    approve=ApproveFleetOperator,
    begin=BeginFleetChangeOperator,
    apply=ApplyFleetPlansOperator,
    restore=RestoreFleetOperator,
)


def guarded_fleet_change(  # noqa: PLR0913 - what a change needs, each by its name
    *,
    connectors: str,
    to: str,
    value: str = "",
    topics: str = "",
    partitions: str = "",
    max_down: int | str = 5,
    max_failures: int | str = 5,
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
    """``guarded_offset_change`` for every connector whose whole name matches the regular expression ``connectors``.

    One snapshot, one Spark application, one approval for all; then ``apply`` changes them, ``max_down`` at a time, and
    stops no further one after ``max_failures`` failures. One that fails is put back by itself, the others are changed,
    and the run fails with the names. Everything else is as in ``guarded_offset_change``.
    """
    wanted = Wanted(
        asked={
            "connectors": connectors,
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
        clients={"connect_conn_id": connect_conn_id, "kafka_conn_id": kafka_conn_id, "control": control},
        spark_conn_id=spark_conn_id,
        spark=spark or {},
        applying={"max_down": max_down, "max_failures": max_failures},
    )
    return wire(_KIT, wanted, group_id=group_id)
