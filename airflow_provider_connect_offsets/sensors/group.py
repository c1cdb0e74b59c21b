"""Waiting for a consumer group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger


class ConsumerGroupInactiveSensor(WaitingSensor):
    """Wait until consumer group ``group`` has no members: only then its offsets may be changed."""

    template_fields: Sequence[str] = ("group", "kafka_conn_id")

    def __init__(self, *, group: str, kafka_conn_id: str = "kafka_default", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.group = group
        self.kafka_conn_id = kafka_conn_id

    def trigger(self) -> WaitingTrigger:
        """Wait for its last member to go."""
        from airflow_provider_connect_offsets.triggers.waiting import ConsumerGroupInactiveTrigger

        return ConsumerGroupInactiveTrigger(
            group=self.group, kafka_conn_id=self.kafka_conn_id, most=float(self.poke_interval), until=self.until
        )
