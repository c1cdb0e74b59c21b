"""Airflow triggers: what deferred tasks wait for without a worker's slot."""
