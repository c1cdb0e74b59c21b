"""The same change as ``connector_offsets_change``, with one operator per step, as a start for DAGs of your own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator

from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator, BeginOffsetChangeOperator
from airflow_provider_connect_offsets.operators.connector import (
    AlterConnectorOffsetsOperator,
    GetConnectorOffsetsOperator,
    ResumeConnectorOperator,
    StopConnectorOperator,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.snapshot import SnapshotConnectorOffsetsOperator
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.task_groups.changes import CHANGE
from airflow_provider_connect_offsets.task_groups.wiring import Task, ask

#: Seconds for which the run holds the lease of the connector between two tasks.
LEASE_SECONDS = 3600


@ready_dag(
    *CHANGE, description="Change where a connector resumes, one operator per step", hours=0.5, max_active_runs=16
)
def connector_offsets_stepwise(**values: Any) -> None:
    """### Change where a connector resumes, step by step

    The same Params, checks and guarantees as `connector_offsets_change`, laid out in single steps:
    get → plan on Spark → approve → begin → stop → alter → read back → resume, with the restore as teardown. Copy it
    to put a step of your own between two of these.

    The connector is stopped from `stop` to `resume`, and Airflow takes about a second between two tasks, more if it is
    busy. If downtime matters, use `connector_offsets_change`, which does all of that in one task.
    """
    clients = {name: values[name] for name in fields_of(ConnectorConnectionParams)}
    step = {"connector": values["connector"], **clients}

    get = SnapshotConnectorOffsetsOperator(
        task_id="get",
        **{name: values[name] for name in ("connector", "to", "value", "topics", "partitions", "columns")},
        **clients,
    )
    run_uri: Any = get.output
    plan = PlanConnectorOffsetsOperator(task_id="plan", run_uri=run_uri, conn_id=values["spark_conn_id"])
    summary: Any = plan.output
    approve = ask(Task(task_id="approve", operator=ApproveOffsetPlanOperator), values, summary=summary)
    begin = BeginOffsetChangeOperator(task_id="begin", run_uri=run_uri, hold=LEASE_SECONDS, **clients)
    begun: Any = begin.output
    stop = StopConnectorOperator(task_id="stop", **step)
    alter = AlterConnectorOffsetsOperator(task_id="alter", run_uri=run_uri, digest=summary["digest"], **step)
    read_back = GetConnectorOffsetsOperator(task_id="read_back", run_uri=run_uri, **step)
    resume = ResumeConnectorOperator(task_id="resume", state=begun["state"], **step)
    restore = RestoreConnectorOffsetsOperator(
        task_id="restore", run_uri=run_uri, retries=10, retry_delay=timedelta(seconds=10), **clients
    )
    outcome = EmptyOperator(task_id="outcome")

    plan >> approve >> begin.as_setup() >> stop >> alter >> read_back >> resume  # type: ignore[no-untyped-call]
    resume >> restore.as_teardown(setups=begin, on_failure_fail_dagrun=True)
    resume >> outcome
