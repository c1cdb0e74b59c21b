"""Change where Kafka Connect connectors and MirrorMaker 2 flows resume, from Airflow.

Airflow imports this module while its configuration is still being read, so nothing may be imported here.
"""

__version__ = "1.0.0"
