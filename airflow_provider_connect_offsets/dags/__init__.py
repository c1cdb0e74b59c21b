"""Ready DAGs: your DAG file calls one of these functions, and may give other defaults.

::

    from airflow_provider_connect_offsets.dags import connector_offsets_change

    dag = connector_offsets_change(params={"connect_conn_id": "connect_orders"})
"""

from airflow_provider_connect_offsets.dags.connector_offsets_backfill import connector_offsets_backfill
from airflow_provider_connect_offsets.dags.connector_offsets_change import connector_offsets_change
from airflow_provider_connect_offsets.dags.connector_offsets_copy import connector_offsets_copy
from airflow_provider_connect_offsets.dags.connector_offsets_fleet import connector_offsets_fleet
from airflow_provider_connect_offsets.dags.connector_offsets_orphans import connector_offsets_orphans
from airflow_provider_connect_offsets.dags.connector_offsets_poison import connector_offsets_poison
from airflow_provider_connect_offsets.dags.connector_offsets_restore import connector_offsets_restore
from airflow_provider_connect_offsets.dags.connector_offsets_snapshot import connector_offsets_snapshot
from airflow_provider_connect_offsets.dags.connector_offsets_stepwise import connector_offsets_stepwise
from airflow_provider_connect_offsets.dags.group_offsets_change import group_offsets_change
from airflow_provider_connect_offsets.dags.mirror.mirror_failback import mirror_failback
from airflow_provider_connect_offsets.dags.mirror.mirror_failover import mirror_failover
from airflow_provider_connect_offsets.dags.mirror.mirror_failover_restore import mirror_failover_restore
from airflow_provider_connect_offsets.dags.mirror.mirror_readiness import mirror_readiness
from airflow_provider_connect_offsets.dags.mirror.mirror_reset import mirror_reset

__all__ = [
    "connector_offsets_backfill",
    "connector_offsets_change",
    "connector_offsets_copy",
    "connector_offsets_fleet",
    "connector_offsets_orphans",
    "connector_offsets_poison",
    "connector_offsets_restore",
    "connector_offsets_snapshot",
    "connector_offsets_stepwise",
    "group_offsets_change",
    "mirror_failback",
    "mirror_failover",
    "mirror_failover_restore",
    "mirror_readiness",
    "mirror_reset",
]
