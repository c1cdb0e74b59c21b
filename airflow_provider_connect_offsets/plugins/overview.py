"""The page of the workspace: what waits, what is unfinished, the newest runs, flows, and connectors of each snapshot.

It changes nothing. What is shown depends on whose runs the user may read, as with reports.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.models.dagrun import DagRun
from airflow.models.hitl import HITLDetail
from airflow.models.taskinstance import TaskInstance
from airflow.utils.state import State
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from airflow_provider_connect_offsets.hooks.settings import journal_store, workspace_uri
from airflow_provider_connect_offsets.plugins.access import Readable, airflow_path, page_path, report_path
from airflow_provider_connect_offsets.plugins.headers import HEADERS
from airflow_provider_connect_offsets.report.html import render_template
from airflow_provider_connect_offsets.report.pages.flows import SeenFlow, flows_in, observes_flows
from airflow_provider_connect_offsets.report.pages.operations import unfinished_operations
from airflow_provider_connect_offsets.report.pages.overview import SeenCluster, SeenRun, Waiting, seen_clusters

#: How many of the newest runs are shown.
RUNS = 20
#: In how many of a DAG's newest runs flows are looked for.
READINESS_RUNS = 30


def show_overview(user: GetUserDep, session: SessionDep) -> HTMLResponse:
    """Send the page."""
    workspace = workspace_uri()
    readable = Readable(user, session, workspace)
    dag_ids = readable.dag_ids
    html = render_template(
        "overview.html.j2",
        title="Connect offsets",
        waiting=_waiting(session, dag_ids),
        unfinished=[one for one in unfinished_operations(journal_store()) if readable.shows(one.record)],
        clusters=[cluster for dag_id in dag_ids for cluster in seen_clusters(workspace, dag_id)],
        flows=[flow for dag_id in dag_ids for flow in _flows(session, workspace, dag_id)],
        runs=_runs(session, workspace, dag_ids),
        dag_urls={dag_id: airflow_path("dags", dag_id) for dag_id in dag_ids},
        connector_url=_connector_url,
        series_url=lambda cluster: page_path("series", cluster.dag_id, cluster.series),
    )
    return HTMLResponse(html, headers=HEADERS)


def _connector_url(cluster: SeenCluster, connector: str) -> str:
    return page_path("connector", cluster.dag_id, cluster.series, connector)


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
            url=airflow_path("dags", task.dag_id, "runs", task.run_id, "tasks", task.task_id, "required_actions"),
        )
        for detail, task in session.execute(query)
    ]


def _flows(session: Session, workspace: str, dag_id: str) -> list[SeenFlow]:
    if not observes_flows(workspace, dag_id):
        return []
    query = select(DagRun.run_id).where(DagRun.dag_id == dag_id).order_by(DagRun.run_after.desc()).limit(READINESS_RUNS)
    return flows_in(
        workspace, dag_id, session.scalars(query).all(), lambda run_id: report_path(workspace, dag_id, run_id)
    )


def _runs(session: Session, workspace: str, dag_ids: Sequence[str]) -> list[SeenRun]:
    query = select(DagRun).where(DagRun.dag_id.in_(dag_ids)).order_by(DagRun.run_after.desc()).limit(RUNS)
    return [
        SeenRun(
            dag_id=run.dag_id,
            run_id=run.run_id,
            state=str(run.state),
            started_at=run.start_date,
            url=airflow_path("dags", run.dag_id, "runs", run.run_id),
            report=report_path(workspace, run.dag_id, run.run_id),
        )
        for run in session.scalars(query)
    ]
