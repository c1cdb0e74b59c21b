"""The tasks of a bounded replay before its clone is created: they observe, plan, ask, and check once more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.hooks.clients import require_control
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayInterval, ReplayRequest
from airflow_provider_connect_offsets.operators.apply import ApproveOffsetPlanOperator
from airflow_provider_connect_offsets.operators.shared.common import (
    new_directory,
    open_connect,
    refuse_outside,
    report_at,
    report_of,
    run_key,
)
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.operators.shared.spark import OffsetsJobOperator, refuse_errors
from airflow_provider_connect_offsets.parameters.backfill import WindowParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams, Control
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import PartParams, PlanAgeParams, RunParams
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

_HANDED_ON = ("connector", "clone", "digest", "partitions", "left_out", "offsets", "worst", "warnings")


class SnapshotReplayOperator(ReportedOperator):
    """Look up the offsets of an interval in each log that a connector reads. Reads only.

    Fails if the connector can't be replayed: only sinks and MirrorSources can, as time bounds no other source's reads.
    Returns the URI of the run's directory, which all later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (ReplayInterval, ConnectorConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Write the snapshot."""
        from airflow_provider_connect_offsets.observe.replay import take_replay_snapshot

        with fail_clearly():
            run, given = ReplayDirectory(new_directory(self, context).uri), self.parse_as(ReplayInterval)
            require_control(
                self.parse_as(ConnectorConnectionParams).control,
                *(Control.REST, Control.STRIMZI, Control.STRIMZI_REST),
                why="a replay creates a connector, which is not possible in a storage.",
            )
            request = ReplayRequest.of(given, run=run_key(context), now=datetime.now(tz=UTC))
            with open_connect(self.parse_as(ConnectorConnectionParams), patient=False) as clients:
                count = take_replay_snapshot(request, clients, run)
        self.log.info(
            "%r reads %s; interval: %s; datasets under %s",
            request.connector,
            quantify(count, "partition"),
            request.interval,
            run.uri,
        )
        return run.uri


class PlanReplayOperator(OffsetsJobOperator):
    """Plan a bounded replay from its snapshot, and check it against every rule; a ``SparkSubmitOperator``.

    ``run_uri`` is what the snapshot returned. All other arguments are those of ``SparkSubmitOperator``, except
    ``application``, ``py_files`` and ``application_args``, which are the job's own.

    Writes the datasets ``replay_plan`` and ``verdicts`` and the run's report. Returns the plan's summary. Fails if a
    verdict is an error; skips what follows if the interval has no record, so that no clone is created.
    """

    job = "replay"

    def judge(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` for an error, and skips an empty interval."""
        from airflow_provider_connect_offsets.report import Replay, as_text

        run = ReplayDirectory(self.run_uri)
        summary, replay = read_json(run.summary), Replay.read(run)
        self.log.info("The plan:\n%s", as_text(replay.table()))
        for verdict in replay.verdicts:
            self.log.info("%s: %s", verdict.severity, verdict.message)
        report = report_at(report_of(run), dag_id=self.dag_id)
        refuse_errors(summary, nothing="Nothing was created.")
        if not summary["partitions"]:
            raise AirflowSkipException(
                f"Nothing was created: the partitions that {summary['connector']!r} reads have no records from "
                f"{replay.request.interval}."
            )
        return {"run_uri": self.run_uri, **report, **{name: summary[name] for name in _HANDED_ON}}


class ApproveReplayOperator(ApproveOffsetPlanOperator):
    """Ask a person to approve that the interval is delivered again. Works like ``ApproveOffsetPlanOperator``."""

    directory = ReplayDirectory


class BeginReplayOperator(ReportedOperator):
    """Check the plan again before the clone is created. The setup of a replay; it only reads.

    Fails if the plan is older than ``plan_ttl`` (an approval may take long), if the time is outside ``window``, or if
    another run works on the clone. Returns the clone's name.
    """

    parameters: ClassVar[Models] = (RunParams, PlanAgeParams, WindowParams, ConnectorConnectionParams)

    def execute(self, context: Context) -> str:
        """Check the plan and the connector."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_replay, refuse_stale
        from airflow_provider_connect_offsets.operations.registry import journal_of

        with fail_clearly(), open_connect(self.parse_as(ConnectorConnectionParams)) as clients:
            run = ReplayDirectory(self.parse_as(RunParams).run_uri)
            plan = read_replay(run)
            refuse_outside(self.parse_as(WindowParams))
            refuse_stale(run, ttl=timedelta(seconds=self.parse_as(PlanAgeParams).plan_ttl))
            journal_of(clients, plan.request.clone).refuse_overlap(run_key(context))
            clients.control.info(plan.request.connector)
        return plan.request.clone
