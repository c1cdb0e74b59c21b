"""What the operators on a whole MirrorMaker 2 flow share: their connections and directories."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar

from airflow_provider_connect_offsets.hooks.clients import open_flow
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.connections import FlowConnectionParams
from airflow_provider_connect_offsets.parameters.flow import FlowConnectorsParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import WaitingParams

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.observe.flow.flow_snapshot import FlowConnectors


class FlowOperator(ReportedOperator):
    """An operator on a MirrorMaker 2 flow."""

    parameters: ClassVar[Models] = (FlowConnectionParams,)

    def open_flow(
        self, waiting: WaitingParams | None = None, *, patient: bool = True
    ) -> AbstractContextManager[Clients]:
        """Open the clients of the flow; ``patient`` and errors: see ``hooks.clients.open_flow``."""
        timeout = (waiting or WaitingParams()).timeout
        return open_flow(self.parse_as(FlowConnectionParams), timeout=timeout, patient=patient)


def requested_flow(connectors: FlowConnectorsParams) -> FlowConnectors:
    """Return the connectors of the flow that are requested, and whether its checkpoints are removed."""
    from airflow_provider_connect_offsets.observe.flow.flow_snapshot import FlowConnectors

    return FlowConnectors(
        connectors.source_connector, connectors.checkpoint_connector.strip(), checkpoints=connectors.checkpoints
    )
