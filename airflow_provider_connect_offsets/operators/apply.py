"""The tasks of a change after its plan: a person's approval, and the one task in which the connector stands still."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowSkipException
from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, Control, open_clients
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.reports import report_address, report_url
from airflow_provider_connect_offsets.offsets.requests.flags import is_true
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_of, report_at, run_key
from airflow_provider_connect_offsets.operators.shared.links import ReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.saga.journal import Journal
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory
    from airflow_provider_connect_offsets.workspace.outcome import Outcome

log = logging.getLogger(__name__)


class ApproveOffsetPlanOperator(AskOperator):
    """Ask a person whether the plan is to be applied; an ``ApprovalOperator`` that knows when not to ask.

    ``summary`` is what the plan task returned. With ``approval`` false it goes on at once; with ``plan_only`` true it
    skips what follows. So does a rejection, and, where ``defaults`` is Reject, the end of ``response_timeout``: nothing
    is stopped or changed, and the page says so.
    """

    template_fields: Sequence[str] = (*AskOperator.template_fields, "summary", "approval", "plan_only")
    operator_extra_links = (ReportLink(),)

    def __init__(
        self, *, summary: Any, approval: bool | str = True, plan_only: bool | str = False, **kwargs: Any
    ) -> None:
        super().__init__(**{"subject": "Change of connector offsets", **kwargs})
        self.summary = summary
        self.approval = approval
        self.plan_only = plan_only

    def execute(self, context: Context) -> Any:
        """Ask, go on, or skip the rest."""
        with failing_clearly():
            ask, plan_only = is_true(self.approval), is_true(self.plan_only)
        from airflow_provider_connect_offsets.report import Pending

        if plan_only:
            self.page(Pending.DRY_RUN)
            address = report_address(self.summary["report"], dag_id=self.dag_id)
            raise AirflowSkipException(f"Dry run: nothing is stopped or changed. The plan: {address}")
        if not ask:
            return None
        self.page(Pending.APPROVAL)
        self.subject, self.body = self.question()
        return super().execute(context)

    @property
    def link(self) -> str | None:
        """Where a browser opens the report; None where reports are not served."""
        return report_url(self.summary["report"], dag_id=self.dag_id)

    def page(self, pending: Pending) -> None:
        """Write the page anew."""
        page_of(_directory(self.summary["run_uri"]), pending=pending)

    def question(self) -> tuple[str, str]:
        """Subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import Change, question

        change = Change.read(_directory(self.summary["run_uri"]))
        return f"Change the offsets of {self.summary['connector']}?", question(change, link=self.link)

    def record_rejection(self) -> None:
        """Let log and report say that the plan was rejected."""
        from airflow_provider_connect_offsets.report import Pending

        self.log.warning("Rejected, so nothing was stopped or changed: %s", self.question()[0])
        self.page(Pending.REJECTED)


class BeginOffsetChangeOperator(BaseOperator):
    """Look once more before anything is stopped: the setup of a change, which only records.

    Fails where another run is changing the connector, and where the plan is older than ``plan_ttl`` (seconds), as an
    approval may take its time; with ``control`` storage also where the connector's process still runs. With ``hold``
    (seconds) it claims the connector for the run's next tasks, which single-step changes need. Returns connector,
    digest and the state it is in.
    """

    template_fields: Sequence[str] = ("run_uri", "connect_conn_id", "kafka_conn_id", "control", "hold", "plan_ttl")
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        run_uri: str,
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str | None = "kafka_default",
        control: str = "rest",
        hold: float | None = None,
        plan_ttl: float = 3600.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"multiple_outputs": True, **kwargs})
        self.run_uri = run_uri
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.control = control
        self.hold = hold
        self.plan_ttl = plan_ttl

    def execute(self, context: Context) -> dict[str, Any]:
        """Record, and claim where ``hold`` says so."""
        from airflow_provider_connect_offsets.operations.connector import stepwise
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan, refuse_stale

        with failing_clearly(), open_clients(self.connect_conn_id, self.kafka_conn_id, control=self.control) as opened:
            run = _directory(self.run_uri)
            plan = read_plan(run)
            refuse_stale(run, ttl=timedelta(seconds=float(self.plan_ttl)))
            if self.control == Control.STORAGE:
                opened.clients.control.stop(plan.connector)  # which can only look whether it is down
            journal = opened.journal(plan.connector)
            if self.hold is None:
                journal.refuse_overlap(run_key(context))
                state = opened.clients.control.status(plan.connector).state
            else:
                state = stepwise.begin(plan, opened.clients, journal, owner_of(context), seconds=float(self.hold))
        return {"connector": plan.connector, "digest": plan.digest, "state": state.value}


