"""Tell again and again how ready a MirrorMaker 2 flow is for a failover."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.parameters.flow import ReadinessThresholdsParams
from airflow_provider_connect_offsets.task_groups.observing import READINESS


@ready_dag(
    *READINESS,
    description="Lag, loss, coverage and re-reads of a MirrorMaker 2 flow, were a failover to happen now",
    schedule="*/15 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    max_active_runs=1,
    tags=["mirrormaker2"],
)
def mirror_readiness(**values: Any) -> None:
    """### Is the flow ready for a failover?

    Observes a MirrorMaker 2 flow and changes nothing: its connectors, the offsets that MirrorSource has stored, the
    logs of both clusters, offset syncs, checkpoints, and consumer groups. A Spark job judges

    - **lag** of each partition, in records and by the age of the oldest one,
    - **loss**: records that retention took before they were replicated, topics that were deleted and created again on
      either side,
    - connectors that do not run, tasks that failed, partitions that are **stuck**,
    - **offset syncs** that are missing or too old, **checkpoints** that are,
    - **coverage and re-reads** of each group, were a failover to happen now,
    - what of the flow's **configuration** makes a failover worse.

    The report of a run shows all of it, with the lag over time. The last task fails if a threshold is crossed, and
    names the worst. Set a threshold to 0 to have it shown only. The defaults of the Params are those of a dedicated
    MirrorMaker: change the names and connections for yours, in a copy of this file or by triggering it yourself.
    """
    thresholds = {name: values.pop(name) for name in ReadinessThresholdsParams.model_fields}
    task_groups.mirror_readiness(thresholds=thresholds, **values)
