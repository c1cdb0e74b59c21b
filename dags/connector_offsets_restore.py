from airflow_provider_connect_offsets.dags import connector_offsets_restore

dag = connector_offsets_restore()
