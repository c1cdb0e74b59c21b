"""The button on a task's page that opens the report of its run, and the operators that have it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import BaseOperator, BaseOperatorLink

from airflow_provider_connect_offsets.hooks.reports import report_url
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.workspace.files import exists
from airflow_provider_connect_offsets.workspace.layout import Directory

if TYPE_CHECKING:
    from airflow.sdk.types import TaskInstanceKey

log = logging.getLogger(__name__)


class ReportLink(BaseOperatorLink):
    """Opens the report, if the task's directory has one.

    Airflow asks for the address when the task ends or defers, on the worker, and keeps it as an XCom of the task; so
    the API server needs neither this class nor the operator's.
    """

    name = "Report"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the report's URL; empty, which Airflow shows as no button, if there is none or it isn't served."""
        try:
            uri = Directory(_run_uri(operator, ti_key)).report
            url = report_url(uri, dag_id=ti_key.dag_id)
            return url if url and exists(uri) else ""
        except Exception:  # a button must not fail a task, as before Airflow 3.2 it would
            log.warning("No link to a report: the workspace can't be read.", exc_info=True)
            return ""


class ReportedOperator(GuardedParameters, BaseOperator):
    """An operator whose task's page has the button."""

    parameters: ClassVar[Models] = ()
    operator_extra_links = (ReportLink(),)


def _run_uri(operator: Any, instance: Any) -> str:
    """Return the directory that a task was given, else the directory that it writes to."""
    if hasattr(operator, "run_uri"):
        return str(operator.run_uri)
    if hasattr(operator, "summary"):
        return str(operator.summary["run_uri"])
    return directory_of(instance, part=operator.part).uri