class ApplyOffsetPlanOperator(BaseOperator):
    """Stop the connector, write the plan, read it back, give the connector its state again; or put everything back.

    ``digest`` is the plan's that was approved: a plan that has become another one since is refused. ``timeout``:
    seconds that each state of the connector is waited for. A retry finishes or restores what the attempt before left.

    Returns the outcome without its rows: ``result``, ``message``, ``downtime_seconds``, and the report's URI and URL.
    """

    template_fields: Sequence[str] = ("run_uri", "digest", "connect_conn_id", "kafka_conn_id", "control", "timeout")
    ui_color = "#f3e3d3"
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        run_uri: str,
        digest: str,
        connect_conn_id: str = "kafka_connect_default",
        kafka_conn_id: str | None = "kafka_default",
        control: str = "rest",
        timeout: float = 120.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri
        self.digest = digest
        self.connect_conn_id = connect_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.control = control
        self.timeout = timeout

    def execute(self, context: Context) -> dict[str, Any]:
        """Apply the plan."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan

        run, owner = _directory(self.run_uri), owner_of(context)
        with failing_clearly():
            plan = read_plan(run, digest=self.digest)
            with open_clients(
                self.connect_conn_id, self.kafka_conn_id, control=self.control, timeout=float(self.timeout)
            ) as opened:
                try:
                    outcome = applied(plan, opened, owner, run)
                finally:
                    page = page_of(run)
        self.log.info(outcome.message)
        for warning in outcome.warnings:
            self.log.warning(warning)
        return summary_of(outcome, page, dag_id=self.dag_id)

    def on_kill(self) -> None:
        """Break off where the change is: what was written is put back on the way out, or by who comes next.

        Airflow calls this when a task is cleared, failed by hand, or over its time, and kills it five seconds later.
        """
        raise SystemExit("The task was ended from outside while it changed offsets.")


def applied(plan: OffsetPlan, opened: ConnectCluster, owner: Owner, run: RunDirectory) -> Outcome:
    """Apply, and leave an outcome that tells the truth, however it ends; the page is the caller's."""
    from airflow_provider_connect_offsets.operations.connector.apply import apply_plan

    journal = opened.journal(plan.connector)
    return recorded(lambda: apply_plan(plan, opened.clients, journal, owner), plan, journal, owner, run)


def recorded(
    change: Callable[[], Outcome], plan: OffsetPlan, journal: Journal, owner: Owner, run: RunDirectory
) -> Outcome:
    """Make ``change``, and leave an outcome that tells the truth, however it ends."""
    try:
        outcome = change()
    except BaseException as error:
        _tell_of(error, plan, journal, owner, run)
        raise
    outcome.write(run.outcome)
    return outcome


def _tell_of(error: BaseException, plan: OffsetPlan, journal: Journal, owner: Owner, run: RunDirectory) -> None:
    """Write the outcome of a change that failed with ``error``, which stays what the task fails with."""
    from airflow_provider_connect_offsets.operations.connector import outcomes

    try:
        earlier = journal.record_of(owner.run, outcomes.key_of(plan))
        outcomes.failed(plan, owner, error, earlier).write(run.outcome)
    except Exception:
        log.warning("The outcome %s could not be written.", run.outcome, exc_info=True)


def summary_of(outcome: Outcome, page: str, *, dag_id: str) -> dict[str, Any]:
    """What a task hands on of an outcome."""
    return {
        "connector": outcome.connector,
        "result": outcome.result.value,
        "message": outcome.message,
        "downtime_seconds": outcome.downtime_seconds,
        **report_at(page, dag_id=dag_id),
    }


def _directory(run_uri: str) -> RunDirectory:
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory

    return RunDirectory(run_uri)
