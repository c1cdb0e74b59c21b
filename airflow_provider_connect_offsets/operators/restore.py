"""The way back, as the teardown of a change."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.exceptions import LeftStopped, RecordsDeleted
from airflow_provider_connect_offsets.hooks.clients import ConnectCluster
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.operators.shared.common import open_connect, owner_of, page_of, run_of
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models, TakesParameters
from airflow_provider_connect_offsets.parameters.tasks import RunParams, WaitingParams

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.workspace.layout import RunDirectory
    from airflow_provider_connect_offsets.workspace.outcome import Outcome


class RestoreConnectorOffsetsOperator(TakesParameters, BaseOperator):
    """Undo what a change of the same run left unfinished: prior offsets, then the prior state.

    Does nothing if the change ended in order, applied or undone. Meant as a teardown, with more retries than anything
    else in the DAG. Returns a sentence that says what was done.
    """

    parameters: ClassVar[Models] = (RunParams, ConnectorConnectionParams, WaitingParams)
    ui_color = "#f3d3d3"
    operator_extra_links = (ReportLink(),)

    def execute(self, context: Context) -> str:
        """Restore where something is left to restore."""
        with (
            failing_clearly(except_for=LeftStopped),
            open_connect(self.given(ConnectorConnectionParams), self.given(WaitingParams)) as opened,
        ):
            done = self.take_back(run_of(self), opened, context)
        return done or "Nothing was left to restore."

    def take_back(self, run: RunDirectory, opened: ConnectCluster, context: Context) -> str | None:
        """Restore one connector, and say what was done; None where nothing was left.

        Raises :class:`RecordsDeleted` where the plan turns out applied, and records at its positions are gone.
        """
        from airflow_provider_connect_offsets.operations.connector import stepwise
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan

        plan = read_plan(run)
        outcome = stepwise.undo(plan, opened.clients, opened.journal(plan.connector), owner_of(context))
        if outcome is None:
            return None
        outcome.write(run.outcome)
        page_of(run)
        refuse_deleted(outcome)
        return outcome.message


def refuse_deleted(outcome: Outcome) -> None:
    """Raise :class:`RecordsDeleted` for a change that was applied while records at its positions were deleted."""
    from airflow_provider_connect_offsets.workspace.outcome import Result

    if outcome.result is Result.RECORDS_DELETED:
        raise RecordsDeleted(outcome.message)
