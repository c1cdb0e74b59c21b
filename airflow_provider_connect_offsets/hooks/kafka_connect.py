"""The ``kafka_connect`` connection: a Connect cluster's REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.hooks.connect_endpoint import CONN_TYPE, EXAMPLE, STORAGE_FIELDS, endpoint_of
from airflow_provider_connect_offsets.hooks.connections import connection_of, extra_of

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest

_TEST_TIMEOUT = 5.0


class KafkaConnectHook(BaseHook):
    """Opens the REST API of a Connect cluster.

    ``timeout``: for how many seconds rebalances and starting workers are waited for.
    """

    conn_name_attr = "connect_conn_id"
    default_conn_name = "kafka_connect_default"
    conn_type = CONN_TYPE
    hook_name = "Kafka Connect"

    def __init__(self, connect_conn_id: str = default_conn_name, *, timeout: float = 60.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.connect_conn_id = connect_conn_id
        self.timeout = timeout

    def endpoint(self) -> ConnectEndpoint:
        """Read the connection.

        Raises ``InvalidInput`` where it is missing, or something in it can't be used.
        """
        connection = connection_of(self.connect_conn_id, conn_type=self.conn_type, example=EXAMPLE)
        return endpoint_of(connection)

    def get_conn(self) -> ConnectRest:
        """Open the REST API; use it as a context manager. Raises as ``endpoint`` does."""
        return self._open(self.timeout)

    def test_connection(self) -> tuple[bool, str]:
        """Ask a worker who it is and how many connectors it has; where no host is named, look into the storage."""
        try:
            connection = connection_of(self.connect_conn_id, conn_type=self.conn_type, example=EXAMPLE)
            if not connection.host and extra_of(connection).keys() & STORAGE_FIELDS:
                return True, self._look_into_storage()
            with self._open(_TEST_TIMEOUT) as connect:
                version = connect.version()
                count = len(connect.connectors())
        except ConnectOffsetsError as error:
            return False, str(error)
        return (
            True,
            f"Kafka Connect {version.version} on Kafka cluster {version.kafka_cluster_id}; connectors: {count}.",
        )

    def _look_into_storage(self) -> str:
        from airflow_provider_connect_offsets.hooks.storage import open_storage

        opened = open_storage(self.connect_conn_id)
        running = len(opened.control.workers())
        names = opened.storage.connectors()
        return f"Connectors with offsets in the {opened.origin}: {len(names)}; workers that run: {running}."

    def _open(self, timeout: float) -> ConnectRest:
        # Imported late: the hook's module is loaded where only its name and fields are wanted.
        from airflow_provider_connect_offsets.connect.rest.client import ConnectRest

        return ConnectRest(self.endpoint(), timeout=timeout)
