"""Airflow task groups, wired so that a change that was not applied never looks like success."""

from airflow_provider_connect_offsets.task_groups.changes import (
    bounded_replay,
    guarded_fleet_change,
    guarded_offset_change,
    mirror_reset,
)
from airflow_provider_connect_offsets.task_groups.failover import mirror_failback, mirror_failover
from airflow_provider_connect_offsets.task_groups.observing import mirror_readiness, orphaned_offsets

__all__ = [
    "bounded_replay",
    "guarded_fleet_change",
    "guarded_offset_change",
    "mirror_failback",
    "mirror_failover",
    "mirror_readiness",
    "mirror_reset",
    "orphaned_offsets",
]
