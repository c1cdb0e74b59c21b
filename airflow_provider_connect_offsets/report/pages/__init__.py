"""What the pages that Airflow's API server renders show, beside reports."""
