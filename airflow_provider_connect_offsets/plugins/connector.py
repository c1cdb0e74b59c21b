"""The pages of a series of snapshots, and of one connector in it: where it was, what has changed it, what one can do.

They change nothing. What Connect says now is asked only on request, and only for a user who may read the connections.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import HTTPException, status
from fastapi.responses import HTMLResponse

from airflow_provider_connect_offsets.connect.protocols import ConnectorOverview, ConnectorStatus
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, UnknownConnector
from airflow_provider_connect_offsets.hooks.clients import open_connect_cluster
from airflow_provider_connect_offsets.hooks.settings import journal_store, workspace_uri
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families import MirrorSource, Sink
from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
from airflow_provider_connect_offsets.parameters.connections import ConnectParams
from airflow_provider_connect_offsets.plugins.access import (
    Readable,
    airflow_path,
    page_path,
    report_path,
    unreadable_connection,
)
from airflow_provider_connect_offsets.plugins.headers import HEADERS
from airflow_provider_connect_offsets.report.html import embed_drawing, render_template
from airflow_provider_connect_offsets.report.pages.actions import actions_on
from airflow_provider_connect_offsets.report.pages.history import read_history, read_snapshots
from airflow_provider_connect_offsets.report.pages.operations import operations_on
from airflow_provider_connect_offsets.report.pages.overview import find_series
from airflow_provider_connect_offsets.words import trigger_command
from airflow_provider_connect_offsets.workspace.files import read_at_once
from airflow_provider_connect_offsets.workspace.series import SnapshotSeries
from airflow_provider_connect_offsets.workspace.snapshots import SnapshotRecord

#: How many of the newest snapshots are shown.
SNAPSHOTS = 30
# Seconds that a page waits for a rebalance; a person can ask again.
_PATIENCE = 5.0


def show_series(dag_id: str, series: str, user: GetUserDep, session: SessionDep, *, now: bool = False) -> HTMLResponse:
    """Send the page of a series: its snapshots, and, with ``now``, all connectors as Connect has them now."""
    records = read_snapshots(_find(Readable(user, session, workspace_uri()), dag_id, series), most=SNAPSHOTS)
    if not records:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "This series has no snapshot that this version can read.")
    newest = records[0][1]
    asked = None
    if now:
        with _asking(newest, user) as clients:
            asked = sorted(clients.control.overview().items(), key=_by_failure)
    html = render_template(
        "series.html.j2",
        title=f"Snapshots of {series}",
        dag_id=dag_id,
        dag_url=airflow_path("dags", dag_id),
        snapshots=records,
        asked=asked,
        task_states=_task_states,
        now_url=f"{page_path('series', dag_id, series)}?now=true",
        connector_url=lambda name: page_path("connector", dag_id, series, name),
        overview_url=page_path(),
        reports=_reports(records),
        restore=lambda uri: _restore(_where(newest, Sink.name, MirrorSource.name), uri),
    )
    return HTMLResponse(html, headers=HEADERS)


def show_connector(
    dag_id: str, series: str, connector: str, user: GetUserDep, session: SessionDep, *, now: bool = False
) -> HTMLResponse:
    """Send the page of a connector; with ``now``, also its state and offsets as Connect has them now."""
    readable = Readable(user, session, workspace_uri())
    history = read_history(_find(readable, dag_id, series), connector, most=SNAPSHOTS)
    if not history.is_known:
        raise HTTPException(status.HTTP_404_NOT_FOUND, f"None of the kept snapshots has a connector {connector!r}.")
    newest = history.seen[0].record
    where = _where(newest, history.family)
    asked = None
    if now:
        with _asking(newest, user) as clients:
            asked = (clients.control.status(connector), clients.offsets.read_offsets(connector).by_partition())
    operations = operations_on(journal_store(), cluster=newest.connect_cluster, connector=connector)
    html = render_template(
        "connector.html.j2",
        title=connector,
        history=history,
        moved=history.moved(),
        chart=embed_drawing(history.draw()),
        operations=[(one, readable.report_of(one.record)) for one in operations if readable.shows(one.record)],
        asked=asked,
        now_url=f"{page_path('connector', dag_id, series, connector)}?now=true",
        series_url=page_path("series", dag_id, series),
        overview_url=page_path(),
        restore=lambda uri: _restore(where, uri, connectors=re.escape(connector)),
        actions=actions_on(connector, history.family, where),
        dag_path=readable.dag_path,
    )
    return HTMLResponse(html, headers=HEADERS)


def _find(readable: Readable, dag_id: str, series: str) -> SnapshotSeries:
    """Return a series; 404 also for a DAG that Airflow no longer knows, because the right to read it is unknown."""
    found = find_series(workspace_uri(), dag_id, series) if dag_id in readable.dag_ids else None
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "There is no such series of snapshots.")
    return found


@contextmanager
def _asking(record: SnapshotRecord, user: BaseUser) -> Iterator[Clients]:
    """Open the Connect cluster of a snapshot for a user; what goes wrong becomes the answer's status and sentence."""
    if not record.connections:
        why = "The newest snapshot does not say how its Connect cluster is reached. The next one will."
        raise HTTPException(status.HTTP_404_NOT_FOUND, why)
    named = ConnectParams.parse(**_connect(record))
    if conn_id := unreadable_connection(user, named.used_connections().values()):
        raise HTTPException(status.HTTP_403_FORBIDDEN, f"You may not read Airflow's connection {conn_id!r}.")
    try:
        with open_connect_cluster(named, timeout=_PATIENCE, rest_timeout=_PATIENCE, patient=False) as clients:
            yield clients
    except UnknownConnector as error:
        raise HTTPException(status.HTTP_404_NOT_FOUND, str(error)) from error
    except ConnectOffsetsError as error:
        raise HTTPException(status.HTTP_502_BAD_GATEWAY, str(error)) from error


def _reports(records: Sequence[tuple[str, SnapshotRecord]]) -> dict[str, str | None]:
    """Return the report of each snapshot's run, which compares it with the one before, by the snapshot's URI."""

    def find(one: tuple[str, SnapshotRecord]) -> tuple[str, str | None]:
        uri, record = one
        dag_id, _, run_id = record.run.partition("/")
        return uri, report_path(workspace_uri(), dag_id, run_id)

    return dict(read_at_once(find, records))


def _by_failure(one: tuple[str, ConnectorOverview]) -> tuple[bool, str]:
    name, seen = one
    return not seen.status.has_failed, name


def _task_states(of: ConnectorStatus) -> str:
    counted = Counter(task.state.value for task in of.tasks)
    return ", ".join(f"{count} {state}" for state, count in sorted(counted.items())) or "none"


def _connect(record: SnapshotRecord) -> dict[str, str]:
    """Return the parameters by which the Connect cluster of a snapshot was reached."""
    return {name: value for name, value in record.connections.items() if name in fields_of(ConnectParams)}


def _where(record: SnapshotRecord, *families: str) -> dict[str, str]:
    """Return the connections of a change, as far as the snapshot names them.

    A change is checked against the logs of one Kafka cluster: that of the first of ``families`` that has one.
    """
    names = {Sink.name: "kafka_conn_id", MirrorSource.name: "source_kafka_conn_id"}
    named = (record.connections.get(names.get(family, ""), "") for family in families)
    kafka = next(filter(None, named), None)
    return {**_connect(record), **({"kafka_conn_id": kafka} if kafka else {})}


def _restore(where: Mapping[str, str], uri: str, **params: str) -> str:
    return trigger_command("connector_offsets_restore", {"snapshot_uri": uri, **params, **where})
