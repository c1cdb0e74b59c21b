"""Report on a schedule how ready a MirrorMaker 2 flow is for a failover: lag, loss, coverage, re-reads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.offsets.requests.readiness import Thresholds
from airflow_provider_connect_offsets.task_groups.observing import READINESS


@ready_dag(
    *READINESS,
    description="Lag, loss, coverage and re-reads of a MirrorMaker 2 flow, were a failover to happen now",
    schedule="*/15 * * * *",
    scheduled_with="source_connector",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_readiness(**values: Any) -> None:
    """### Is the flow ready for a failover?

    Observes a MirrorMaker 2 flow and changes nothing. It reads its connectors, the offsets that MirrorSource has
    stored, the logs of both clusters, offset syncs, checkpoints, and consumer groups. A Spark job judges

    - **lag** of each partition, in records and by the age of the oldest one,
    - **loss**: records that retention deleted before they were replicated, and topics that were deleted and created
      again on either cluster,
    - connectors that are not running, failed tasks, and partitions that are **stuck**,
    - missing or old **offset syncs** and **checkpoints**,
    - **coverage and re-reads** of each group, if a failover happened now,
    - settings in the flow's **configuration** that make a failover worse.

    The report of a run shows all of it, with the lag over time. If a threshold is exceeded, the last task fails and
    names the worst finding. With a threshold of 0, the value is only shown.

    Name the flow in the DAG file, and a run starts every 15 minutes:
    `mirror_readiness(params={"source_connector": "orders-mirror", "checkpoint_connector": "orders-checkpoints"})`. The
    Params' defaults are the names of a dedicated MirrorMaker 2.
    """
    thresholds = {name: values.pop(name) for name in fields_of(Thresholds)}
    task_groups.mirror_readiness(thresholds=thresholds, **values)
