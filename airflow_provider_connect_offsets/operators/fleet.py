"""One change over many connectors: planned together, approved together, and only so many down at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, LeftStopped, PlanRefused, Unforeseen
from airflow_provider_connect_offsets.hooks.failures import PERMANENT, failing_clearly
from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    BeginOffsetChangeOperator,
    applied,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.shared.common import (
    new_directory,
    open_connect,
    owner_of,
    refuse_outside,
    report_at,
    report_of,
    report_written,
    run_key,
)
from airflow_provider_connect_offsets.operators.shared.events import has_failed_before
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.parameters.backfill import WindowParams
from airflow_provider_connect_offsets.parameters.change import FleetChangeParams, FleetLimitsParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import (
    ApprovedParams,
    PartParams,
    PlanAgeParams,
    RunParams,
    WaitingParams,
)
from airflow_provider_connect_offsets.words import counted
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.saga.many import ManySagas
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory


class SnapshotFleetOperator(ReportedOperator):
    """The snapshot of every connector whose whole name matches ``connectors``. Reads only.

    One ``kafka_conn_id`` serves all connectors. Returns the URI of the fleet's directory, which all later tasks take as
    ``run_uri``.
    """

    parameters: ClassVar[Models] = (FleetChangeParams, ConnectorConnectionParams, PartParams)
    ui_color = "#dbe7f3"

    def execute(self, context: Context) -> str:
        """Write the snapshots; fails before it touches anything if the request is invalid."""
        from airflow_provider_connect_offsets.observe.snapshot import take_snapshots
        from airflow_provider_connect_offsets.operations.fleet import select

        with failing_clearly():
            fleet, change = FleetDirectory(new_directory(self, context).uri), self.given(FleetChangeParams)
            now = datetime.now(tz=UTC)
            with open_connect(self.given(ConnectorConnectionParams)) as clients:
                noun = clients.noun
                names = select(clients.control.connectors(), change.connectors, noun=noun)
                requests = [(fleet.member(name), change.request(name, now=now, noun=noun)) for name in names]
                take_snapshots(requests, clients)
            fleet.publish(names)
        self.log.info("Matched by %r: %s; datasets under %s", change.connectors, counted(len(names), noun), fleet.uri)
        return fleet.uri


class PlanFleetOperator(PlanConnectorOffsetsOperator):
    """The plans of all connectors of a fleet in one Spark application, each checked against every rule.

    Fails, so that nothing is stopped, if any of them has an error. Returns their sums, and one ``digest`` for all.
    """

    def judged(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` that names the first connector with an error."""
        from airflow_provider_connect_offsets.report import FleetChange, as_text

        change = FleetChange.read(FleetDirectory(self.run_uri))
        self.log.info("The plans:\n%s", as_text(change.table()))
        for run in FleetDirectory(self.run_uri).members().values():
            report_of(run)  # which the fleet's report links to, for the approver
        report = report_at(_report(self.run_uri), dag_id=self.dag_id)
        refused = change.errors()
        if refused:
            more = f" (and {counted(len(refused) - 1, f'more {change.noun}')})" if len(refused) > 1 else ""
            raise PlanRefused(f"Nothing was stopped or changed. {next(iter(refused.values()))}{more}")
        return {"run_uri": self.run_uri, **report, **change.sums(), "digest": change.digest}


