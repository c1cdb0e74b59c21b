from airflow_provider_connect_offsets.dags import mirror_reset

dag = mirror_reset()
