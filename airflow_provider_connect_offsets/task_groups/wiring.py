"""How the tasks of a change hang together so that one that was not applied fails the run; for one connector or many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator


@dataclass(frozen=True, slots=True)
class Kit:
    """The operators of a change."""

    snapshot: type[Any]
    plan: type[Any]
    approve: type[ApproveOffsetPlanOperator]
    begin: type[Any]
    apply: type[Any]
    restore: type[Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the tasks of a change are told: ``asked`` goes to the snapshot, ``applying`` to apply, ``spark`` to plan."""

    asked: Mapping[str, Any]
    approval: bool | str
    dry_run: bool | str
    approval_timeout: timedelta | None
    plan_ttl: timedelta
    clients: Mapping[str, str]
    spark_conn_id: str
    spark: Mapping[str, Any]
    applying: Mapping[str, Any] = field(default_factory=dict)


def wire(kit: Kit, wanted: Wanted, *, group_id: str) -> TaskGroup:
    """Snapshot, plan, approve, begin, apply, outcome, and restore as teardown.

    ``begin`` is the setup, so that ``restore`` runs whatever becomes of ``apply``; ``outcome`` is the leaf that is no
    teardown, without which a failed ``apply`` would count as a successful run.
    """
    retrying: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
    with TaskGroup(group_id) as group:
        snapshot = kit.snapshot(task_id="snapshot", **wanted.asked, **wanted.clients, **retrying)
        located: dict[str, Any] = {"run_uri": snapshot.output, **wanted.clients}
        planning = {**retrying, **wanted.spark}
        plan = kit.plan(task_id="plan", run_uri=snapshot.output, conn_id=wanted.spark_conn_id, **planning)
        approve = kit.approve(
            task_id="approve",
            summary=plan.output,
            approval=wanted.approval,
            plan_only=wanted.dry_run,
            defaults=ApproveOffsetPlanOperator.REJECT,
            response_timeout=wanted.approval_timeout,
            retries=0,  # no second question
        )
        begin = kit.begin(task_id="begin", plan_ttl=wanted.plan_ttl.total_seconds(), **located, **retrying)
        apply = kit.apply(task_id="apply", digest=plan.output["digest"], **wanted.applying, **located, **retrying)
        restore = kit.restore(task_id="restore", **located, retries=10, retry_delay=timedelta(seconds=10))
        outcome = EmptyOperator(task_id="outcome")
        plan >> approve >> begin.as_setup() >> apply
        apply >> restore.as_teardown(setups=begin, on_failure_fail_dagrun=True)
        apply >> outcome
    return group
