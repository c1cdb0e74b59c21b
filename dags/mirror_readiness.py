from airflow_provider_connect_offsets.dags import mirror_readiness

dag = mirror_readiness()
