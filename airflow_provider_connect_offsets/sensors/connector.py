"""Waiting for a connector to be in a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseSensorOperator

from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotRunning
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook

if TYPE_CHECKING:
    from airflow.sdk import Context


class ConnectorStateSensor(BaseSensorOperator):
    """Wait until a connector and all its tasks are in ``state``: RUNNING, PAUSED, STOPPED (without tasks) or FAILED.

    FAILED is reached when the connector or any of its tasks has failed. While another state is waited for, a failed
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

    def poke(self, context: Context) -> bool:
        """Look once."""
        from airflow_provider_connect_offsets.change.steps import is_in  # noqa: PLC0415
        from airflow_provider_connect_offsets.stores.protocols import State  # noqa: PLC0415

        del context
        with failing_clearly():
            if self.state not in {State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED}:
                raise InvalidRequest(f"{self.connector!r}: {self.state!r} is none of RUNNING, PAUSED, STOPPED, FAILED.")
            with KafkaConnectHook(self.connect_conn_id).get_conn() as connect:
                status = connect.status(self.connector)
            tasks = ", ".join(task.state.value for task in status.tasks) or "none"
            self.log.info("%r is %s; its tasks: %s", self.connector, status.state, tasks)
            if self.state == State.FAILED:
                return status.has_failed
            if status.has_failed:
                raise NotRunning(f"{self.connector!r} was awaited to be {self.state}, but has failed: {status.cause}")
            return is_in(status, State(self.state))
