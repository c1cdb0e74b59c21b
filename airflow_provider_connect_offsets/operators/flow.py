"""What the operators on a whole MirrorMaker 2 flow share: their connections, and where their datasets lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.flow import FlowConnections
from airflow_provider_connect_offsets.offsets.requests.flags import is_true
from airflow_provider_connect_offsets.operators.shared.links import ReportLink

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.flow.flow_snapshot import FlowConnectors
    from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

CONNECTIONS = ("connect_conn_id", "source_kafka_conn_id", "target_kafka_conn_id", "control")


class FlowOperator(BaseOperator):
    """An operator that goes through the doors of a flow; ``control`` as with ``SnapshotConnectorOffsetsOperator``."""

    template_fields: Sequence[str] = CONNECTIONS
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        connect_conn_id: str = "kafka_connect_default",
        source_kafka_conn_id: str = "kafka_source",
        target_kafka_conn_id: str = "kafka_target",
        control: str = "rest",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connect_conn_id = connect_conn_id
        self.source_kafka_conn_id = source_kafka_conn_id
        self.target_kafka_conn_id = target_kafka_conn_id
        self.control = control

    @property
    def connections(self) -> FlowConnections:
        """The connections, once templates are rendered."""
        return FlowConnections(
            self.connect_conn_id, self.source_kafka_conn_id, self.target_kafka_conn_id, control=self.control
        )


def asked_of(source_connector: str, checkpoint_connector: str, *, checkpoints: bool | str) -> FlowConnectors:
    """Read what templates may have made texts; raises :class:`InvalidInput`."""
    from airflow_provider_connect_offsets.observe.flow.flow_snapshot import FlowConnectors

    return FlowConnectors(source_connector, checkpoint_connector.strip(), checkpoints=is_true(checkpoints))


def reset_directory(run_uri: str) -> ResetDirectory:
    """The directory of a reset."""
    from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

    return ResetDirectory(run_uri)
