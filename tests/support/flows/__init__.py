"""Connectors, flows and consumer groups of the sandbox, and operations on them without Airflow."""
