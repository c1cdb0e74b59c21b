"""What the pages that Airflow's API server renders show besides reports."""
