"""The page of the workspace: what waits, what is unfinished, the newest runs, and the connectors of each snapshot.

It changes nothing. What is shown depends on whose runs the user may read, as with reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from airflow.api_fastapi.app import API_ROOT_PATH, get_auth_manager
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity, DagDetails
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.state import State
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from airflow_provider_connect_offsets.hooks.reports import PREFIX
from airflow_provider_connect_offsets.hooks.settings import journal_store, workspace_uri
from airflow_provider_connect_offsets.plugins.headers import HEADERS
from airflow_provider_connect_offsets.report.html import render_template
from airflow_provider_connect_offsets.report.overview import (
    SeenRun,
    Unfinished,
    Waiting,
    dags_of,
    seen_clusters,
    unfinished_operations,
)
from airflow_provider_connect_offsets.workspace.files import exists
from airflow_provider_connect_offsets.workspace.layout import run_directory

#: How many of the newest runs are shown.
RUNS = 20


def show_overview(user: GetUserDep, session: SessionDep) -> HTMLResponse:
    """Send the page."""
    workspace = workspace_uri()
    present = dags_of(workspace, session.scalars(select(DagModel.dag_id)).all())
    dag_ids = [dag_id for dag_id in present if _may_read(user, dag_id)]
    html = render_template(
        "overview.html.j2",
        title="Connect offsets",
        waiting=_waiting(session, dag_ids),
        unfinished=[one for one in unfinished_operations(journal_store()) if _is_of(one, dag_ids, present)],
        clusters=[cluster for dag_id in dag_ids for cluster in seen_clusters(workspace, dag_id)],
        runs=_runs(session, workspace, dag_ids),
        dag_urls={dag_id: _url("dags", dag_id) for dag_id in dag_ids},
    )
    return HTMLResponse(html, headers=HEADERS)


def page_path() -> str:
    """Return the path of the page on this server, with Airflow's prefix."""
    return f"{API_ROOT_PATH.rstrip('/')}{PREFIX}/"


def _may_read(user: BaseUser, dag_id: str) -> bool:
    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    return get_auth_manager().is_authorized_dag(
        method="GET", access_entity=DagAccessEntity.RUN, details=details, user=user
    )


def _is_of(one: Unfinished, dag_ids: Sequence[str], present: Sequence[str]) -> bool:
    """Whether a user who may read the runs of ``dag_ids`` is shown an operation.

    That of a run of another kind, as of a shell, belongs to no DAG: whoever may read all runs is shown it.
    """
    of = next((dag_id for dag_id in present if one.record.owner.run.startswith(f"{dag_id}/")), None)
    return of in dag_ids if of else list(dag_ids) == list(present)


def _waiting(session: Session, dag_ids: Sequence[str]) -> list[Waiting]:
    query = (
        select(HITLDetail, TaskInstance)
        .join(TaskInstance, HITLDetail.ti_id == TaskInstance.id)
        .where(HITLDetail.responded_at.is_(None), TaskInstance.dag_id.in_(dag_ids))
        .where(TaskInstance.state.not_in(State.finished))
        .order_by(HITLDetail.created_at)
    )
    return [
        Waiting(
            dag_id=task.dag_id,
            subject=detail.subject,
            asked_at=detail.created_at,
            approvers=tuple(one["name"] for one in detail.assignees or ()),
            url=_url("dags", task.dag_id, "runs", task.run_id, "tasks", task.task_id, "required_actions"),
        )
        for detail, task in session.execute(query)
    ]


def _runs(session: Session, workspace: str, dag_ids: Sequence[str]) -> list[SeenRun]:
    query = select(DagRun).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.run_after.desc()).limit(RUNS)
    return [_run(run, workspace) for run in session.scalars(query)]


def _run(run: DagRun, workspace: str) -> SeenRun:
    has_report = exists(run_directory(workspace, dag_id=run.dag_id, run_id=run.run_id).report)
    return SeenRun(
        dag_id=run.dag_id,
        run_id=run.run_id,
        state=str(run.state),
        started_at=run.start_date,
        url=_url("dags", run.dag_id, "runs", run.run_id),
        report=f"{page_path()}report/{quote(f'{run.dag_id}/{run.run_id}')}" if has_report else None,
    )


def _url(*parts: str) -> str:
    return "/".join([API_ROOT_PATH.rstrip("/"), *(quote(part, safe="") for part in parts)])
