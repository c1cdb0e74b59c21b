"""What Airflow's API server gets from this package: an app that serves reports."""
