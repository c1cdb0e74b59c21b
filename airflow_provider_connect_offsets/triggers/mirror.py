"""Triggers that wait for a MirrorMaker 2 flow."""

from __future__ import annotations

from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.observe.lag import observe_lag
from airflow_provider_connect_offsets.observe.waiting import Observation
from airflow_provider_connect_offsets.parameters.sensors import AwaitedLagParams
from airflow_provider_connect_offsets.triggers.waiting import WaitingTrigger


class MirrorLagTrigger(WaitingTrigger):
    """Waits until a MirrorSource is no further behind than requested; see ``MirrorLagSensor``."""

    parameters = AwaitedLagParams
    awaited: AwaitedLagParams

    def observe(self) -> Observation:
        """Observe its offsets and the logs of the source cluster."""
        with open_clients(self.awaited, self.awaited.source_kafka_conn_id) as clients:
            return observe_lag(clients, self.awaited.connector, self.awaited)
