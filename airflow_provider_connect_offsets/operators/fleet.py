"""One change over many connectors: planned together, approved together, and only so many down at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, LeftStopped, PlanRefused, StoreError
from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, open_clients
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.operators.apply import (
    ApplyOffsetPlanOperator,
    ApproveOffsetPlanOperator,
    BeginOffsetChangeOperator,
    applied,
)
from airflow_provider_connect_offsets.operators.plan import PlanConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.restore import RestoreConnectorOffsetsOperator
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_of, page_written, report_at, run_key
from airflow_provider_connect_offsets.operators.snapshot import SnapshotConnectorOffsetsOperator

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.saga.lease import Owner
    from airflow_provider_connect_offsets.saga.many import ManySagas
    from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory
    from airflow_provider_connect_offsets.workspace.outcome import Outcome


class SnapshotFleetOperator(SnapshotConnectorOffsetsOperator):
    """The snapshot of every connector whose whole name matches ``connectors`` (a regular expression). Reads only.

    Everything else is as with ``SnapshotConnectorOffsetsOperator``; one ``kafka_conn_id`` serves all connectors.
    Returns the URI of the fleet's directory, which all later tasks take as ``run_uri``.
    """

    def __init__(self, *, connectors: str, **kwargs: Any) -> None:
        super().__init__(connector=connectors, **kwargs)

    def execute(self, context: Context) -> str:
        """Write the snapshots; fails before it touches anything where the request makes no sense."""
        from airflow_provider_connect_offsets.operations.fleet import select, take_snapshots

        fleet = _fleet(directory_of(context, part=self.part).uri)
        now = datetime.now(tz=UTC)
        with failing_clearly(), open_clients(self.connect_conn_id, self.kafka_conn_id, control=self.control) as opened:
            names = select(opened.clients.control.connectors(), self.connector)
            requests = [self.request(name, now=now) for name in names]
            take_snapshots(requests, opened.clients, fleet, cluster=opened.cluster)
        self.log.info("%d connectors match %r; datasets under %s", len(names), self.connector, fleet.uri)
        return fleet.uri


class PlanFleetOperator(PlanConnectorOffsetsOperator):
    """The plans of all connectors of a fleet in one Spark application, each checked against every rule.

    Fails, so that nothing is stopped, where any of them has an error. Returns their sums, and one ``digest`` for all.
    """

    def directories(self) -> list[str]:
        """The run directory of each connector."""
        with failing_clearly():
            return [run.uri for run in _fleet(self.run_uri).members().values()]

    def judged(self) -> dict[str, Any]:
        """Show what the job found; raises :class:`PlanRefused` that names the first connector with an error."""
        from airflow_provider_connect_offsets.report import FleetChange, as_text, fleet_table

        change = FleetChange.read(_fleet(self.run_uri))
        self.log.info("The plans:\n%s", as_text(fleet_table(change)))
        for run in _fleet(self.run_uri).members().values():
            page_of(run)  # which the fleet's report links to, and an approver may want to see
        report = report_at(_page(self.run_uri), dag_id=self.dag_id)
        refused = change.errors()
        if refused:
            more = f" (and {len(refused) - 1} more connectors)" if len(refused) > 1 else ""
            raise PlanRefused(f"Nothing was stopped or changed. {next(iter(refused.values()))}{more}")
        return {"run_uri": self.run_uri, **report, **change.sums(), "digest": change.digest}


class ApproveFleetOperator(ApproveOffsetPlanOperator):
    """Ask a person once for all connectors of a fleet; else as ``ApproveOffsetPlanOperator``."""

    def page(self, pending: Pending) -> None:
        """Write the fleet's page anew."""
        _page(self.summary["run_uri"], pending=pending)

    def question(self) -> tuple[str, str]:
        """Subject and body, in Markdown."""
        from airflow_provider_connect_offsets.report import FleetChange, fleet_question

        change = FleetChange.read(_fleet(self.summary["run_uri"]))
        return f"Change the offsets of {len(change.members)} connectors?", fleet_question(change, link=self.link)


