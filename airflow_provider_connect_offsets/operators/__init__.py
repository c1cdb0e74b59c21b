"""Airflow operators: thin; what they do stands in the other rooms."""
