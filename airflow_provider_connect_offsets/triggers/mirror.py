"""Triggers that wait for a MirrorMaker 2 flow."""

from __future__ import annotations

from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
from airflow_provider_connect_offsets.observe.lag import AwaitedLag, observe_lag
from airflow_provider_connect_offsets.observe.waiting import Observation
from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger


class MirrorLagTrigger(WaitingTrigger):
    """Waits until a MirrorSource is as little behind as asked; see ``MirrorLagSensor``."""

    def __init__(  # noqa: PLR0913 - what a sensor hands on, each by its name
        self,
        *,
        connector: str,
        topics: str,
        max_lag_records: int | str | None,
        max_lag_seconds: int | str | None,
        connect_conn_id: str,
        source_kafka_conn_id: str,
        control: str,
        most: float,
        until: float | None = None,
    ) -> None:
        super().__init__(
            most=most,
            until=until,
            connector=connector,
            topics=topics,
            max_lag_records=max_lag_records,
            max_lag_seconds=max_lag_seconds,
            connect_conn_id=connect_conn_id,
            source_kafka_conn_id=source_kafka_conn_id,
            control=control,
        )

    def observe(self) -> Observation:
        """Look at its offsets and at the source's logs."""
        awaited = AwaitedLag.parse(
            **{name: self.asked[name] for name in ("topics", "max_lag_records", "max_lag_seconds")}
        )
        kafka = self.asked["source_kafka_conn_id"]
        with (
            open_clients(self.asked["connect_conn_id"], kafka, control=self.asked["control"]) as opened,
            kafka_cluster(kafka) as source,
        ):
            return observe_lag(opened.clients, self.asked["connector"], source.logs, awaited)
