"""Waiting for a consumer group."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.sensors import AwaitedGroupParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor


class ConsumerGroupInactiveSensor(WaitingSensor):
    """Wait until a consumer group has no members: only then its offsets may be changed."""

    parameters: ClassVar[Models] = (AwaitedGroupParams,)
    trigger_name = "waiting.ConsumerGroupInactiveTrigger"