class BeginFleetChangeOperator(BeginOffsetChangeOperator):
    """Look once more at every connector before the first is stopped: the setup of a fleet's change.

    Fails where another run is changing one of them, and where a plan is older than ``plan_ttl`` (seconds).
    """

    def execute(self, context: Context) -> dict[str, Any]:
        """Refuse what has gone stale or overlaps."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan, refuse_stale

        with failing_clearly(), open_clients(self.connect_conn_id, self.kafka_conn_id, control=self.control) as opened:
            members = _fleet(self.run_uri).members()
            for run in members.values():
                refuse_stale(run, ttl=timedelta(seconds=float(self.plan_ttl)))
                opened.journal(read_plan(run).connector).refuse_overlap(run_key(context))
        return {"connectors": len(members)}


@dataclass(frozen=True, slots=True)
class _Member:
    run: RunDirectory
    plan: OffsetPlan


class ApplyFleetPlansOperator(ApplyOffsetPlanOperator):
    """Apply the plans of a fleet, ``max_down`` connectors at a time; each is proved, or put back, by itself.

    After ``max_failures`` failures no further connector is stopped. ``digest`` is that of all plans together, as they
    were approved. A retry goes on with those that are not applied yet.

    Fails where any connector was not changed, and names them. Returns how many were applied, and the
    report's URI and URL.
    """

    template_fields: Sequence[str] = (*ApplyOffsetPlanOperator.template_fields, "max_down", "max_failures")

    def __init__(self, *, max_down: int | str = 5, max_failures: int | str = 5, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_down = max_down
        self.max_failures = max_failures
        self._changing: ManySagas[_Member, Outcome] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        """Apply the plans."""
        from airflow_provider_connect_offsets.operations.connector.plans import read_plans
        from airflow_provider_connect_offsets.operations.fleet import refuse_incomplete
        from airflow_provider_connect_offsets.report import Pending
        from airflow_provider_connect_offsets.saga.many import ManySagas

        owner = owner_of(context)
        with failing_clearly(), ExitStack() as stack:
            members = _fleet(self.run_uri).members()
            plans = read_plans(members, digest=self.digest)
            clients = [stack.enter_context(self._clients()) for _ in range(min(int(self.max_down), len(plans)))]
            many = ManySagas(_through(clients, owner), at_once=int(self.max_down), max_failures=int(self.max_failures))
            self._changing = many
            stack.callback(_page, self.run_uri, pending=Pending.NOT_BEGUN)
            ended = dict(self._ends(many, [_Member(members[name], plan) for name, plan in plans.items()]))
            refuse_incomplete(ended, list(plans))
        results = [outcome.result.value for outcome in ended.values() if not isinstance(outcome, Exception)]
        counts = {result: results.count(result) for result in sorted(set(results))}
        self.log.info("All %d connectors are as planned: %s", len(plans), counts)
        return {"connectors": len(plans), **counts, **report_at(_fleet(self.run_uri).report, dag_id=self.dag_id)}

    def on_kill(self) -> None:
        """Stop no further connector; those that are down at this moment are finished, which takes seconds."""
        if self._changing is not None:
            self._changing.halt()

    def _clients(self) -> AbstractContextManager[ConnectCluster]:
        return open_clients(self.connect_conn_id, self.kafka_conn_id, control=self.control, timeout=float(self.timeout))

    def _ends(
        self, many: ManySagas[_Member, Outcome], members: Sequence[_Member]
    ) -> Iterator[tuple[str, Outcome | Exception]]:
        """Tell of each as it ends; its page is written here, one after the other."""
        for number, (member, ended) in enumerate(many.run(members), start=1):
            text = str(ended) if isinstance(ended, Exception) else ended.message
            self.log.info("%d of %d: %s", number, len(members), text)
            page_of(member.run)
            yield member.plan.connector, ended


class RestoreFleetOperator(RestoreConnectorOffsetsOperator):
    """Put back what a fleet's change left unfinished, connector by connector: its teardown.

    Returns a sentence. A connector that can't be put back is told at the end, after all others were looked at.
    """

    def execute(self, context: Context) -> str:
        """Restore where something is left to restore."""
        done: list[str] = []
        failed: list[ConnectOffsetsError] = []
        members: Mapping[str, RunDirectory] = _fleet(self.run_uri).members()
        with failing_clearly(except_for=LeftStopped):
            with open_clients(
                self.connect_conn_id, self.kafka_conn_id, control=self.control, timeout=float(self.timeout)
            ) as opened:
                for run in members.values():
                    try:
                        told = self.take_back(run, opened, context)
                    except ConnectOffsetsError as error:
                        failed.append(error)
                    else:
                        done += [told] if told else []
            if done or failed:
                _page(self.run_uri)
            if failed:
                # One that another attempt may mend decides whether there is one.
                worst = next((error for error in failed if isinstance(error, LeftStopped | StoreError)), failed[0])
                raise type(worst)(" ".join(map(str, failed))) from worst
        return " ".join(done) or f"Nothing was left to restore of {len(members)} connectors."


def _through(clients: Sequence[ConnectCluster], owner: Owner) -> Callable[[_Member], Outcome]:
    """Apply a member's plan through whichever doors are free: no two threads share a client."""
    free: SimpleQueue[ConnectCluster] = SimpleQueue()
    for opened in clients:
        free.put(opened)

    def change(member: _Member) -> Outcome:
        opened = free.get()
        try:
            return applied(member.plan, opened, owner, member.run)
        finally:
            free.put(opened)

    return change


def _fleet(run_uri: str) -> FleetDirectory:
    from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory

    return FleetDirectory(run_uri)


def _page(run_uri: str, *, pending: Pending | None = None) -> str:
    from airflow_provider_connect_offsets.report import write_fleet_report

    fleet = _fleet(run_uri)
    return page_written(lambda: write_fleet_report(fleet, pending=pending), fleet.report)
