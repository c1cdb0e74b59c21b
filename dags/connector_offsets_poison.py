from airflow_provider_connect_offsets.dags import connector_offsets_poison

dag = connector_offsets_poison()
