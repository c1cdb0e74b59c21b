"""The reset of a MirrorMaker 2 flow, task by task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.exceptions import LeftStopped
from airflow_provider_connect_offsets.hooks.clients import Control
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.flow import open_flow
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    recorded,
    summary_of,
)
from airflow_provider_connect_offsets.operators.flow import CONNECTIONS, FlowOperator, asked_of, reset_directory
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import refuse_deleted
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_written, report_at, run_key

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.workspace.layout import ResetDirectory


class SnapshotMirrorFlowOperator(FlowOperator):
    """Write down all of a MirrorMaker 2 flow that its reset could change, and what its plan needs. Reads only.

    ``source_connector`` is the flow's MirrorSource; ``checkpoint_connector`` its MirrorCheckpoint, which is stopped
    meanwhile (empty: none is); with ``checkpoints`` true, checkpoints are removed as well. How the flow's topics are
    called and where they are follows from the connectors' own configuration. ``to``, ``value``, ``topics`` and
    ``partitions`` say where the MirrorSource resumes, as with ``SnapshotConnectorOffsetsOperator``; ``earliest``
    replicates everything again. ``source_kafka_conn_id`` and ``target_kafka_conn_id`` are the flow's clusters.

    Returns the URI of the run's directory, which all later tasks take as ``run_uri``.
    """

    template_fields: Sequence[str] = (
        *CONNECTIONS,
        "source_connector",
        "checkpoint_connector",
        "checkpoints",
        "to",
        "value",
        "topics",
        "partitions",
        "part",
    )
    ui_color = "#dbe7f3"

    def __init__(  # noqa: PLR0913 - a request and a flow, each by its name
        self,
        *,
        source_connector: str,
        checkpoint_connector: str = "",
        checkpoints: bool | str = False,
        to: str = "earliest",
        value: str = "",
        topics: str = "",
        partitions: str = "",
        part: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source_connector = source_connector
        self.checkpoint_connector = checkpoint_connector
        self.checkpoints = checkpoints
        self.to = to
        self.value = value
        self.topics = topics
        self.partitions = partitions
        self.part = part

    def execute(self, context: Context) -> str:
        """Write the snapshot; fails before it touches anything where the request makes no sense."""
        from airflow_provider_connect_offsets.observe.flow.flow_snapshot import find_flow, take_flow_snapshot
        from airflow_provider_connect_offsets.offsets.requests.request import Request

        run = reset_directory(directory_of(context, part=self.part).uri)
        with failing_clearly():
            request = Request.parse(
                connector=self.source_connector,
                to=self.to,
                value=self.value,
                topics=self.topics,
                partitions=self.partitions,
                now=datetime.now(tz=UTC),
            )
            asked = asked_of(self.source_connector, self.checkpoint_connector, checkpoints=self.checkpoints)
            with open_flow(self.connections) as opened:
                reset = find_flow(asked, opened.clients)
                take_flow_snapshot(request, reset, opened.clients, run, cluster=opened.cluster)
        self.log.info("Syncs: topic %r on the %s; datasets under %s", reset.syncs.topic, reset.syncs.side, run.uri)
        return run.uri


class PlanMirrorResetOperator(PlanConnectorOffsetsOperator):
    """Plan the reset of a flow from its snapshot: offsets, and what else goes; a ``SparkSubmitOperator``.

    Everything else is as with ``PlanConnectorOffsetsOperator``. Writes ``reset_topics`` as well: for each topic, how
    many records are replicated again, how many of them the remote topic holds a copy of, and whose syncs go. The
    ``digest`` that it returns is that of offsets and flow together.
    """

    job = "mirror-reset"

    def judged(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` where that is an error."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset
        from airflow_provider_connect_offsets.report import Reset, as_text, reset_table
        from airflow_provider_connect_offsets.workspace.files import read_json

        told, run = super().judged(), reset_directory(self.run_uri)
        self.log.info("Topic by topic:\n%s", as_text(reset_table(Reset.read(run))))
        summary = read_json(run.summary)
        more = {name: summary[name] for name in ("duplicates", "syncs", "checkpoints", "stale_checkpoints")}
        return {**told, **more, "digest": read_reset(run).digest, **report_at(_page(run), dag_id=self.dag_id)}


class ApproveMirrorResetOperator(ApproveOffsetPlanOperator):
    """Ask a person whether a flow is to be reset; else as ``ApproveOffsetPlanOperator``."""

    def page(self, pending: Pending) -> None:
        """Write the page anew."""
        _page(reset_directory(self.summary["run_uri"]), pending=pending)

    def question(self) -> tuple[str, str]:
        """Subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import Reset, reset_question

        reset = Reset.read(reset_directory(self.summary["run_uri"]))
        return f"Reset the flow of {self.summary['connector']}?", reset_question(reset, link=self.link)


