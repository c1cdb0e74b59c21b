"""Restore the offsets of many connectors to those of a kept snapshot."""

from __future__ import annotations

from typing import Any

from airflow_provider_connect_offsets import task_groups
from airflow_provider_connect_offsets.dags.ready import ready_dag
from airflow_provider_connect_offsets.task_groups.snapshots import RESTORE


@ready_dag(*RESTORE, description="Restore the offsets of a kept snapshot", hours=2, max_active_runs=4)
def connector_offsets_restore(**values: Any) -> None:
    """### Restore the offsets of a kept snapshot

    Every connector in the snapshot whose whole name matches `connectors` gets the offsets that it had then.
    `snapshot_uri` is in the report of the run of `connector_offsets_snapshot` that took it.

    **What happens**: the snapshot is read back and checked. Connectors that no longer exist, or that read other topics
    now, are named; a connector of another class refuses the restore. Then it goes on as `connector_offsets_fleet`: one
    Spark application plans each connector, and shows how many records would be delivered again or never. Someone
    approves all plans once (Required Actions). Only then are they applied, `max_down` connectors at a time. A connector
    that fails gets its offsets from before the restore again, and after `max_failures` no further one is stopped.

    A partition that has an offset now and had none in the snapshot keeps it, unless `clear_new` is true. Positions are
    checked against the logs of the one cluster that `kafka_conn_id` names: restore MirrorSources and sinks of different
    clusters in runs of their own.
    """
    task_groups.guarded_snapshot_restore(**values)
