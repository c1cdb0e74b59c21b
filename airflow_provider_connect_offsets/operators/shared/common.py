"""What all operators share: who they are to a journal, and how they write and name their reports."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.hooks.reports import report_url

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory

log = logging.getLogger(__name__)


def run_key(context: Context) -> str:
    """Name the run as journals and messages do: ``dag_id/run_id``, and the index of a mapped one."""
    instance: Any = context["ti"]
    mapped = f"[{instance.map_index}]" if instance.map_index is not None and instance.map_index >= 0 else ""
    return f"{instance.dag_id}/{instance.run_id}{mapped}"


def owner_of(context: Context) -> Owner:
    """Who this task is to a journal."""
    from airflow_provider_connect_offsets.saga.lease import Owner

    return Owner.here(run=run_key(context), task=str(context["ti"].task_id))


def page_of(run: RunDirectory, *, pending: Pending | None = None) -> str:
    """Write the run's page anew, and return its URI; ``pending`` is why its plan is not applied yet."""
    from airflow_provider_connect_offsets.report import write_report

    return page_written(lambda: write_report(run, pending=pending), run.report)


def page_written(write: Callable[[], object], uri: str) -> str:
    """Write the page at ``uri``, and return that.

    A page that can't be written is a warning: it must neither fail a change that was applied nor hide why one wasn't.
    """
    try:
        write()
    except Exception:
        log.warning("The page %s could not be written; datasets and journal are complete.", uri, exc_info=True)
    return uri


def report_at(uri: str, *, dag_id: str) -> dict[str, str | None]:
    """What a task's summary says of its report: ``report``, where it is, and ``report_url``, where a browser opens it.

    ``report_url`` is None where reports are not served.
    """
    url = report_url(uri, dag_id=dag_id)
    log.info("The report: %s", url or uri)
    return {"report": uri, "report_url": url}
