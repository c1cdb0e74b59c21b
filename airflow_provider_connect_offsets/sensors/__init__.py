"""Airflow sensors: they wait in a worker's slot or, deferred, in a triggerer.

``connector`` states and positions · ``group`` consumer groups · ``mirror`` lag of a MirrorMaker 2 flow · ``backfill``
a run's turn to deliver its data interval again · ``waiting`` what they share.
"""

from airflow_provider_connect_offsets.sensors.backfill import BackfillTurnSensor
from airflow_provider_connect_offsets.sensors.connector import ConnectorPositionSensor, ConnectorStateSensor
from airflow_provider_connect_offsets.sensors.group import ConsumerGroupInactiveSensor
from airflow_provider_connect_offsets.sensors.mirror import MirrorLagSensor

__all__ = [
    "BackfillTurnSensor",
    "ConnectorPositionSensor",
    "ConnectorStateSensor",
    "ConsumerGroupInactiveSensor",
    "MirrorLagSensor",
]
