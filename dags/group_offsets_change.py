from airflow_provider_connect_offsets.dags import group_offsets_change

dag = group_offsets_change()
