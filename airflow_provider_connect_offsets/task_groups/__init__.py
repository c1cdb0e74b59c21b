"""Airflow task groups, wired so that a change that was not applied never looks like success."""
