"""A change that only some people may approve, of one Connect cluster."""

from __future__ import annotations

from airflow_provider_connect_offsets.dags.connector_offsets_change import connector_offsets_change

connector_offsets_change(
    dag_id="strict_change",
    pinned={"approval": False, "connect_conn_id": "kafka_connect_default", "kafka_conn_id": "kafka_default"},
    approvers=["ada"],
)
