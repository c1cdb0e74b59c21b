from airflow_provider_connect_offsets.dags import mirror_failover_restore

dag = mirror_failover_restore()
