"""A sensor that waits until a MirrorMaker 2 flow has replicated all records, or nearly all."""

from __future__ import annotations

from typing import ClassVar

from airflow_provider_connect_offsets.parameters.sensors import AwaitedLagParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor


class MirrorLagSensor(WaitingSensor):
    """Wait until a MirrorSource is no further behind its source than requested, in each partition of ``topics``.

    Without ``max_lag_records`` and ``max_lag_seconds`` it waits until no record is left: the flow is drained then, as a
    planned failover needs it once the producers are stopped. Transaction markers at the end of a log are not records;
    the records of an open transaction are, also under ``isolation.level=read_committed``.

    Offsets that the connector's worker has not flushed yet (``offset.flush.interval.ms``) count as not replicated.
    Fails if the connector lags behind, and it or one of its tasks has failed.
    """

    parameters: ClassVar[Models] = (AwaitedLagParams,)
    trigger_name = "mirror.MirrorLagTrigger"
