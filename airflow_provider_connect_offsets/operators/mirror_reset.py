"""The reset of a MirrorMaker 2 flow, task by task."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operators.apply import (
    ApproveOffsetPlanOperator,
    failure_of,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoresRun
from airflow_provider_connect_offsets.operators.shared.common import (
    Interruptible,
    new_directory,
    owner_of,
    record_outcome,
    report_of,
    run_key,
    summary_of,
)
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges
from airflow_provider_connect_offsets.operators.shared.flow import FlowOperator, requested_flow
from airflow_provider_connect_offsets.parameters.connections import Control, FlowConnectionParams
from airflow_provider_connect_offsets.parameters.flow import FlowResetParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import (
    ApprovedParams,
    PartParams,
    PlanAgeParams,
    RunParams,
    SyncsAwaitedParams,
    WaitingParams,
)
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients


class SnapshotMirrorFlowOperator(FlowOperator):
    """Write down all of a MirrorMaker 2 flow that its reset could change, and what its plan needs. Reads only.

    The connectors' own configuration says how the flow's topics are called and which cluster they are on. Returns the
    URI of the run's directory, which all later tasks take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (FlowResetParams, *FlowOperator.parameters, PartParams)

    def execute(self, context: Context) -> str:
        """Write the snapshot; fails before it touches anything if the request is invalid."""
        from airflow_provider_connect_offsets.observe.flow.flow_snapshot import find_flow, take_flow_snapshot

        with fail_clearly():
            run, given = ResetDirectory(new_directory(self, context).uri), self.parse_as(FlowResetParams)
            request = Request.of(given, given.source_connector, now=datetime.now(tz=UTC))
            with self.open_flow(patient=False) as clients:
                reset = find_flow(requested_flow(given), clients)
                take_flow_snapshot(request, reset, clients, run)
        self.log.info(
            "Offset syncs: topic %r on the %s cluster; datasets under %s", reset.syncs.topic, reset.syncs.side, run.uri
        )
        return run.uri


class PlanMirrorResetOperator(PlanConnectorOffsetsOperator):
    """Plan the reset of a flow from its snapshot: offsets, and what else goes; a ``SparkSubmitOperator``.

    Everything else is as with ``PlanConnectorOffsetsOperator``. Writes ``reset_topics`` as well: for each topic, how
    many records are replicated again, how many of them the remote topic has a copy of, and whose syncs are deleted. It
    returns one ``digest`` for offsets and flow together.
    """

    job = "mirror-reset"
    directory = ResetDirectory

    def judge(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` if that is an error."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset
        from airflow_provider_connect_offsets.report import Reset, as_text

        run = ResetDirectory(self.run_uri)
        self.log.info("Topic by topic:\n%s", as_text(Reset.read(run).table()))
        plan, summary = super().judge(), read_json(run.summary)
        more = {name: summary[name] for name in ("duplicates", "syncs", "checkpoints", "stale_checkpoints")}
        return {**plan, **more, "digest": read_reset(run).digest}


class ApproveMirrorResetOperator(ApproveOffsetPlanOperator):
    """Ask a person to approve the reset of a flow. Works like ``ApproveOffsetPlanOperator``."""

    directory = ResetDirectory


class BeginMirrorResetOperator(FlowOperator):
    """Check the plan again before anything is stopped. The setup of a reset; it changes nothing.

    Fails if another run is changing one of the connectors or the topics, if the plan is older than ``plan_ttl``, or,
    with ``control`` storage, if a process still runs. Returns connector, digest and state.
    """

    parameters: ClassVar[Models] = (RunParams, PlanAgeParams, *FlowOperator.parameters)
    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": True}

    def execute(self, context: Context) -> dict[str, Any]:
        """Check the plan, the connectors and the topics."""
        from airflow_provider_connect_offsets.operations.connector.plans import refuse_stale
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset, topic_journals
        from airflow_provider_connect_offsets.operations.registry import journal_of

        with fail_clearly(), self.open_flow() as clients:
            run = ResetDirectory(self.parse_as(RunParams).run_uri)
            plan = read_reset(run)
            refuse_stale(run, ttl=timedelta(seconds=self.parse_as(PlanAgeParams).plan_ttl))
            if self.parse_as(FlowConnectionParams).control == Control.STORAGE:
                clients.control.stop(plan.offsets.connector)  # which only checks that it is down
            for journal in (journal_of(clients, plan.offsets.connector), *topic_journals(plan.reset, clients)):
                journal.refuse_overlap(run_key(context))
            state = clients.control.status(plan.offsets.connector).state
        return {"connector": plan.offsets.connector, "digest": plan.digest, "state": state.value}


class ApplyMirrorResetOperator(Interruptible, TellsChanges, FlowOperator):
    """Stop a flow, write its MirrorSource's offsets, empty its offset syncs, verify both, start it; or undo all.

    Then it waits until new syncs prove that the flow resumed where it should. If anything fails before syncs are gone,
    offsets, states and cleanup policies are restored; after that the reset goes on. A retry finishes or undoes what the
    attempt before left.

    Returns the outcome without its rows: ``result``, ``message``, ``downtime_seconds``, and the report's URI and URL.
    """

    parameters: ClassVar[Models] = (
        RunParams,
        ApprovedParams,
        *FlowOperator.parameters,
        WaitingParams,
        SyncsAwaitedParams,
    )

    def execute(self, context: Context) -> dict[str, Any]:
        """Reset the flow."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset, reset_flow

        with fail_clearly():
            run = ResetDirectory(self.parse_as(RunParams).run_uri)
            owner = owner_of(context, run)
            sync_timeout = self.parse_as(SyncsAwaitedParams).sync_timeout
            plan = read_reset(run, digest=self.parse_as(ApprovedParams).digest)
            with self.open_flow(self.parse_as(WaitingParams)) as clients:
                reset = partial(reset_flow, plan, clients, owner, run, sync_timeout=sync_timeout)
                try:
                    outcome = record_outcome(reset, failure_of(plan.offsets, clients, owner), run.outcome)
                finally:
                    report = report_of(run)
                self.tell_outcome(context, clients, outcome, run, kind=ChangeKind.FLOW_RESET)
        return summary_of(outcome, report, dag_id=self.dag_id, downtime_seconds=outcome.downtime_seconds)


class RestoreMirrorFlowOperator(RestoresRun, FlowOperator):
    """Undo what a reset of the same run left unfinished: offsets, cleanup policies, and the connectors' states.

    Does nothing if the reset ended properly, applied or undone. Meant as a teardown, with more retries than
    anything else in the DAG. Returns a sentence that says what was done.
    """

    parameters: ClassVar[Models] = (RunParams, *FlowOperator.parameters, WaitingParams)
    directory = ResetDirectory
    kind = ChangeKind.FLOW_RESET

    def open_clients(self) -> AbstractContextManager[Clients]:
        """Open clients of the flow."""
        return self.open_flow(self.parse_as(WaitingParams))
