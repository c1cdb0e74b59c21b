"""The Airflow plugin: an app of the API server that serves reports."""
