"""Airflow task groups, wired so that a change that was not applied never looks like success."""

from airflow_provider_connect_offsets.task_groups.changes import (
    bounded_replay,
    guarded_fleet_change,
    guarded_group_change,
    guarded_offset_change,
    mirror_reset,
)
from airflow_provider_connect_offsets.task_groups.failover import mirror_failback, mirror_failover
from airflow_provider_connect_offsets.task_groups.observing import mirror_readiness, orphaned_offsets
from airflow_provider_connect_offsets.task_groups.poison import skipped_poison_record
from airflow_provider_connect_offsets.task_groups.snapshots import connector_snapshot, guarded_snapshot_restore

__all__ = [
    "bounded_replay",
    "connector_snapshot",
    "guarded_fleet_change",
    "guarded_group_change",
    "guarded_offset_change",
    "guarded_snapshot_restore",
    "mirror_failback",
    "mirror_failover",
    "mirror_readiness",
    "mirror_reset",
    "orphaned_offsets",
    "skipped_poison_record",
]
