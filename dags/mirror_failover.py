from airflow_provider_connect_offsets.dags import mirror_failover

dag = mirror_failover()
