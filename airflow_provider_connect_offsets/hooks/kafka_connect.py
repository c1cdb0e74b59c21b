"""The hook of the ``kafka_connect`` connection, which opens the REST API of a Connect cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import BaseHook

from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.hooks.connect_endpoint import (
    CONN_TYPE,
    EXAMPLE,
    STORAGE_FIELDS,
    STRIMZI_FIELDS,
    endpoint_of,
)
from airflow_provider_connect_offsets.hooks.connections import connection_of, extra_of
from airflow_provider_connect_offsets.parameters.connections import ConnectParams

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
    from airflow_provider_connect_offsets.connect.storage.storage_control import Storage, StorageControl

_TEST_TIMEOUT = 5.0


class KafkaConnectHook(BaseHook):
    """Opens the REST API of a Connect cluster.

    Args:
        connect_conn_id: Connection of the Connect cluster.
        timeout: Seconds to wait for rebalances and starting workers.
        patient: Whether to wait for workers even if no process is at any of their addresses.
    """

    conn_name_attr = "connect_conn_id"
    default_conn_name = "kafka_connect_default"
    conn_type = CONN_TYPE
    hook_name = "Kafka Connect"

    def __init__(
        self, connect_conn_id: str = default_conn_name, *, timeout: float = 60.0, patient: bool = True, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.patient = patient
        self.connect_conn_id = connect_conn_id
        self.timeout = timeout

    def endpoint(self) -> ConnectEndpoint:
        """Return the endpoint; raises :class:`InvalidInput` if the connection is missing or can't be used."""
        connection = connection_of(self.connect_conn_id, conn_type=self.conn_type, example=EXAMPLE)
        return endpoint_of(connection)

    def get_conn(self) -> ConnectRest:
        """Open the REST API; use it as a context manager. Raises as ``endpoint`` does."""
        return self._open(self.timeout)

    def test_connection(self) -> tuple[bool, str]:
        """Read a worker's version and number of connectors; without a host, read the storage or Strimzi's resource."""
        try:
            connection = connection_of(self.connect_conn_id, conn_type=self.conn_type, example=EXAMPLE)
            fields = extra_of(connection).keys()
            if not connection.host and fields & STORAGE_FIELDS:
                return True, self._test_storage()
            if not connection.host and fields & STRIMZI_FIELDS:
                return True, self._test_strimzi()
            with self._open(_TEST_TIMEOUT) as connect:
                version = connect.version()
                count = len(connect.connectors())
        except ConnectOffsetsError as error:
            return False, str(error)
        return (
            True,
            f"Kafka Connect {version.version} on Kafka cluster {version.kafka_cluster_id}; connectors: {count}.",
        )

    def _test_storage(self) -> str:
        from airflow_provider_connect_offsets.hooks.storage import open_storage

        opened = open_storage(self.connect_conn_id)
        running = len(cast("StorageControl", opened.control).workers())
        names = cast("Storage", opened.offsets).connectors()
        return f"Connectors with offsets in the {opened.origin}: {len(names)}; running workers: {running}."

    def _test_strimzi(self) -> str:
        """Read the resource through the default Kubernetes connection: which one a DAG names is unknown here."""
        from airflow_provider_connect_offsets.hooks.strimzi import open_strimzi

        through = ConnectParams().kubernetes_conn_id
        with open_strimzi(self.connect_conn_id, through, timeout=_TEST_TIMEOUT) as strimzi:
            return f"{strimzi.describe()} Read through Kubernetes connection {through!r}; a DAG may use another one."

    def _open(self, timeout: float) -> ConnectRest:
        # Imported late: Airflow also loads this module just for the names of its fields.
        from airflow_provider_connect_offsets.connect.rest.client import ConnectRest

        return ConnectRest(self.endpoint(), timeout=timeout, patient=self.patient)