class ApproveFleetOperator(ApproveOffsetPlanOperator):
    """Ask a person once for all connectors of a fleet; else as ``ApproveOffsetPlanOperator``."""

    def write_report(self, pending: Pending) -> None:
        """Write the fleet's report with the current state of the approval."""
        _report(self.summary["run_uri"], pending=pending)

    def question(self) -> tuple[str, str]:
        """Subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import FleetChange

        change = FleetChange.read(FleetDirectory(self.summary["run_uri"]))
        return f"Change the {change.title[0].lower()}{change.title[1:]}?", change.question(link=self.link)


class BeginFleetChangeOperator(BeginOffsetChangeOperator):
    """Check every connector once more before the first is stopped: the setup of a fleet's change.

    Fails if another run is changing one of them, if a plan is older than ``plan_ttl``, outside of ``window``, if a
    consumer group that is to be changed has members, and with ``control`` storage while a worker runs one of them.
    """

    def execute(self, context: Context) -> dict[str, Any]:
        """Refuse what has gone stale or overlaps."""
        from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
        from airflow_provider_connect_offsets.observe.clients import Origin
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan, refuse_stale
        from airflow_provider_connect_offsets.operations.groups.group_stages import refuse_moved

        with failing_clearly(), open_connect(self.given(ConnectorConnectionParams)) as clients:
            members = FleetDirectory(self.given(RunParams).run_uri).members()
            refuse_outside(self.given(WindowParams))
            if isinstance(clients.control, StorageControl):
                clients.control.refuse_running(members)
            for run in members.values():
                refuse_stale(run, ttl=timedelta(seconds=self.given(PlanAgeParams).plan_ttl))
                plan = read_plan(run)
                clients.journal(plan.connector).refuse_overlap(run_key(context))
                refuse_moved(clients, run_key(context))
                if plan.request.noun == Origin.GROUP.noun and plan.changed_rows():
                    clients.control.stop(plan.connector)  # which only requires that it has no members
        return {"connectors": len(members)}


@dataclass(frozen=True, slots=True)
class _Member:
    run: RunDirectory
    plan: OffsetPlan


class ApplyFleetPlansOperator(ApplyOffsetPlanOperator):
    """Apply the plans of a fleet, ``max_down`` connectors at a time; each is proved, or undone, by itself.

    After ``max_failures`` failures no further connector is stopped. ``digest`` is that of all plans together, as they
    were approved. A retry goes on with those that are not applied yet.

    Fails if any connector was not changed, and names them. Returns how many were applied, and the
    report's URI and URL.
    """

    parameters: ClassVar[Models] = (*ApplyOffsetPlanOperator.parameters, FleetLimitsParams)
    _changing: ManySagas[_Member, Outcome] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Apply the plans."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_plans
        from airflow_provider_connect_offsets.operations.fleet import refuse_incomplete
        from airflow_provider_connect_offsets.report import Pending
        from airflow_provider_connect_offsets.saga.many import ManySagas

        owner = owner_of(context)
        with failing_clearly(), ExitStack() as stack:
            fleet, limits = FleetDirectory(self.given(RunParams).run_uri), self.given(FleetLimitsParams)
            members = fleet.members()
            plans = read_plans(members, digest=self.given(ApprovedParams).digest)
            connections, waiting = self.given(ConnectorConnectionParams), self.given(WaitingParams)
            opened = [
                stack.enter_context(open_connect(connections, waiting)) for _ in range(min(limits.max_down, len(plans)))
            ]
            many = ManySagas(_through(opened, owner), at_once=limits.max_down, max_failures=limits.max_failures)
            self._changing = many
            stack.callback(_report, fleet.uri, pending=Pending.NOT_BEGUN)
            ended = dict(self._ends(many, [_Member(members[name], plan) for name, plan in plans.items()]))
            noun = opened[0].noun
            refuse_incomplete(ended, list(plans), noun=noun)
            for name, outcome in ended.items():
                if not isinstance(outcome, Exception):
                    self.tell_outcome(context, opened[0], outcome, members[name])
        results = [outcome.result.value for outcome in ended.values() if not isinstance(outcome, Exception)]
        counts = {result: results.count(result) for result in sorted(set(results))}
        self.log.info("As planned: %s: %s", counted(len(plans), noun), counts)
        return {"connectors": len(plans), **counts, **report_at(fleet.report, dag_id=self.dag_id)}

    def on_kill(self) -> None:
        """Stop no further connector; those that are down at this moment are finished, which takes seconds."""
        if self._changing is not None:
            self._changing.halt()

    def _ends(
        self, many: ManySagas[_Member, Outcome], members: Sequence[_Member]
    ) -> Iterator[tuple[str, Outcome | Exception]]:
        """Yield each as it ends; its report is written here, one after the other."""
        for number, (member, ended) in enumerate(many.run(members), start=1):
            text = str(ended) if isinstance(ended, Exception) else ended.message
            self.log.info("%d of %d: %s", number, len(members), text)
            report_of(member.run)
            yield member.plan.connector, ended


class RestoreFleetOperator(RestoreConnectorOffsetsOperator):
    """Undo what a fleet's change left unfinished, connector by connector: its teardown.

    Returns a sentence. If a connector can't be restored, the task fails at the end, after all others were restored.
    Airflow drops the events of a task that fails; so if the fleet was changed in part, the events of the connectors
    that are applied are this task's.
    """

    def execute(self, context: Context) -> str:
        """Restore what was left unfinished."""
        done: list[str] = []
        failed: list[ConnectOffsetsError] = []
        fleet = FleetDirectory(self.given(RunParams).run_uri)
        members: Mapping[str, RunDirectory] = fleet.members()
        with failing_clearly(except_for=LeftStopped):
            with open_connect(self.given(ConnectorConnectionParams), self.given(WaitingParams)) as clients:
                noun = clients.noun
                for name, run in members.items():
                    try:
                        sentence = self.restore(run, clients, context)
                    except Exception as error:  # whatever it is, the others must be restored
                        self.log.warning("%r could not be restored.", name, exc_info=True)
                        failed.append(Unforeseen.of(error, f"The restore of {name!r}"))
                    else:
                        done += [sentence] if sentence else []
                if self.upstream_task_ids and has_failed_before(context, self.upstream_task_ids):
                    self._tell_applied(context, clients, members.values())
            if done or failed:
                _report(fleet.uri)
            if failed:
                # Retried if another attempt may mend any of them.
                retried = (one for one in failed if isinstance(one, LeftStopped) or not isinstance(one, PERMANENT))
                worst = next(retried, failed[0])
                raise type(worst)(" ".join(map(str, failed))) from worst
        return " ".join(done) or f"Nothing was left to restore of {counted(len(members), noun)}."

    def add_event(self, context: Context, clients: Clients, outcome: Outcome, run: RunDirectory) -> None:
        """Add nothing: ``_tell_applied`` adds the events of all connectors."""

    def _tell_applied(self, context: Context, clients: Clients, runs: Iterable[RunDirectory]) -> None:
        """Add the events of the connectors that this run has changed."""
        for run in runs:
            outcome = Outcome.read(run.outcome)
            if outcome is not None and outcome.run == run_key(context):
                self.tell_outcome(context, clients, outcome, run)


def _through(opened: Sequence[Clients], owner: Owner) -> Callable[[_Member], Outcome]:
    """Return a function that applies a member's plan with clients that are free: no two threads share one."""
    free: SimpleQueue[Clients] = SimpleQueue()
    for clients in opened:
        free.put(clients)

    def change(member: _Member) -> Outcome:
        clients = free.get()
        try:
            return applied(member.plan, clients, owner, member.run)
        finally:
            free.put(clients)

    return change


def _report(run_uri: str, *, pending: Pending | None = None) -> str:
    from airflow_provider_connect_offsets.report import FleetChange

    fleet = FleetDirectory(run_uri)
    return report_written(lambda: FleetChange.read(fleet, pending=pending).write(), fleet.report)
