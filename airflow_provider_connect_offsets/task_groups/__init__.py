"""Airflow task groups, wired so that a change that was not applied never looks like success."""

from airflow_provider_connect_offsets.task_groups.failover import mirror_failback, mirror_failover
from airflow_provider_connect_offsets.task_groups.fleet import guarded_fleet_change
from airflow_provider_connect_offsets.task_groups.guarded import guarded_offset_change
from airflow_provider_connect_offsets.task_groups.mirror_reset import mirror_reset
from airflow_provider_connect_offsets.task_groups.orphans import orphaned_offsets
from airflow_provider_connect_offsets.task_groups.readiness import mirror_readiness

__all__ = [
    "guarded_fleet_change",
    "guarded_offset_change",
    "mirror_failback",
    "mirror_failover",
    "mirror_readiness",
    "mirror_reset",
    "orphaned_offsets",
]
