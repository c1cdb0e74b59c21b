"""URLs of the reports that the API server serves."""

from __future__ import annotations

from urllib.parse import quote

from airflow.providers.common.compat.sdk import conf

from airflow_provider_connect_offsets.hooks.settings import workspace_uri
from airflow_provider_connect_offsets.workspace.paths import served_path

#: Path of the plugin's app on the API server.
PREFIX = "/connect-offsets"


def reports_are_served() -> bool:
    """Whether the API server serves reports: ``[connect_offsets] serve_reports``, by default true."""
    return bool(conf.getboolean("connect_offsets", "serve_reports", fallback=True))


def report_url(uri: str, *, dag_id: str) -> str | None:
    """Return the address at which a browser opens the report at ``uri``.

    Returns:
        A URL if ``[api] base_url`` names Airflow's host, else a path on that host. None if reports are not served, or
        the report is outside of the workspace.
    """
    if not reports_are_served():
        return None
    path = served_path(uri, workspace=workspace_uri(), dag_id=dag_id)
    return None if path is None else f"{page_url()}report/{path}"


def page_url() -> str:
    """Return the address of the page of the workspace: a URL or a path, as for reports."""
    return f"{airflow_url()}{PREFIX}/"


def airflow_url(*parts: str) -> str:
    """Return the address of a page of Airflow: a URL if ``[api] base_url`` names Airflow's host, else a path there."""
    base = str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
    return "/".join([base, *(quote(part, safe="") for part in parts)])


def report_address(uri: str, *, dag_id: str) -> str:
    """Return the address of the report at ``uri`` for a message: its URL if it has one, else ``uri``."""
    return report_url(uri, dag_id=dag_id) or uri
