"""The FastAPI app that serves reports from the workspace, and pages that lead to them.

Airflow mounts the app without access control, so each request is checked with Airflow's: a user who may read a DAG's
runs may read its reports. The workspace may be on any file system that the API server reaches.
"""

from __future__ import annotations

import inspect
import logging
from html import escape
from typing import Annotated
from urllib.parse import quote, urlencode

from airflow.api_fastapi.app import API_ROOT_PATH
from airflow.api_fastapi.auth.managers.base_auth_manager import COOKIE_NAME_JWT_TOKEN
from airflow.api_fastapi.auth.managers.models.base_user import BaseUser
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.common.db.common import SessionDep
from airflow.api_fastapi.core_api.security import bearer_scheme, get_user, requires_access_dag, resolve_user_from_token
from airflow.models.dag import DagModel
from fastapi import Depends, FastAPI, HTTPException, Request, Response, status
from fastapi.responses import HTMLResponse, RedirectResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials
from sqlalchemy import select
from starlette.exceptions import HTTPException as StarletteHTTPException

from airflow_provider_connect_offsets.exceptions import DatasetError, WorkspaceUnreadable
from airflow_provider_connect_offsets.hooks.reports import PREFIX
from airflow_provider_connect_offsets.hooks.settings import workspace_uri
from airflow_provider_connect_offsets.plugins.access import page_path
from airflow_provider_connect_offsets.plugins.connector import show_connector, show_series
from airflow_provider_connect_offsets.plugins.headers import HEADERS
from airflow_provider_connect_offsets.plugins.overview import show_overview
from airflow_provider_connect_offsets.workspace.files import exists, is_linked, read_chunks
from airflow_provider_connect_offsets.workspace.paths import SERVED, served_uri

log = logging.getLogger(__name__)


def create_app() -> FastAPI:
    """Return the app, which Airflow mounts under ``PREFIX``."""
    app = FastAPI(title="Reports of connector offsets", openapi_url=None)
    readers_only = [Depends(requires_access_dag(method="GET", access_entity=DagAccessEntity.RUN))]
    app.get("/")(show_overview)
    app.get("/series/{dag_id}/{series}", dependencies=readers_only)(show_series)
    app.get("/connector/{dag_id}/{series}/{connector:path}", dependencies=readers_only)(show_connector)
    app.get("/report/{dag_id}/{run_id}", dependencies=readers_only)(show_run)
    app.get("/report/{dag_id}/{run_id}/{path:path}", dependencies=readers_only)(show)
    app.exception_handler(StarletteHTTPException)(explain)
    for unreadable in (DatasetError, WorkspaceUnreadable):
        app.exception_handler(unreadable)(explain_unreadable)
    if "request" not in inspect.signature(get_user).parameters:  # Airflow 3.1 reads no cookie
        app.dependency_overrides[get_user] = user_by_header_or_cookie
    return app


async def user_by_header_or_cookie(
    request: Request, header: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer_scheme)]
) -> BaseUser:
    """Return the user of a request: by the token in its header, else by the cookie of Airflow's sign-in."""
    return await resolve_user_from_token(header.credentials if header else request.cookies.get(COOKIE_NAME_JWT_TOKEN))


def show_run(dag_id: str, run_id: str, session: SessionDep) -> Response:
    """Redirect from a run to its report."""
    return show(dag_id, run_id, "", session)


def show(dag_id: str, run_id: str, path: str, session: SessionDep) -> Response:
    """Send a file of a run, or redirect from a directory to the report in it; 404 for everything else."""
    # Access was checked for the DAG of this name. A name without a DAG must not give access to another directory.
    known = session.scalar(select(DagModel.dag_id).where(DagModel.dag_id == dag_id))
    response = None if known is None else _response(dag_id, run_id, path)
    if response is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "This report does not exist, or has not been written yet.")
    return response


def _response(dag_id: str, run_id: str, path: str) -> Response | None:
    run = {"workspace": workspace_uri(), "dag_id": dag_id, "run_id": run_id}
    if uri := served_uri(path, **run):
        content = None if is_linked(uri, run["workspace"]) else read_chunks(uri)
        media_type = SERVED[path.rpartition("/")[2]]
        return None if content is None else StreamingResponse(content, media_type=media_type, headers=HEADERS)
    below = f"{path.rstrip('/')}/report.html".lstrip("/")
    uri = served_uri(below, **run)
    is_there = uri is not None and exists(uri) and not is_linked(uri, run["workspace"])
    return (
        RedirectResponse(page_path("report", dag_id, run_id, *below.split("/")), headers=HEADERS) if is_there else None
    )


async def explain(request: Request, error: StarletteHTTPException) -> Response:
    """Return the error page, with a link to sign in if the user is not signed in."""
    text = escape(str(error.detail))
    if error.status_code == status.HTTP_401_UNAUTHORIZED:
        wanted = page_path() + quote(request.url.path.partition(f"{PREFIX}/")[2])
        sign_in = f"{API_ROOT_PATH}api/v2/auth/login?{urlencode({'next': wanted})}"
        text += f'. <a href="{escape(sign_in)}">Sign in to Airflow</a>'
    html = f"<!doctype html><title>{error.status_code}</title><p>{text}</p>"
    return HTMLResponse(html, status_code=error.status_code, headers=HEADERS)


async def explain_unreadable(request: Request, error: Exception) -> Response:
    """Return the error page for a workspace that this server can't read."""
    log.warning("Nothing can be sent, because the workspace can't be read.", exc_info=error)
    text = "The API server can't read the workspace ([connect_offsets] workspace). The API server's log has the cause."
    return await explain(request, HTTPException(status.HTTP_503_SERVICE_UNAVAILABLE, text))
