"""Waiting for a connector: until it is in a state, or has come far enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger


class ConnectorStateSensor(WaitingSensor):
    """Wait until a connector and all its tasks are in ``state``: RUNNING, PAUSED, STOPPED (without tasks) or FAILED.

    FAILED is reached when the connector or any of its tasks has failed. While RUNNING or PAUSED is waited for, a failed
    task fails the sensor, with the first line of its trace: waiting longer would not mend it.
    """

    template_fields: Sequence[str] = ("connector", "state", "connect_conn_id")

    def __init__(
        self,
        *,
        connector: str,
        state: str = "RUNNING",
        connect_conn_id: str = "kafka_connect_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.state = state
        self.connect_conn_id = connect_conn_id

    def trigger(self) -> WaitingTrigger:
        """Wait for the state."""
        from airflow_provider_connect_offsets.triggers.waiting import ConnectorStateTrigger

        return ConnectorStateTrigger(
            connector=self.connector,
            state=self.state,
            connect_conn_id=self.connect_conn_id,
            most=float(self.poke_interval),
            until=self.until,
        )


class ConnectorPositionSensor(WaitingSensor):
    """Wait until a connector has come far enough: after a replay, say, until it has caught up.

    By default until at most ``max_lag`` records are left to read in each partition; with ``position``, until each is at
    that position or beyond. All partitions count that it reads or has an offset for; ``topics`` (a regular expression
    that matches whole names) and ``partitions`` (like ``0,3-5``) narrow it down. ``kafka_conn_id`` is the cluster that
    the positions refer to. What a source connector has not flushed yet is not seen. Transaction markers are no records:
    a connector that has read all records has caught up, though it never gets to the log end behind a marker. Which
    records it reads is told by its own ``isolation.level`` (of a sink ``consumer.override.isolation.level``).
    """

    template_fields: Sequence[str] = (
        "connector",
        "topics",
        "partitions",
        "position",
        "max_lag",
        "connect_conn_id",
        "kafka_conn_id",
    )

    def __init__(  # noqa: PLR0913 - what is waited for and where, each by its name
        self,
        *,
        connector: str,
        topics: str = "",
        partitions: str = "",
        position: int | str | None = None,
        max_lag: int | str = 0,
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str = "kafka_default",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.topics = topics
        self.partitions = partitions
        self.position = position
        self.max_lag = max_lag
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id

    def trigger(self) -> WaitingTrigger:
        """Wait for the positions."""
        from airflow_provider_connect_offsets.triggers.waiting import ConnectorPositionTrigger

        return ConnectorPositionTrigger(
            connector=self.connector,
            topics=self.topics,
            partitions=self.partitions,
            position=self.position,
            max_lag=self.max_lag,
            connect_conn_id=self.connect_conn_id,
            kafka_conn_id=self.kafka_conn_id,
            most=float(self.poke_interval),
            until=self.until,
        )
