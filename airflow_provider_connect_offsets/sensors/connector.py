"""Sensors that wait until a connector is in a state, or has reached its positions."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.sensors import AwaitedPositionParams, AwaitedStateParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor


class ConnectorStateSensor(WaitingSensor):
    """Wait until a connector and all its tasks are in ``state``: RUNNING, PAUSED, STOPPED (without tasks) or FAILED.

    FAILED is reached when the connector or any of its tasks has failed. While RUNNING or PAUSED is awaited, a failed
    task fails the sensor with the first line of its trace, as waiting longer would not repair it.
    """

    parameters: ClassVar[Models] = (AwaitedStateParams,)
    trigger_name = "waiting.ConnectorStateTrigger"


class ConnectorPositionSensor(WaitingSensor):
    """Wait until a connector has read far enough, for example until it has caught up after a replay.

    By default it waits until at most ``max_lag`` records are left to read in each partition; with ``position``, until
    each partition is at that position or after it. All partitions count that the connector reads or has an offset for,
    unless ``topics`` and ``partitions`` select some of them. Positions that a source connector has not flushed yet are
    not observed. Transaction markers are not records: a connector that has read all records has caught up, even if
    markers follow. Which records count is decided by its own ``isolation.level`` (of a sink
    ``consumer.override.isolation.level``).

    Fails if the connector is behind, and it or one of its tasks has failed.
    """

    parameters: ClassVar[Models] = (AwaitedPositionParams,)
    trigger_name = "waiting.ConnectorPositionTrigger"
