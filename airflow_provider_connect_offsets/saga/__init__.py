"""Sagas: operations as lists of stages that one executor carries out, undoes, and takes up after a death.

Nothing in here knows Kafka or Airflow; what an operation does stands in its stages (``change.*_stages``).
"""
