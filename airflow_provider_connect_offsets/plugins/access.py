"""What a user may see, and the addresses of pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import quote

from airflow.api_fastapi.app import API_ROOT_PATH, get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import ConnectionDetails, DagAccessEntity, DagDetails
from airflow.models.connection import Connection
from airflow.models.dag import DagModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from airflow_provider_connect_offsets.hooks.reports import PREFIX
from airflow_provider_connect_offsets.report.pages.overview import dags_of
from airflow_provider_connect_offsets.saga import SagaRecord
from airflow_provider_connect_offsets.workspace.files import exists
from airflow_provider_connect_offsets.workspace.layout import run_directory


class Readable:
    """The DAGs in a workspace whose runs a user may read.

    Attributes:
        dag_ids: their ids, in order
    """

    def __init__(self, user: BaseUser, session: Session, workspace: str) -> None:
        self._user, self._workspace = user, workspace
        self._known = session.scalars(select(DagModel.dag_id)).all()
        self._present = dags_of(workspace, self._known)
        self.dag_ids: Sequence[str] = [dag_id for dag_id in self._present if _may_read(user, dag_id)]

    def dag_path(self, dag_id: str) -> str | None:
        """Return the address of a DAG; None if Airflow has no such DAG, or the user may not read its runs."""
        return airflow_path("dags", dag_id) if dag_id in self._known and _may_read(self._user, dag_id) else None

    def shows(self, record: SagaRecord) -> bool:
        """Whether the user is shown an operation.

        That of a run of another kind, as of a shell, belongs to no DAG: whoever may read all runs is shown it.
        """
        of = self._dag_of(record.owner.run)
        return of in self.dag_ids if of else list(self.dag_ids) == list(self._present)

    def report_of(self, record: SagaRecord) -> str | None:
        """Return the address of the report of the run that has made an operation; None if it has none."""
        of = self._dag_of(record.owner.run)
        return None if of is None else report_path(self._workspace, of, record.owner.run.removeprefix(f"{of}/"))

    def _dag_of(self, run: str) -> str | None:
        return next((dag_id for dag_id in self._present if run.startswith(f"{dag_id}/")), None)


def unreadable_connection(user: BaseUser, conn_ids: Collection[str]) -> str | None:
    """Return the first of these connections that a user may not read; None if they may read all."""
    manager = get_auth_manager()
    for conn_id in conn_ids:
        details = ConnectionDetails(conn_id=conn_id, team_name=Connection.get_team_name(conn_id))
        if not manager.is_authorized_connection(method="GET", details=details, user=user):
            return conn_id
    return None


def page_path(*parts: str) -> str:
    """Return the path of a page on this server, with Airflow's prefix; of the page of the workspace without parts."""
    return f"{API_ROOT_PATH.rstrip('/')}{PREFIX}/{_quoted(parts)}"


def airflow_path(*parts: str) -> str:
    """Return the path of a page of Airflow on this server."""
    return f"{API_ROOT_PATH.rstrip('/')}/{_quoted(parts)}"


def report_path(workspace: str, dag_id: str, run_id: str) -> str | None:
    """Return the path of a run's report on this server; None if it has none."""
    has_report = exists(run_directory(workspace, dag_id=dag_id, run_id=run_id).report)
    return page_path("report", dag_id, run_id) if has_report else None


def _quoted(parts: Sequence[str]) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def _may_read(user: BaseUser, dag_id: str) -> bool:
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.RUN, details=details, user=user
    )
