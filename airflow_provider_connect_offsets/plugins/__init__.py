"""The plugin of Airflow's API server: an app that serves reports."""
