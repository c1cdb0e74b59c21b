"""Connectors that are created at offsets, and deleted with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidDocument, InvalidRequest
from airflow_provider_connect_offsets.operators.connector import ConnectorOperator
from airflow_provider_connect_offsets.operators.shared.common import owner_of, run_key
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges, asset_of
from airflow_provider_connect_offsets.parameters.connections import StepConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import NewConnectorParams, WaitingParams

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.hooks.clients import ConnectCluster


class CreateConnectorOperator(TellsChanges, ConnectorOperator):
    """Create a connector that resumes at given offsets: created STOPPED, offsets written and read back, then started.

    If anything fails, nothing is left of it, and offsets that were stored under its name before are restored. Needs
    Kafka 3.7 or later. Returns how many partitions have an offset. The creation is an event of the connector's asset.
    """

    parameters: ClassVar[Models] = (NewConnectorParams, StepConnectionParams, WaitingParams)
    template_fields_renderers: ClassVar[dict[str, str]] = {"config": "json", "offsets": "json"}
    ui_color = "#e3f3d3"

    def step(self, connect: ConnectCluster, context: Context) -> int:
        """Create, write, prove, start."""
        from airflow_provider_connect_offsets.connect.protocols import State
        from airflow_provider_connect_offsets.offsets.document import parse_rest
        from airflow_provider_connect_offsets.operations.connector.existence import NewConnector, create

        given = self.given(NewConnectorParams)
        if given.state not in {State.RUNNING, State.PAUSED, State.STOPPED}:
            raise InvalidRequest(f"{given.connector!r}: state {given.state!r} is none of RUNNING, PAUSED and STOPPED.")
        try:
            offsets = parse_rest({"offsets": list(given.offsets or [])})
        except InvalidDocument as error:
            raise InvalidRequest(f"Nothing was created: {given.connector!r}: {error}.") from error
        config = {str(name): str(value) for name, value in dict(given.config).items()}
        new = NewConnector(given.connector, config, offsets, State(given.state), given.inherit)
        count = create(new, connect.clients, connect.journal(new.name), owner_of(context))
        self.log.info("%r was created, and is %s; %d partitions have an offset.", new.name, new.state, count)
        extra = {"kind": ChangeKind.CREATED.value, "name": new.name, "run": run_key(context), "partitions": count}
        self.tell(context, extra, of=lambda: asset_of(connect, new.name))
        return count


class DeleteConnectorOperator(TellsChanges, ConnectorOperator):
    """Delete a connector together with its offsets: stopped, offsets removed and read back, then deleted.

    Until the deletion itself, a failure restores offsets and state. The offsets are kept before as KIP-199 JSON, which
    ``to=file`` and ``connect-offsets import`` take. Returns the URI of that file. The deletion is an event of the
    connector's asset.
    """

    ui_color = "#f3d3d3"

    def step(self, connect: ConnectCluster, context: Context) -> str:
        """Stop, remove, prove, delete."""
        from airflow_provider_connect_offsets.hooks.runs import directory_of
        from airflow_provider_connect_offsets.operations.connector.existence import delete
        from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

        kept = join(directory_of(context, part="").uri, f"{unique_segment(context['ti'].task_id)}.json")
        name = self.connector
        count = delete(name, connect.clients, connect.journal(name), owner_of(context), kept=kept)
        self.log.info("%r was deleted with its offsets of %d partitions, which are kept in %s", name, count, kept)
        extra = {"kind": ChangeKind.DELETED.value, "name": name, "run": run_key(context), "partitions": count}
        self.tell(context, {**extra, "offsets_uri": kept}, of=lambda: asset_of(connect, name))
        return kept
