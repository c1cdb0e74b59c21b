"""A sensor that waits until a consumer group has no members."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.sensors import AwaitedGroupParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor


class ConsumerGroupInactiveSensor(WaitingSensor):
    """Wait until a consumer group has no members; its offsets may be changed only then."""

    parameters: ClassVar[Models] = (AwaitedGroupParams,)
    trigger_name = "waiting.ConsumerGroupInactiveTrigger"
