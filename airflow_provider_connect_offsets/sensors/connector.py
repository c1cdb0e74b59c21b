"""Waiting for a connector: until it is in a state, or has come far enough."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.sensors import AwaitedPositionParams, AwaitedStateParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor


class ConnectorStateSensor(WaitingSensor):
    """Wait until a connector and all its tasks are in ``state``: RUNNING, PAUSED, STOPPED (without tasks) or FAILED.

    FAILED is reached when the connector or any of its tasks has failed. While RUNNING or PAUSED is awaited, a failed
    task fails the sensor with the first line of its trace: waiting longer would not mend it.
    """

    parameters: ClassVar[Models] = (AwaitedStateParams,)
    trigger_name = "waiting.ConnectorStateTrigger"


class ConnectorPositionSensor(WaitingSensor):
    """Wait until a connector has come far enough: after a replay, say, until it has caught up.

    By default until at most ``max_lag`` records are left to read in each partition; with ``position``, until each is at
    that position or beyond. All partitions count that it reads or has an offset for, unless ``topics`` and
    ``partitions`` narrow them down. What a source connector has not flushed yet is not observed. Transaction markers
    are no records: a connector that has read all records has caught up, though it never reaches the log end behind a
    marker. Its own ``isolation.level`` decides which records it reads (of a sink
    ``consumer.override.isolation.level``).
    """

    parameters: ClassVar[Models] = (AwaitedPositionParams,)
    trigger_name = "waiting.ConnectorPositionTrigger"
