"""The tasks of a change after its plan: a person's approval, and the one task in which the connector is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.operators.shared.approval import AskAboutRunOperator
from airflow_provider_connect_offsets.operators.shared.common import (
    Interruptible,
    open_connect,
    owner_of,
    record_outcome,
    refuse_outside,
    report_of,
    run_key,
    run_of,
    summary_of,
)
from airflow_provider_connect_offsets.operators.shared.events import TellsChanges
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.backfill import WindowParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import (
    ApprovedParams,
    PlanAgeParams,
    QuestionParams,
    RunParams,
    StepLeaseParams,
    WaitingParams,
)
from airflow_provider_connect_offsets.workspace.files import read_json_if_any
from airflow_provider_connect_offsets.workspace.fleet import members_of
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Approval

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.saga.many import ManySagas
    from airflow_provider_connect_offsets.workspace.outcome import Outcome


class ApproveOffsetPlanOperator(AskAboutRunOperator):
    """Ask a person whether the plan is to be applied; an ``ApprovalOperator`` that knows when not to ask.

    Without ``approval`` the run goes on at once; with ``plan_only``, after a rejection, and after ``response_timeout``
    without an answer (if ``defaults`` is Reject) what follows is skipped: nothing is stopped or changed, and the report
    says so.
    """

    parameters: ClassVar[Models] = (QuestionParams, PlanAgeParams)
    #: Whether a later task refuses a plan that is older than ``plan_ttl``.
    refuses_stale: ClassVar[bool] = True

    def question(self) -> tuple[str, str]:
        """Return subject and body, which says until when the plan is good."""
        subject, body = super().question()
        run = self.run
        if isinstance(run, RunDirectory):  # all plans of a fleet were made together
            run = next(iter(members_of(run).values()), run)
        summary = read_json_if_any(run.summary) if self.refuses_stale else None
        if summary is None:
            return subject, body
        planned_at = datetime.fromisoformat(summary["planned_at"])
        until = planned_at + timedelta(seconds=self.parse_as(PlanAgeParams).plan_ttl)
        return subject, f"{body}\n\nThe plan is valid until {until:%Y-%m-%d %H:%M} UTC. A later answer has no effect."

    def is_asked(self) -> bool:
        """Return whether a person is asked; skips what follows in a dry run."""
        from airflow_provider_connect_offsets.report import Pending

        given = self.parse_as(QuestionParams)
        if given.plan_only:
            self.write_report(Pending.DRY_RUN)
            raise AirflowSkipException(f"Dry run: nothing is stopped or changed. The plan: {self.address}")
        is_asked = self.needs(approval=given.approval)
        if is_asked:
            self.write_report(Pending.APPROVAL)
        return is_asked


class BeginOffsetChangeOperator(ReportedOperator):
    """Check the plan again before anything is stopped. The setup of a change; it leaves the connector as it is.

    Fails if the time is outside ``window``, if another run is changing the connector, if the plan is older than
    ``plan_ttl`` (an approval may take long), or, with ``control`` storage, if the connector's process still runs.
    Returns connector, digest and the connector's state.
    """

    parameters: ClassVar[Models] = (
        RunParams,
        PlanAgeParams,
        WindowParams,
        ConnectorConnectionParams,
        StepLeaseParams,
    )
    preset: ClassVar[dict[str, Any]] = {"multiple_outputs": True}
    directory: ClassVar[type[RunDirectory]] = RunDirectory

    def execute(self, context: Context) -> dict[str, Any]:
        """Check each plan and its connector; refuses what has gone stale or overlaps."""
        with fail_clearly(), open_connect(self.parse_as(ConnectorConnectionParams)) as clients:
            owner = owner_of(context, run_of(self))
            return self.begin_change(self.check_plans(clients, run_key(context)), clients, owner)

    def check_plans(self, clients: Clients, run: str) -> list[OffsetPlan]:
        """Return the plans of all connectors; raises if one may not be begun now by ``run``."""
        from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
        from airflow_provider_connect_offsets.offsets.family import Noun
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan, refuse_stale
        from airflow_provider_connect_offsets.operations.groups.group_stages import refuse_moved
        from airflow_provider_connect_offsets.operations.registry import journal_of

        members = members_of(self.directory(self.parse_as(RunParams).run_uri))
        refuse_outside(self.parse_as(WindowParams))
        if isinstance(clients.control, StorageControl):
            clients.control.refuse_running(members)
        plans = []
        for directory in members.values():
            plan = read_plan(directory)
            refuse_stale(directory, ttl=timedelta(seconds=self.parse_as(PlanAgeParams).plan_ttl))
            journal_of(clients, plan.connector).refuse_overlap(run)
            refuse_moved(clients, run)
            if plan.request.noun is Noun.GROUP and plan.changed_rows():
                clients.control.stop(plan.connector)  # which only requires that it has no members
            plans.append(plan)
        return plans

    def begin_change(self, plans: list[OffsetPlan], clients: Clients, owner: Owner) -> dict[str, Any]:
        """Return what the task returns; leases the connector to the run if ``hold`` is set."""
        from airflow_provider_connect_offsets.operations.connector import stepwise

        [plan], hold = plans, self.parse_as(StepLeaseParams).hold
        if hold is None:
            state = clients.control.status(plan.connector).state
        else:
            state = stepwise.begin(plan, clients, owner, seconds=hold)
        return {"connector": plan.connector, "digest": plan.digest, "state": state.value}


class ApplyOffsetPlanOperator(Interruptible, TellsChanges, ReportedOperator):
    """Stop the connector, write the plan, read it back, restore the connector's state; or undo everything.

    A plan that is not the approved one is refused. A retry finishes or undoes what the attempt before left.

    Returns the outcome without its rows: ``result``, ``message``, ``downtime_seconds``; and the report's URI and URL.
    An applied change is an event of the connector's asset (``assets.connector_asset``).
    """

    parameters: ClassVar[Models] = (RunParams, ApprovedParams, ConnectorConnectionParams, WaitingParams)
    changing: ManySagas[OffsetPlan, Outcome] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Apply the plan."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan

        run = run_of(self)
        with fail_clearly():
            plan = read_plan(run, digest=self.parse_as(ApprovedParams).digest)
            with self.open_clients() as clients:
                try:
                    [(_name, outcome)] = self.apply_plans(
                        [clients], {plan.connector: plan}, {plan.connector: run}, context
                    )
                finally:
                    report = report_of(run)
                if isinstance(outcome, Exception):
                    raise outcome
                self.tell_outcome(context, clients, outcome, run)
        return summary_of(outcome, report, dag_id=self.dag_id, downtime_seconds=outcome.downtime_seconds)

    def open_clients(self) -> AbstractContextManager[Clients]:
        """Open clients of the Connect cluster."""
        return open_connect(self.parse_as(ConnectorConnectionParams), self.parse_as(WaitingParams))

    def apply_plans(
        self,
        opened: Sequence[Clients],
        plans: Mapping[str, OffsetPlan],
        members: Mapping[str, RunDirectory],
        context: Context,
        *,
        max_failures: int = 1,
    ) -> Iterator[tuple[str, Outcome | Exception]]:
        """Apply plans, as many at a time as clients are opened, and yield each connector when its change has ended.

        The outcome of each change is written, however it ends.
        """
        from airflow_provider_connect_offsets.saga.many import ManySagas

        owner = owner_of(context, run_of(self))
        free: SimpleQueue[Clients] = SimpleQueue()
        for clients in opened:
            free.put(clients)

        def change(plan: OffsetPlan) -> Outcome:
            clients = free.get()  # no two threads share clients
            try:
                return _apply_one(plan, clients, owner, members[plan.connector])
            finally:
                free.put(clients)

        self.changing = ManySagas(change, at_once=len(opened), max_failures=max_failures)
        for plan, ended in self.changing.run(plans.values()):
            yield plan.connector, ended


def _apply_one(plan: OffsetPlan, clients: Clients, owner: Owner, run: RunDirectory) -> Outcome:
    from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
    from airflow_provider_connect_offsets.operations.connector.undo import with_undo
    from airflow_provider_connect_offsets.operations.groups.group_stages import refuse_moved

    approval = Approval.read(RunDirectory(run.shared or run.uri).approval)

    def change() -> Outcome:
        refuse_moved(clients, owner.run)
        return with_undo(replace(apply_plan(plan, clients, owner), approval=approval), clients, run.prior_offsets)

    failed = failure_of(plan, clients, owner)
    return record_outcome(change, lambda error: replace(failed(error), approval=approval), run.outcome)


def failure_of(plan: OffsetPlan, clients: Clients, owner: Owner) -> Callable[[BaseException], Outcome]:
    """Return a function that returns the outcome of a change that failed, by its error and its journal."""
    from airflow_provider_connect_offsets.operations.connector import outcomes
    from airflow_provider_connect_offsets.operations.registry import journal_of

    journal = journal_of(clients, plan.connector)
    return lambda error: outcomes.of_failed(plan, owner, error, journal.record_of(owner.run, outcomes.key_of(plan)))
