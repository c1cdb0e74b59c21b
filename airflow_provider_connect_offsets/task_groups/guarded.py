"""A whole change as one task group, wired so that a change that was not applied fails the run."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    BeginOffsetChangeOperator,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.snapshot import SnapshotConnectorOffsetsOperator

if TYPE_CHECKING:
    from collections.abc import Mapping


def guarded_offset_change(  # noqa: PLR0913 - what a change needs, each by its name
    *,
    connector: str,
    to: str,
    value: str = "",
    topics: str = "",
    partitions: str = "",
    approval: bool | str = True,
    dry_run: bool | str = False,
    approval_timeout: timedelta | None = timedelta(hours=12),
    plan_ttl: timedelta = timedelta(hours=1),
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

    ``begin`` is the setup, so that ``restore`` runs whatever becomes of ``apply``; ``outcome`` is the leaf that is no
    teardown, without which a failed ``apply`` would count as a successful run.
    """
    doors: dict[str, Any] = {"connect_conn_id": connect_conn_id, "kafka_conn_id": kafka_conn_id}
    patient: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
    with TaskGroup(group_id) as group:
        snapshot = SnapshotConnectorOffsetsOperator(
            task_id="snapshot",
            connector=connector,
            to=to,
            value=value,
            topics=topics,
            partitions=partitions,
            part=part,
            **doors,
            **patient,
        )
        run_uri: Any = snapshot.output
        plan = PlanConnectorOffsetsOperator(
            task_id="plan", run_uri=run_uri, conn_id=spark_conn_id, **{**patient, **(spark or {})}
        )
        approve = ApproveOffsetPlanOperator(
            task_id="approve",
            summary=plan.output,
            approval=approval,
            plan_only=dry_run,
            defaults=ApproveOffsetPlanOperator.REJECT,
            response_timeout=approval_timeout,
            retries=0,  # no second question
        )
        begin = BeginOffsetChangeOperator(
            task_id="begin", run_uri=run_uri, plan_ttl=plan_ttl.total_seconds(), **doors, **patient
        )
        summary: Any = plan.output
        apply = ApplyOffsetPlanOperator(task_id="apply", run_uri=run_uri, digest=summary["digest"], **doors, **patient)
        restore = RestoreConnectorOffsetsOperator(
            task_id="restore", run_uri=run_uri, **doors, retries=10, retry_delay=timedelta(seconds=10)
        )
        outcome = EmptyOperator(task_id="outcome")
        plan >> approve >> begin.as_setup() >> apply  # type: ignore[no-untyped-call]
        apply >> restore.as_teardown(setups=begin, on_failure_fail_dagrun=True)
        apply >> outcome
    return group
