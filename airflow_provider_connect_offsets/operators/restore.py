"""The way back, as the teardown of a change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.exceptions import LeftStopped, RecordsDeleted
from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, open_clients
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_of
from airflow_provider_connect_offsets.operators.shared.links import ReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.workspace.layout import RunDirectory
    from airflow_provider_connect_offsets.workspace.outcome import Outcome


class RestoreConnectorOffsetsOperator(BaseOperator):
    """Put back what a change of the same run left unfinished: prior offsets, then the prior state.

    Does nothing where the change ended in order, applied or restored. Meant as a teardown, with more retries than
    anything else in the DAG. ``run_uri`` is what the snapshot returned. Returns a sentence that says what was done.
    """

    template_fields: Sequence[str] = ("run_uri", "connect_conn_id", "kafka_conn_id", "control", "timeout")
    ui_color = "#f3d3d3"
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        run_uri: str,
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str | None = "kafka_default",
        control: str = "rest",
        timeout: float = 120.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.control = control
        self.timeout = timeout

    def execute(self, context: Context) -> str:
        """Restore where something is left to restore."""
        from airflow_provider_connect_offsets.workspace.layout import RunDirectory

        with (
            failing_clearly(except_for=LeftStopped),
            open_clients(
                self.connect_conn_id, self.kafka_conn_id, control=self.control, timeout=float(self.timeout)
            ) as opened,
        ):
            told = self.take_back(RunDirectory(self.run_uri), opened, context)
        return told or "Nothing was left to restore."

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
