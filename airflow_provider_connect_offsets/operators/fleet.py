"""One change over many connectors: planned together, approved together, and only so many down at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, LeftStopped, PlanRefused, Unforeseen
from airflow_provider_connect_offsets.hooks.failures import PERMANENT, fail_clearly
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    BeginOffsetChangeOperator,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.shared.common import (
    new_directory,
    open_connect,
    report_at,
    report_of,
    report_written,
    run_key,
)
from airflow_provider_connect_offsets.operators.shared.events import has_failed_before
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.operators.shared.spark import refuse_protected_topics
from airflow_provider_connect_offsets.parameters.change import FleetChangeParams, FleetLimitsParams
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import (
    ApprovedParams,
    PartParams,
    RunParams,
)
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Outcome

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory


class SnapshotFleetOperator(ReportedOperator):
    """Take a snapshot of every connector whose whole name matches ``connectors``. Reads only.

    One ``kafka_conn_id`` serves all connectors. Returns the URI of the fleet's directory, which all later tasks take as
    ``run_uri``.
    """

    parameters: ClassVar[Models] = (FleetChangeParams, ConnectorConnectionParams, PartParams)

    def execute(self, context: Context) -> str:
        """Write the snapshots; fails before it touches anything if the request is invalid."""
        from airflow_provider_connect_offsets.observe.snapshot import take_snapshots
        from airflow_provider_connect_offsets.operations.fleet import select
        from airflow_provider_connect_offsets.operations.groups.group_clients import unlisted_groups

        with fail_clearly():
            fleet, change = FleetDirectory(new_directory(self, context).uri), self.parse_as(FleetChangeParams)
            now = datetime.now(tz=UTC)
            with open_connect(self.parse_as(ConnectorConnectionParams), patient=False) as clients:
                noun = clients.noun
                listed, unlisted = clients.control.connectors(), unlisted_groups(clients)
                names = select(listed, change.connectors, noun=noun, unlisted=unlisted)
                requests = [(fleet.member(name), Request.of(change, name, now=now, noun=noun)) for name in names]
                take_snapshots(requests, clients)
            fleet.publish(names)
        self.log.info("%r matches %s; datasets under %s", change.connectors, quantify(len(names), noun), fleet.uri)
        return fleet.uri


class PlanFleetOperator(PlanConnectorOffsetsOperator):
    """Plan the changes of all connectors of a fleet in one Spark application, and check each against every rule.

    Fails, so that nothing is stopped, if any plan has an error. Returns the plans' sums, and one ``digest`` for all.
    """

    def judge(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` that names the first connector with an error."""
        from airflow_provider_connect_offsets.report import FleetChange, as_text
        from airflow_provider_connect_offsets.report.change_report import write_change_report

        fleet = FleetDirectory(self.run_uri)
        change = FleetChange.read(fleet)
        self.log.info("The plans:\n%s", as_text(change.table()))
        for one in change.members.values():  # which the fleet's report links to, for the approver
            report_written(partial(write_change_report, one), one.run.report)
        report = report_at(report_written(change.write, fleet.report), dag_id=self.dag_id)
        refused = change.errors()
        if refused:
            more = f" (and {quantify(len(refused) - 1, f'more {change.noun}')})" if len(refused) > 1 else ""
            raise PlanRefused(f"Nothing was stopped or changed. {next(iter(refused.values()))}{more}")
        refuse_protected_topics(fleet)
        return {"run_uri": self.run_uri, **report, **change.sums(), "digest": change.digest}


class ApproveFleetOperator(ApproveOffsetPlanOperator):
    """Ask a person once to approve the plans of a fleet. Works like ``ApproveOffsetPlanOperator``."""

    directory = FleetDirectory


class BeginFleetChangeOperator(BeginOffsetChangeOperator):
    """Check every connector once more before the first is stopped: the setup of a fleet's change.

    Fails if another run is changing one of them, if a plan is older than ``plan_ttl``, outside of ``window``, if a
    consumer group that is to be changed has members, and with ``control`` storage while a worker runs one of them.
    """

    directory = FleetDirectory

    def begin_change(self, plans: list[OffsetPlan], clients: Clients, owner: Owner) -> dict[str, Any]:
        """Return what the task returns."""
        del clients, owner
        return {"connectors": len(plans)}


