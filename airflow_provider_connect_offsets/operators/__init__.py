"""Airflow operators: thin, as the other rooms do the work."""
