from airflow_provider_connect_offsets.dags import connector_offsets_snapshot

dag = connector_offsets_snapshot()