class BeginMirrorResetOperator(FlowOperator):
    """Look once more before anything is stopped: the setup of a reset, which only records.

    Fails where another run is changing one of the connectors or the topics, where the plan is older than ``plan_ttl``
    (seconds), and with ``control`` storage where a process still runs. Returns connector, digest and state.
    """

    template_fields: Sequence[str] = (*CONNECTIONS, "run_uri", "plan_ttl")

    def __init__(self, *, run_uri: str, plan_ttl: float = 3600.0, **kwargs: Any) -> None:
        super().__init__(**{"multiple_outputs": True, **kwargs})
        self.run_uri = run_uri
        self.plan_ttl = plan_ttl

    def execute(self, context: Context) -> dict[str, Any]:
        """Record."""
        from airflow_provider_connect_offsets.operations.connector.plans import refuse_stale
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset

        run = reset_directory(self.run_uri)
        with failing_clearly(), open_flow(self.connections) as opened:
            plan = read_reset(run)
            refuse_stale(run, ttl=timedelta(seconds=float(self.plan_ttl)))
            if self.control == Control.STORAGE:
                opened.clients.control.stop(plan.offsets.connector)  # which can only look whether it is down
            held = opened.held(plan.reset)
            for journal in (held.journal, *held.locks):
                journal.refuse_overlap(run_key(context))
            state = opened.clients.control.status(plan.offsets.connector).state
        return {"connector": plan.offsets.connector, "digest": plan.digest, "state": state.value}


class ApplyMirrorResetOperator(FlowOperator):
    """Stop a flow, write its MirrorSource's offsets, empty its offset syncs, prove both, start it; or put things back.

    Then it waits until new syncs show that the flow goes on where it was put, at most ``sync_timeout`` seconds.
    ``digest`` is that of the plan that was approved; ``timeout``: seconds that each state is waited for. Where
    anything fails before syncs are gone, offsets, states and cleanup policies are put back; after that the reset goes
    on. A retry finishes or restores what the attempt before left.

    Returns the outcome without its rows: ``result``, ``message``, ``downtime_seconds``, and the report's URI and URL.
    """

    template_fields: Sequence[str] = (*CONNECTIONS, "run_uri", "digest", "timeout", "sync_timeout")
    ui_color = "#f3e3d3"

    def __init__(
        self, *, run_uri: str, digest: str, timeout: float = 120.0, sync_timeout: float = 180.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri
        self.digest = digest
        self.timeout = timeout
        self.sync_timeout = sync_timeout

    def execute(self, context: Context) -> dict[str, Any]:
        """Reset the flow."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset, reset_flow

        run, owner = reset_directory(self.run_uri), owner_of(context)
        with failing_clearly():
            plan = read_reset(run, digest=self.digest)
            with open_flow(self.connections, timeout=float(self.timeout)) as opened:
                clients, held = opened.clients, opened.held(plan.reset)
                reset = partial(reset_flow, plan, clients, held, owner, run, sync_timeout=float(self.sync_timeout))
                try:
                    outcome = recorded(reset, plan.offsets, held.journal, owner, run)
                finally:
                    page = _page(run)
        self.log.info(outcome.message)
        for warning in outcome.warnings:
            self.log.warning(warning)
        return summary_of(outcome, page, dag_id=self.dag_id)

    on_kill = ApplyOffsetPlanOperator.on_kill


class RestoreMirrorFlowOperator(FlowOperator):
    """Put back what a reset of the same run left unfinished: offsets, cleanup policies, and the connectors' states.

    Does nothing where the reset ended in order, applied or restored. Meant as a teardown, with more retries than
    anything else in the DAG. Returns a sentence that says what was done.
    """

    template_fields: Sequence[str] = (*CONNECTIONS, "run_uri", "timeout")
    ui_color = "#f3d3d3"

    def __init__(self, *, run_uri: str, timeout: float = 120.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri
        self.timeout = timeout

    def execute(self, context: Context) -> str:
        """Restore where something is left to restore."""
        from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset, take_back_reset

        run = reset_directory(self.run_uri)
        with (
            failing_clearly(except_for=LeftStopped),
            open_flow(self.connections, timeout=float(self.timeout)) as opened,
        ):
            plan = read_reset(run)
            outcome = take_back_reset(plan, opened.clients, opened.held(plan.reset), owner_of(context))
            if outcome is None:
                return "Nothing was left to restore."
            outcome.write(run.outcome)
            _page(run)
            refuse_deleted(outcome)
        return outcome.message


def _page(run: ResetDirectory, *, pending: Pending | None = None) -> str:
    from airflow_provider_connect_offsets.report import write_reset_report

    return page_written(lambda: write_reset_report(run, pending=pending), run.report)