class ApplyFleetPlansOperator(ApplyOffsetPlanOperator):
    """Apply the plans of a fleet, ``max_down`` connectors at a time; verify or undo each by itself.

    After ``max_failures`` failures no further connector is stopped. ``digest`` is that of all plans together, as they
    were approved. A retry goes on with the plans that are not applied yet.

    Fails if any connector was not changed, and names them. Returns how many were applied, and the
    report's URI and URL.
    """

    parameters: ClassVar[Models] = (*ApplyOffsetPlanOperator.parameters, FleetLimitsParams)

    def execute(self, context: Context) -> dict[str, Any]:
        """Apply the plans."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_plans
        from airflow_provider_connect_offsets.operations.connector.undo import write_fleet_undo
        from airflow_provider_connect_offsets.operations.fleet import refuse_incomplete
        from airflow_provider_connect_offsets.report import Pending
        from airflow_provider_connect_offsets.workspace.datasets import each_read_once

        with fail_clearly(), ExitStack() as stack:
            fleet, limits = FleetDirectory(self.parse_as(RunParams).run_uri), self.parse_as(FleetLimitsParams)
            members = fleet.members()
            plans = read_plans(members, digest=self.parse_as(ApprovedParams).digest)
            opened = [stack.enter_context(self.open_clients()) for _ in range(min(limits.max_down, len(plans)))]
            stack.callback(report_of, fleet, pending=Pending.NOT_BEGUN)
            stack.enter_context(each_read_once())
            ended: dict[str, Outcome | Exception] = {}
            for name, one in self.apply_plans(opened, plans, members, context, max_failures=limits.max_failures):
                ended[name] = one
                text = str(one) if isinstance(one, Exception) else one.message
                self.log.info("%d of %d: %s", len(ended), len(plans), text)
                report_of(members[name])  # here, one after the other
            write_fleet_undo(fleet, opened[0], run=run_key(context))
            noun = opened[0].noun
            refuse_incomplete(ended, list(plans), noun=noun)
            outcomes = {name: outcome for name, outcome in ended.items() if not isinstance(outcome, Exception)}
            for name, outcome in outcomes.items():
                self.tell_outcome(context, opened[0], outcome, members[name])
        results = [outcome.result.value for outcome in outcomes.values()]
        counts = {result: results.count(result) for result in sorted(set(results))}
        self.log.info("As planned: %s: %s", quantify(len(plans), noun), counts)
        return {"connectors": len(plans), **counts, **report_at(fleet.report, dag_id=self.dag_id)}

    def on_kill(self) -> None:
        """Stop no further connector, and finish the connectors that are down at this moment, which takes seconds."""
        if self.changing is not None:
            self.changing.halt()


class RestoreFleetOperator(RestoreConnectorOffsetsOperator):
    """Undo what a fleet's change left unfinished, connector by connector: its teardown.

    Returns a sentence. If a connector can't be restored, the task fails at the end, after all others were restored.
    Airflow drops the events of a task that fails; so if the fleet was changed in part, this task adds the events of
    the connectors that were changed.
    """

    def execute(self, context: Context) -> str:
        """Restore what was left unfinished."""
        done: list[str] = []
        failed: list[ConnectOffsetsError] = []
        fleet = FleetDirectory(self.parse_as(RunParams).run_uri)
        members: Mapping[str, RunDirectory] = fleet.members()
        with fail_clearly(except_for=LeftStopped):
            with self.open_clients() as clients:
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
                report_of(fleet)
            if failed:
                # Retried if another attempt may mend any of them.
                retried = (one for one in failed if isinstance(one, LeftStopped) or not isinstance(one, PERMANENT))
                worst = next(retried, failed[0])
                raise type(worst)(" ".join(map(str, failed))) from worst
        return " ".join(done) or f"Nothing was left to restore of {quantify(len(members), noun)}."

    def add_event(self, context: Context, clients: Clients, outcome: Outcome, run: RunDirectory) -> None:
        """Add nothing: ``_tell_applied`` adds the events of all connectors."""

    def _tell_applied(self, context: Context, clients: Clients, runs: Iterable[RunDirectory]) -> None:
        """Add the events of the connectors that this run has changed."""
        for run in runs:
            outcome = Outcome.read(run.outcome)
            if outcome is not None and outcome.run == run_key(context):
                self.tell_outcome(context, clients, outcome, run)
