"""Mistakes that mypy and pyright find in a DAG file, each on a line that says so.

No test runs this file. ``make lint`` fails if one of the mistakes is not found, as its comment is unused then.
"""

from __future__ import annotations

from datetime import timedelta

from airflow_provider_connect_offsets.dags import connector_offsets_change, mirror_failover
from airflow_provider_connect_offsets.operators import (
    AlterConnectorOffsetsOperator,
    PlanConnectorOffsetsOperator,
    SnapshotConnectorOffsetsOperator,
    StopConnectorOperator,
)
from airflow_provider_connect_offsets.sensors import ConnectorStateSensor
from airflow_provider_connect_offsets.task_groups import guarded_offset_change, skipped_poison_record


def fine() -> None:
    """What is no mistake: templates, what another task returns, and arguments of Airflow's own."""
    snapshot = SnapshotConnectorOffsetsOperator(task_id="snapshot", connector="{{ params.connector }}", to="earliest")
    PlanConnectorOffsetsOperator(task_id="plan", run_uri=snapshot.output, conf={"a": "b"}, retries=3)
    ConnectorStateSensor(task_id="sensor", connector="orders", state="RUNNING", timeout=timedelta(minutes=5))
    guarded_offset_change(connector="orders", to="datetime", value="2026-01-31T03:00:00+01:00", plan_ttl=timedelta(1))
    connector_offsets_change(dag_id="orders", params={"connector": "orders"}, pinned={"approval": True}, tags=["a"])


def names() -> None:
    """Arguments that are called otherwise, or that are missing."""
    StopConnectorOperator(task_id="s", connectr="typo")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    AlterConnectorOffsetsOperator(connector="orders")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    guarded_offset_change(connector="orders")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mirror_failover(parameters={})  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def types() -> None:
    """Values of another type, and choices that there are not."""
    StopConnectorOperator(task_id="s", connector=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    guarded_offset_change(connector="o", to="begin")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    skipped_poison_record(connector=["o"])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    mirror_failover(params={"planned": []})  # type: ignore[typeddict-item]  # pyright: ignore[reportArgumentType]
    mirror_failover(params={"plan": True})  # type: ignore[typeddict-unknown-key]  # pyright: ignore[reportArgumentType]
