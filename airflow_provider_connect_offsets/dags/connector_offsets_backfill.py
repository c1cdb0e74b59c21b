"""Deliver each run's data interval again, on a schedule: by a rewind, or by a replay that ends with the interval."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.providers.standard.operators.python import BranchPythonOperator

from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.parameters.backfill import BackfillParams
from airflow_provider_connect_offsets.parameters.change import ApprovalParams, FleetLimitsParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams, SparkConnectionParams
from airflow_provider_connect_offsets.parameters.taking import select_accepted
from airflow_provider_connect_offsets.sensors.backfill import BackfillTurnSensor
from airflow_provider_connect_offsets.task_groups import bounded_replay, guarded_fleet_change, guarded_offset_change
from airflow_provider_connect_offsets.task_groups.wiring import RETRIES, select_arguments

try:
    from airflow.sdk import CronDataIntervalTimetable
except ImportError:  # before Airflow 3.2
    from airflow.timetables.interval import CronDataIntervalTimetable  # type: ignore[assignment]


@ready_dag(
    BackfillParams,
    FleetLimitsParams,
    ApprovalParams,
    ConnectorConnectionParams,
    SparkConnectionParams,
    description="Deliver each data interval again",
    schedule=CronDataIntervalTimetable("0 0 * * *", timezone="UTC"),
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    max_active_runs=16,
)
def connector_offsets_backfill(**values: Any) -> None:
    """### Deliver a data interval again

    Each run delivers the records of its **data interval** again: on a schedule, or whenever you trigger it. Like any
    change (`connector_offsets_change`), this is planned, approved, made, read back, and undone if anything fails.

    | mode | what is delivered again | how |
    |---|---|---|
    | `rewind` | everything from the start of the interval on | the connector is stopped and rewound |
    | `replay` | the interval only | a temporary clone delivers it and is deleted; the connector keeps running |

    - Give the DAG file the connector, and a schedule with intervals:
      `connector_offsets_backfill(params={"connector": "orders-mirror", "approval": False}, catchup=True,
      start_date=…)`. A cron text has no intervals in Airflow 3; the default here is `CronDataIntervalTimetable("0 0 *
      * *", timezone="UTC")`.
    - `connectors`, a regular expression, in place of `connector` rewinds all that match, `max_down` at a time.
    - `window`, like `22:00-06:00 Europe/Berlin`: a run waits until it opens. A run that has begun in it finishes. If an
      approval comes after the window has closed, the run fails before anything is stopped; clear its task `turn`.
    - If an interval begins further back than `max_rewind`, the run fails before anything is touched.
    - **One at a time**: a run waits while another one is at work on the connector. If several intervals wait for a
      rewind, after an outage or after `airflow backfill create`, the connector is rewound to the earliest. That
      delivers the others too, so their runs are skipped, and their task `turn` names the run that did it. A replay
      delivers each interval in its own run.
    - To deliver an interval once more, clear its run, or backfill it with `--reprocess-behavior completed`.

    **Rewind**: records after the end of the interval are delivered again too. A partition whose position is before the
    start of the interval is left unchanged, so no unread record is skipped.

    **Replay**: for sinks and MirrorSources. It delivers from the offset of the interval's start to that of its end. The
    clone has a name and a consumer group of its own. It can't be stopped at an exact record, so what it delivers
    after the end is counted and reported. If it fails, or has not delivered the interval after `replay_limit`, it is
    removed, and the message says how far it had come.
    """
    mode, connectors = values["mode"], values["connectors"]
    begins, ends = "{{ data_interval_start.isoformat() }}", "{{ data_interval_end.isoformat() }}"
    turn = BackfillTurnSensor(task_id="turn", kind=mode, **select_accepted(BackfillTurnSensor, values), **RETRIES)
    way = BranchPythonOperator(task_id="way", python_callable=_way, op_kwargs={"mode": mode, "connectors": connectors})
    start: dict[str, Any] = {"to": "datetime", "value": begins, "only_back": True}
    turn >> way
    way >> guarded_offset_change(**select_arguments(guarded_offset_change, values), **start)
    way >> guarded_fleet_change(group_id="fleet", **select_arguments(guarded_fleet_change, values), **start)
    way >> bounded_replay(begins=begins, ends=ends, **select_arguments(bounded_replay, values))


def _way(*, mode: str, connectors: str) -> str:
    """Choose the first task of a replay, of a fleet's rewind, or of a rewind."""
    if mode == "replay":
        return "replay.snapshot"
    return "fleet.snapshot" if connectors else "change.snapshot"
