"""Waiting for a MirrorMaker 2 flow: until it has replicated all there is, or nearly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.sensors.waiting import WaitingSensor

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger


class MirrorLagSensor(WaitingSensor):
    """Wait until a MirrorSource is no further behind its source than asked, in each partition of ``topics``.

    ``max_lag_records``: records that may be left to replicate. ``max_lag_seconds``: how old the oldest of them may be.
    Without either, nothing may be left: the flow is drained, as a planned failover wants it once the producers have
    stopped. That is decided by records: transaction markers at the end of a log are none, and an open transaction is
    one under ``isolation.level=read_committed``. ``topics``: a regular expression that matches whole names (empty:
    all). ``source_kafka_conn_id`` is the flow's source cluster.

    What the connector's worker has not flushed yet (``offset.flush.interval.ms``) counts as not replicated. Fails
    where the connector or a task of it has failed.
    """

    template_fields: Sequence[str] = (
        "connector",
        "topics",
        "max_lag_records",
        "max_lag_seconds",
        "connect_conn_id",
        "source_kafka_conn_id",
        "control",
    )

    def __init__(  # noqa: PLR0913 - what is waited for and where, each by its name
        self,
        *,
        connector: str,
        topics: str = "",
        max_lag_records: int | str | None = None,
        max_lag_seconds: int | str | None = None,
        connect_conn_id: str = "kafka_connect_default",
        source_kafka_conn_id: str = "kafka_source",
        control: str = "rest",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connector = connector
        self.topics = topics
        self.max_lag_records = max_lag_records
        self.max_lag_seconds = max_lag_seconds
        self.connect_conn_id = connect_conn_id
        self.source_kafka_conn_id = source_kafka_conn_id
        self.control = control

    def trigger(self) -> WaitingTrigger:
        """Wait for the lag to go."""
        from airflow_provider_connect_offsets.triggers.mirror import MirrorLagTrigger

        return MirrorLagTrigger(
            connector=self.connector,
            topics=self.topics,
            max_lag_records=self.max_lag_records,
            max_lag_seconds=self.max_lag_seconds,
            connect_conn_id=self.connect_conn_id,
            source_kafka_conn_id=self.source_kafka_conn_id,
            control=self.control,
            most=float(self.poke_interval),
            until=self.until,
        )
