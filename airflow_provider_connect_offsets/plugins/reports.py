"""The plugin that Airflow loads (entry point ``airflow.plugins``).

Every Airflow process imports this module, so it imports the app, which only the API server needs, on use.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_connect_offsets.hooks.reports import PREFIX, page_url, reports_are_served


class ReportsPlugin(AirflowPlugin):
    """Serves reports from the workspace, and a page of it, to users who may read the DAGs' runs."""

    name = "connect_offsets_reports"

    @cached_property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override] # read by the API server only, on an instance
        """The app, unless ``[connect_offsets] serve_reports`` is false."""
        if not reports_are_served():
            return []
        from airflow_provider_connect_offsets.plugins.app import create_app

        return [{"app": create_app(), "url_prefix": PREFIX, "name": "Reports of connector offsets"}]

    @cached_property
    def external_views(self) -> list[Any]:  # type: ignore[override] # as above
        """The page's entry in Airflow's navigation, unless reports are not served."""
        if not reports_are_served():
            return []
        return [{"name": "Connect offsets", "href": page_url(), "destination": "nav", "category": "browse"}]
