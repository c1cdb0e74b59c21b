from airflow_provider_connect_offsets.dags import connector_offsets_change

dag = connector_offsets_change()
