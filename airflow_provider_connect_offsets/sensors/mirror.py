"""Waiting for a MirrorMaker 2 flow: until it has replicated all there is, or nearly."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.sensors import AwaitedLagParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor


class MirrorLagSensor(WaitingSensor):
    """Wait until a MirrorSource is no further behind its source than requested, in each partition of ``topics``.

    Without ``max_lag_records`` and ``max_lag_seconds`` nothing may be left: the flow is drained, as a planned failover
    needs it once the producers have stopped. Records decide: transaction markers at the end of a log are none, and an
    open transaction is one under ``isolation.level=read_committed``.

    What the connector's worker has not flushed yet (``offset.flush.interval.ms``) counts as not replicated. Fails if
    the connector or a task of it has failed.
    """

    parameters: ClassVar[Models] = (AwaitedLagParams,)
    trigger_name = "mirror.MirrorLagTrigger"
