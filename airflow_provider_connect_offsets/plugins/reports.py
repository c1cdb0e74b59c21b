"""The plugin that serves reports (entry point ``airflow.plugins``).

Every Airflow process imports this module; only the API server imports the app.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_connect_offsets.hooks.reports import PREFIX, reports_are_served


class ReportsPlugin(AirflowPlugin):
    """Serves reports from the workspace to users who may read the DAG's runs."""

    name = "connect_offsets_reports"

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override] # read by the API server only, on an instance
        """The app, unless ``[connect_offsets] serve_reports`` is false."""
        if not reports_are_served():
            return []
        from airflow_provider_connect_offsets.plugins.app import create_app

        return [{"app": create_app(), "url_prefix": PREFIX, "name": "Reports of connector offsets"}]
