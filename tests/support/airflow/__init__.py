"""DAG runs under Airflow: started by its command, its scheduler or its UI, and what Airflow says of them."""
