"""DAG runs by ``airflow``, the scheduler or the UI, DAGs whose tasks break, and the results of runs."""
