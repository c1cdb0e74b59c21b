"""The first task of a change: the request is checked, and what a plan needs is written down."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operators.shared.common import new_directory, open_connect
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.change import ConnectorChangeParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import PartParams
from airflow_provider_connect_offsets.words import quantify

if TYPE_CHECKING:
    from airflow.sdk import Context


class SnapshotConnectorOffsetsOperator(ReportedOperator):
    """Check a request, and write what its plan needs: the connector, its offsets, the bounds of the logs.

    Reads only. Returns the URI of the run's directory, which all later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (ConnectorChangeParams, ConnectorConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Write the snapshot; fails before it touches anything if the request is invalid."""
        from airflow_provider_connect_offsets.observe.snapshot import take_snapshot

        with fail_clearly():
            run, change = new_directory(self, context), self.parse_as(ConnectorChangeParams)
            request = Request.of(change, change.connector, now=datetime.now(tz=UTC))
            with open_connect(self.parse_as(ConnectorConnectionParams), patient=False) as clients:
                partitions = take_snapshot(request, clients, run)
        self.log.info(
            "%r has offsets of %s; request: %s; datasets under %s",
            request.connector,
            quantify(partitions, "partition"),
            request,
            run.uri,
        )
        return run.uri
