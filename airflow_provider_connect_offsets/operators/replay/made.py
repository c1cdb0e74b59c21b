"""The tasks of a bounded replay that create, watch and remove its clone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.exceptions import NotApplied
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.operators.shared.common import (
    Interruptible,
    open_connect,
    owner_of,
    record_outcome,
    report_of,
    summary_of,
)
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import ApprovedParams, RunParams, WaitingParams
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context


class ReplayIntervalOperator(Interruptible, ReportedOperator):
    """Create the clone at the start of the interval, wait until it has passed the end, and remove it with its offsets.

    The task looks at the clone twice a second, in a worker's slot: a deferred task would take a second or more to be
    resumed, in which the clone would deliver more records after the interval. If the clone fails, or the time limit is
    up, nothing is left of it, and the message says how far it had come. A retry goes on with the clone that a dead
    attempt left. A plan that is not the approved one is refused.

    Returns the outcome: ``result``, ``message``, ``delivered`` and ``beyond`` (offsets in and after the interval), and
    the report's URI and URL.
    """

    parameters: ClassVar[Models] = (RunParams, ApprovedParams, ConnectorConnectionParams, WaitingParams)
    # The replay has a limit of its own, after which it removes the clone.
    preset: ClassVar[dict[str, Any]] = {"execution_timeout": None}

    def execute(self, context: Context) -> dict[str, Any]:
        """Replay the interval."""
        from airflow_provider_connect_offsets.operations.connector import replay
        from airflow_provider_connect_offsets.operations.connector.plans import read_replay

        run, began = ReplayDirectory(self.parse_as(RunParams).run_uri), datetime.now(tz=UTC)
        with fail_clearly():
            owner = owner_of(context, run)
            plan = read_replay(run, digest=self.parse_as(ApprovedParams).digest)
            with open_connect(self.parse_as(ConnectorConnectionParams), self.parse_as(WaitingParams)) as clients:
                try:
                    outcome = record_outcome(
                        lambda: replay.replay(plan, clients, owner),
                        lambda error: replay.outcome_of_failure(plan, clients, owner, error, at=began),
                        run.outcome,
                    )
                finally:
                    report = report_of(run)
        counts = {"delivered": outcome.delivered_count, "beyond": outcome.beyond_count}
        return summary_of(outcome, report, dag_id=self.dag_id, **counts)


class ReleaseReplayOperator(ReportedOperator):
    """The teardown of a replay: removes whatever the same run has left. Returns a sentence that says what was done."""

    parameters: ClassVar[Models] = (RunParams, ConnectorConnectionParams, WaitingParams)

    def execute(self, context: Context) -> str:
        """Remove what was left."""
        from airflow_provider_connect_offsets.operations.connector import replay
        from airflow_provider_connect_offsets.operations.connector.plans import read_replay

        run = ReplayDirectory(self.parse_as(RunParams).run_uri)
        with (
            fail_clearly(except_for=NotApplied),
            open_connect(self.parse_as(ConnectorConnectionParams), self.parse_as(WaitingParams)) as clients,
        ):
            plan = read_replay(run)
            outcome = replay.release(plan, clients, owner_of(context))
            if outcome is None:
                return "Nothing was left to remove."
            outcome.write(run.outcome)
            report_of(run)
        return outcome.message
