"""Rewind a connector to the start of each run's data interval, on a schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.parameters.change import ApprovalParams, BackfillParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams, SparkConnectionParams
from airflow_provider_connect_offsets.sensors.backfill import BackfillTurnSensor

try:
    from airflow.sdk import CronDataIntervalTimetable
except ImportError:  # before Airflow 3.2
    from airflow.timetables.interval import CronDataIntervalTimetable  # type: ignore[assignment]


@ready_dag(
    BackfillParams,
    ApprovalParams,
    ConnectorConnectionParams,
    SparkConnectionParams,
    description="Rewind a connector to the start of the data interval",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    max_active_runs=16,
)
def connector_offsets_backfill(**values: Any) -> None:
    """### Deliver a data interval again

    Each run rewinds the connector to the start of its **data interval**, so that all records from there on are
    delivered again: on a schedule, or whenever you trigger it. Like any change (`connector_offsets_change`) it is
    planned, approved, applied, read back, and undone if anything fails.

    - Give the DAG file the connector, and a schedule with intervals:
      `connector_offsets_backfill(params={"connector": "orders-mirror", "approval": False}, catchup=True,
      start_date=…)`. A cron text has no intervals in Airflow 3; the default here is `CronDataIntervalTimetable("0 0 *
      * *", timezone="UTC")`.
    - If an interval begins further back than `max_rewind`, the run fails before anything is touched.
    - **One at a time**: a run waits while another one rewinds the connector. If several intervals wait, after an
      outage or after `airflow backfill create`, the connector is rewound to the earliest. That delivers the others
      too, so their runs are skipped, and their task `turn` names the run that did it.
    - To deliver an interval once more, clear its run, or backfill it with `--reprocess-behavior completed`.

    Records after the end of the interval are delivered again too. A partition whose position is before the start of
    the interval is left unchanged, so no unread record is skipped.
    """
    turn = BackfillTurnSensor(
        task_id="turn",
        connector=values["connector"],
        topics=values["topics"],
        max_rewind=values.pop("max_rewind"),
        retries=2,
        retry_delay=timedelta(seconds=10),
    )
    turn >> task_groups.guarded_offset_change(
        to="datetime", value="{{ data_interval_start.isoformat() }}", only_back=True, **values
    )
