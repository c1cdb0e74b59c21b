"""The first task of a restore: the snapshot is read back and checked, and what the plans need is written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.offsets.requests.values import ALL
from airflow_provider_connect_offsets.operators.shared.common import new_directory, open_connect
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.snapshots import RestoreSnapshotParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import PartParams
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context


class SnapshotForRestoreOperator(ReportedOperator):
    """Check that a kept snapshot can be restored, and observe its connectors as they are now. Reads only.

    Fails, so that nothing is stopped, if the snapshot is incomplete, damaged, of another cluster or format, and if a
    connector has another class or source cluster now. Connectors that no longer exist are named. Returns the URI of a
    fleet's directory, which ``PlanFleetOperator`` and the tasks after it take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (RestoreSnapshotParams, ConnectorConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Write what the plans need."""
        from airflow_provider_connect_offsets.observe.snapshot import take_snapshots
        from airflow_provider_connect_offsets.operations.snapshot_restore import read_snapshot, restore_of

        with fail_clearly():
            fleet, given = FleetDirectory(new_directory(self, context).uri), self.parse_as(RestoreSnapshotParams)
            snapshot = read_snapshot(given.snapshot_uri)
            with open_connect(self.parse_as(ConnectorConnectionParams), patient=False) as clients:
                restore = restore_of(
                    snapshot,
                    given.connectors or ALL,
                    clients,
                    fleet,
                    clear_new=given.clear_new,
                    now=datetime.now(tz=UTC),
                )
                requests = [(fleet.member(request.connector), request) for request in restore.requests]
                take_snapshots(requests, clients, observed=restore.observed)
            fleet.publish((request.connector for request in restore.requests), notes=restore.notes)
        for note in restore.notes:
            self.log.warning("%s", note)
        self.log.info(
            "%s of %s; datasets under %s", quantify(len(restore.requests), "connector"), snapshot.uri, fleet.uri
        )
        return fleet.uri
