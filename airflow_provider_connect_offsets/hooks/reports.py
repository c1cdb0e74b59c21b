"""Where the API server shows reports, and whether it does."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import conf

from airflow_provider_connect_offsets.hooks.clients import workspace_uri
from airflow_provider_connect_offsets.workspace.served import served_path

#: Path of the plugin's app on the API server.
PREFIX = "/connect-offsets"


def reports_are_served() -> bool:
    """``[connect_offsets] serve_reports``: true unless it was turned off."""
    return bool(conf.getboolean("connect_offsets", "serve_reports", fallback=True))


def report_url(uri: str, *, dag_id: str) -> str | None:
    """Where a browser opens the report at ``uri``; None where reports are not served, or this one is elsewhere.

    A whole URL if ``[api] base_url`` names Airflow's host, else a path on it.
    """
    if not reports_are_served():
        return None
    path = served_path(uri, workspace=workspace_uri(), dag_id=dag_id)
    base = str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
    return None if path is None else f"{base}{PREFIX}/report/{path}"


def report_address(uri: str, *, dag_id: str) -> str:
    """Where the report at ``uri`` is, for a message: its URL where it has one."""
    return report_url(uri, dag_id=dag_id) or uri
