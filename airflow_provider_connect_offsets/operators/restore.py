"""Undoing an unfinished change, as its teardown."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from airflow_provider_connect_offsets.exceptions import LeftStopped, RecordsDeleted
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.operators.shared.common import open_connect, owner_of, report_of
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import RunParams, WaitingParams
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Approval, Outcome, Result

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients


class RestoresRun(TellsChanges, ReportedOperator):
    """A teardown: undoes what a change of the same run left unfinished."""

    parameters: ClassVar[Models] = (RunParams, WaitingParams)
    directory: ClassVar[type[RunDirectory]] = RunDirectory
    #: The ``kind`` of the asset event.
    kind = ChangeKind.CHANGED

    @abstractmethod
    def open_clients(self) -> AbstractContextManager[Clients]:
        """Open the clients with which the change is undone."""

    def execute(self, context: Context) -> str:
        """Restore what was left unfinished."""
        with fail_clearly(except_for=LeftStopped), self.open_clients() as clients:
            done = self.restore(self.directory(self.parse_as(RunParams).run_uri), clients, context)
        return done or "Nothing was left to restore."

    def restore(self, run: RunDirectory, clients: Clients, context: Context) -> str | None:
        """Restore one connector; returns a sentence that says what was done, None if nothing was left.

        Raises :class:`RecordsDeleted` if the plan turns out applied, and records at its positions are gone.
        """
        from airflow_provider_connect_offsets.operations.connector import stepwise
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan
        from airflow_provider_connect_offsets.operations.connector.undo import with_undo

        plan, approval = read_plan(run), Approval.read(run.approval)
        undone = stepwise.undo(plan, clients, owner_of(context))
        if undone is None:
            return None
        outcome = replace(undone, approval=approval)
        if self.kind is ChangeKind.CHANGED:  # the reset of a flow is not undone by offsets alone
            outcome = with_undo(outcome, clients, run.prior_offsets)
        outcome.write(run.outcome)
        report_of(run)
        if outcome.result is Result.RECORDS_DELETED:
            raise RecordsDeleted(outcome.message)
        self.add_event(context, clients, outcome, run)
        return outcome.message

    def add_event(self, context: Context, clients: Clients, outcome: Outcome, run: RunDirectory) -> None:
        """Add the event of a change that the task that began it did not add."""
        self.tell_outcome(context, clients, outcome, run, kind=self.kind)


class RestoreConnectorOffsetsOperator(RestoresRun):
    """Undo what a change of the same run left unfinished: prior offsets, then the prior state.

    Does nothing if the change ended properly, applied or undone. A change that turns out applied is an event of the
    connector's asset, as the task that began it added none. Meant as a teardown, with more retries than anything
    else in the DAG. Returns a sentence that says what was done.
    """

    parameters: ClassVar[Models] = (RunParams, ConnectorConnectionParams, WaitingParams)

    def open_clients(self) -> AbstractContextManager[Clients]:
        """Open clients of the Connect cluster."""
        return open_connect(self.parse_as(ConnectorConnectionParams), self.parse_as(WaitingParams))
