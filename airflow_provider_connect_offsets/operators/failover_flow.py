"""The flow of a failover: its connections, and the tasks that stop its connectors and give them back."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, ClassVar

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.failover import FailoverClusters, FailoverConnections, open_failover
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_written
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.parameters.connections import FailoverClientsParams
from airflow_provider_connect_offsets.parameters.failover import DrainingParams
from airflow_provider_connect_offsets.parameters.taking import Models, TakesParameters
from airflow_provider_connect_offsets.parameters.tasks import RunParams, WaitingParams

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

#: Seconds for which the flow's connectors are held for the next task of the run.
HOLD = 3600.0


class FailoverOperator(TakesParameters, BaseOperator):
    """A task of a failover or failback."""

    parameters: ClassVar[Models] = (FailoverClientsParams, WaitingParams)
    operator_extra_links = (ReportLink(),)

    def connections(self, *, planned: bool) -> FailoverConnections:
        """Which connections are opened: without a source, those of the target only."""
        named = self.given(FailoverClientsParams)
        if planned:
            return FailoverConnections(
                named.connect_conn_id or named.forward_connect_conn_id,
                named.source_kafka_conn_id,
                named.target_kafka_conn_id,
                named.forward_connect_conn_id,
            )
        return FailoverConnections("", "", named.target_kafka_conn_id)

    def opened(self, *, planned: bool) -> AbstractContextManager[FailoverClusters]:
        """Open the clients of the failover; raises as ``hooks.failover.open_failover``."""
        return open_failover(self.connections(planned=planned), timeout=self.given(WaitingParams).timeout)


def directory_at(run_uri: str) -> FailoverDirectory:
    """The directory of a look at a flow."""
    from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

    return FailoverDirectory(run_uri)


def final_directory(run_uri: str) -> FailoverDirectory:
    """The directory of the last look, at a flow that stands still."""
    from airflow_provider_connect_offsets.workspace.paths import join

    return directory_at(join(run_uri, "final"))


def request_in(directory: FailoverDirectory) -> FailoverRequest:
    """What was asked for."""
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.workspace.files import read_json

    return FailoverRequest.from_json(read_json(directory.request))


def failover_page(directory: FailoverDirectory, *, pending: Pending | None = None) -> str:
    """Write the page and the CSV anew, and return where the page lies."""
    from airflow_provider_connect_offsets.report import write_failover_page

    return page_written(lambda: write_failover_page(directory, pending=pending), directory.report)


class OpenFailoverOperator(FailoverOperator):
    """Look whether the flow's connectors can be stopped; the setup of a failover, which changes nothing.

    A setup that fails has no teardown, so it is not the one that stops anything. Fails where another run changes one
    of the connectors, or nobody can tell which state it is to have. ``run_uri`` is what the first look returned.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters)

    def execute(self, context: Context) -> None:
        """Look."""
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.operations.stages.steps import lasting_status

        with failing_clearly():
            request = request_in(directory_at(self.given(RunParams).run_uri))
            planned = request.mode is Mode.PLANNED
            with self.opened(planned=planned) as opened:
                for connect, name in opened.connectors(request):
                    connect.journal(name).refuse_overlap(owner_of(context).run)
                    self.log.info("%r is %s.", name, lasting_status(connect.clients, name).state)


class BeginFailoverOperator(FailoverOperator):
    """Let replication catch up and stop the flow's connectors, then look again.

    Of an unplanned one it only looks again. ``drain_timeout``: seconds in which the flow has to catch up; nothing is
    stopped before it has. Fails where records are left to be replicated. Reads the records that prove places, and those
    at places that the preview has picked to be checked. Returns the URI of the directory of what stands now, which the
    final translation and the commit take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters, DrainingParams)

    def execute(self, context: Context) -> str:
        """Wait, stop, look."""
        from airflow_provider_connect_offsets.observe.flow import failover
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.operations.connector import stopped

        before, after = directory_at(self.given(RunParams).run_uri), final_directory(self.given(RunParams).run_uri)
        with failing_clearly():
            request = request_in(before)
            planned = request.mode is Mode.PLANNED
            with self.opened(planned=planned) as opened:
                if planned:
                    failover.await_drained(request, opened.clients, timeout=self.given(DrainingParams).drain_timeout)
                prior = stopped.stop_for_run(opened.members(request), owner_of(context), seconds=HOLD)
                for name, state in prior:
                    self.log.info("%r was %s and is STOPPED.", name, state)
                failover.observe_failover(
                    request, opened.clients_for(request), after, ranges=before if planned else None
                )
        return after.uri


class ReleaseFlowOperator(FailoverOperator):
    """Give the flow's connectors the state that they had, unless the failover ended in order; a teardown.

    One that can't be given back keeps none of the others from it; the task fails then, and names it. ``run_uri`` is
    what the first look returned. Returns a sentence that says what was done.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters)
    ui_color = "#f3d3d3"

    def execute(self, context: Context) -> str:
        """Release."""
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.operations.connector import stopped

        told = None
        with failing_clearly():
            request = request_in(directory_at(self.given(RunParams).run_uri))
            if request.mode is Mode.PLANNED:
                with self.opened(planned=True) as opened:
                    told = stopped.restore(opened.members(request), owner_of(context))
        return told or "Nothing was left to release."
