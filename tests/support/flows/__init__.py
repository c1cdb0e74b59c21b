"""Connectors and flows of MirrorMaker 2 that really run in the sandbox, and operations on them without Airflow."""
