"""What the tasks of a failover share: the connections of a flow, and where a run keeps what it saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.failover import FailoverConnections
from airflow_provider_connect_offsets.operators.shared.common import page_written
from airflow_provider_connect_offsets.operators.shared.links import ReportLink

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

#: Seconds for which the flow's connectors are held for the next task of the run.
HOLD = 3600.0


class FailoverOperator(BaseOperator):
    """A task that looks at a flow; ``patience``: seconds that a state of a connector is waited for.

    ``forward_connect_conn_id``: of a failback, the connection of the Connect cluster that runs the flow which brought
    the records, and the one that leads back too where ``connect_conn_id`` is empty; else empty.
    """

    template_fields: Sequence[str] = (
        "connect_conn_id",
        "source_kafka_conn_id",
        "target_kafka_conn_id",
        "forward_connect_conn_id",
        "patience",
    )
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        connect_conn_id: str = "kafka_connect_default",
        source_kafka_conn_id: str = "kafka_source",
        target_kafka_conn_id: str = "kafka_target",
        forward_connect_conn_id: str = "",
        patience: float = 120.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connect_conn_id = connect_conn_id
        self.source_kafka_conn_id = source_kafka_conn_id
        self.target_kafka_conn_id = target_kafka_conn_id
        self.forward_connect_conn_id = forward_connect_conn_id
        self.patience = patience

    def connections(self, *, planned: bool) -> FailoverConnections:
        """Which connections are opened: without a source, those of the target only."""
        if planned:
            return FailoverConnections(
                self.connect_conn_id or self.forward_connect_conn_id,
                self.source_kafka_conn_id,
                self.target_kafka_conn_id,
                self.forward_connect_conn_id,
            )
        return FailoverConnections("", "", self.target_kafka_conn_id)


def directory_at(run_uri: str) -> FailoverDirectory:
    """The directory of a look at a flow."""
    from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory  # noqa: PLC0415

    return FailoverDirectory(run_uri)


def final_directory(run_uri: str) -> FailoverDirectory:
    """The directory of the last look, at a flow that stands still."""
    from airflow_provider_connect_offsets.workspace.layout import join  # noqa: PLC0415

    return directory_at(join(run_uri, "final"))


def request_in(directory: FailoverDirectory) -> FailoverRequest:
    """What was asked for."""
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest  # noqa: PLC0415
    from airflow_provider_connect_offsets.workspace.files import read_json  # noqa: PLC0415

    return FailoverRequest.from_json(read_json(directory.request))


def failover_page(directory: FailoverDirectory, *, pending: Pending | None = None) -> str:
    """Write the page and the CSV anew, and return where the page lies."""
    from airflow_provider_connect_offsets.report import write_failover_page  # noqa: PLC0415

    return page_written(lambda: write_failover_page(directory, pending=pending), directory.report)
