"""What all operators share: their identity in journals, their directories, clients and reports."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.hooks.reports import report_url
from airflow_provider_connect_offsets.hooks.runs import directory_of, map_index_of
from airflow_provider_connect_offsets.offsets.requests.window import Window
from airflow_provider_connect_offsets.operators.shared.metrics import emit
from airflow_provider_connect_offsets.parameters.backfill import WindowParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import TakesParameters
from airflow_provider_connect_offsets.parameters.tasks import PartParams, RunParams, WaitingParams
from airflow_provider_connect_offsets.workspace.layout import Directory, RunDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.workspace.outcome import Outcome
    from airflow_provider_connect_offsets.workspace.replay import ReplayOutcome

#: The outcome of a change.
Ended = TypeVar("Ended", "Outcome", "ReplayOutcome")

log = logging.getLogger(__name__)
#: Seconds for which a task leases connectors to the next task of its run.
LEASE_SECONDS = 3600.0


class Interruptible:
    """A mixin for operators whose task, if it is ended from outside, undoes at once what it has begun."""

    def on_kill(self) -> None:
        """Interrupt the work: what it has begun is undone now, or settled by the teardown, the next attempt or run.

        Airflow calls this when a task is cleared, marked as failed, or timed out, and kills it five seconds later.
        """
        raise SystemExit(
            "The task was ended from outside. The next attempt or run finishes or undoes what it has left."
        )


def run_key(context: Context) -> str:
    """Return the run's name in journals and messages: ``dag_id/run_id``, and the index of a mapped task."""
    instance: Any = context["ti"]
    index = map_index_of(instance)
    return f"{instance.dag_id}/{instance.run_id}{'' if index is None else f'[{index}]'}"


def find_trigger(context: Context) -> str | None:
    """Return who has triggered the run; None for a scheduled run, or if no name is known."""
    return getattr(context.get("dag_run"), "triggering_user_name", None) or None


def owner_of(context: Context, run: Directory | None = None) -> Owner:
    """Return the identity of this task in journals; ``run``: the directory of what was approved, if anything was."""
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.workspace.outcome import Approval

    approval = None if run is None else Approval.read(run.approval)
    return Owner.here(
        run=run_key(context),
        task=str(context["ti"].task_id),
        triggered_by=find_trigger(context) or "",
        approved_by=(approval and approval.answered_by) or "",
    )


def new_directory(operator: TakesParameters, context: Context) -> RunDirectory:
    """Return the directory that this task writes to; raises :class:`InvalidInput`."""
    return directory_of(context["ti"], part=operator.parse_as(PartParams).part)


def run_of(operator: TakesParameters) -> RunDirectory:
    """Return the directory of the change of ``operator``; raises :class:`InvalidInput`."""
    return RunDirectory(operator.parse_as(RunParams).run_uri)


def open_connect(
    connections: ConnectorConnectionParams, waiting: WaitingParams | None = None, *, patient: bool = True
) -> AbstractContextManager[Clients]:
    """Open the clients of a connector's Connect cluster; arguments and errors: see ``hooks.clients.open_clients``."""
    return open_clients(
        connections,
        connections.kafka_conn_id or None,
        database_conn_id=connections.database_conn_id or None,
        timeout=(waiting or WaitingParams()).timeout,
        patient=patient,
    )


def refuse_outside(given: WindowParams) -> None:
    """Raise :class:`InvalidRequest` if a change may not begin now: an approval may come after its window."""
    window = Window.parse(given.window)
    if window is not None:
        window.refuse_outside(datetime.now(tz=UTC))


def report_of(run: Directory, *, pending: Pending | None = None) -> str:
    """Write the report of a run of any kind and return its URI; ``pending``: why the plan is not applied yet."""
    from airflow_provider_connect_offsets.report import read_report

    return report_written(lambda: read_report(run, pending=pending).write(), run.report)


def report_written(write: Callable[[], object], uri: str) -> str:
    """Write the report at ``uri``, and return ``uri``.

    If the report can't be written, only a warning is logged: that must neither fail a change that was applied, nor hide
    why a change was not applied.
    """
    try:
        write()
    except Exception:
        log.warning("The report %s could not be written; datasets and journal are complete.", uri, exc_info=True)
    return uri


def record_outcome(make: Callable[[], Ended], failed: Callable[[BaseException], Ended], uri: str) -> Ended:
    """Make a change and write its outcome to ``uri``, also if the change fails.

    Args:
        make: Makes the change and returns its outcome.
        failed: Returns the outcome for the error that ``make`` raised; the error is then raised again.
        uri: Where the outcome is written.
    """
    try:
        outcome = make()
    except BaseException as error:
        try:
            failure = failed(error)
            failure.write(uri)
        except Exception:
            log.warning("The outcome %s could not be written.", uri, exc_info=True)
        else:
            emit(failure)
        raise
    outcome.write(uri)
    emit(outcome)
    return outcome


def summary_of(outcome: Outcome | ReplayOutcome, report: str, *, dag_id: str, **more: object) -> dict[str, Any]:
    """Log an outcome and return its task's summary.

    The summary has connector, result and message, ``more``, and the address of the ``report``. Warnings were logged
    before.
    """
    log.info(outcome.message)
    told = {"connector": outcome.connector, "result": outcome.result.value, "message": outcome.message}
    return {**told, **more, **report_at(report, dag_id=dag_id)}


def report_at(uri: str, *, dag_id: str) -> dict[str, str | None]:
    """Return the report's entries in a task's summary: ``report``, its URI, and ``report_url`` for a browser.

    ``report_url`` is None if reports are not served.
    """
    url = report_url(uri, dag_id=dag_id)
    log.info("The report: %s", url or uri)
    return {"report": uri, "report_url": url}
