from airflow_provider_connect_offsets.dags import mirror_failback

dag = mirror_failback()
