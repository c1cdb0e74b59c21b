"""The flow of a failover: its connections, and the tasks that stop its connectors and restore their states."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar
from uuid import uuid4

from airflow_provider_connect_offsets.hooks.failover import flow_connectors, open_failover
from airflow_provider_connect_offsets.hooks.failures import fail_clearly
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.operators.shared.common import LEASE_SECONDS, owner_of
from airflow_provider_connect_offsets.operators.shared.links import ReportedOperator
from airflow_provider_connect_offsets.operators.shared.spark import SparkJobOperator
from airflow_provider_connect_offsets.operators.shared.standby import STANDS_BY, Standby, dismiss_drivers
from airflow_provider_connect_offsets.parameters.connections import FailoverClientsParams
from airflow_provider_connect_offsets.parameters.failover import DrainingParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import RunParams, WaitingParams
from airflow_provider_connect_offsets.workspace.files import read_json, remove
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, StandbyDirectory
from airflow_provider_connect_offsets.workspace.paths import join

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients


class FailoverOperator(ReportedOperator):
    """A task of a failover or failback."""

    parameters: ClassVar[Models] = (FailoverClientsParams, WaitingParams)

    def open_flow(self, *, planned: bool, patient: bool = True) -> AbstractContextManager[Clients]:
        """Open the clients of the failover; arguments and errors: see ``hooks.failover.open_failover``."""
        connections, timeout = self.parse_as(FailoverClientsParams), self.parse_as(WaitingParams).timeout
        return open_failover(connections, planned=planned, timeout=timeout, patient=patient)

    def target_groups(self, clients: Clients) -> Clients:
        """Return clients of the target's consumer groups; raises store errors."""
        from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients

        named = {"target_kafka_conn_id": self.parse_as(FailoverClientsParams).target_kafka_conn_id}
        groups = group_clients(clients.both_clusters.target, connections=named)
        return replace(groups, workspace=clients.workspace, guards=clients.guards, journal=clients.journal)


def request_in(directory: FailoverDirectory) -> FailoverRequest:
    """Return the request that the run's first task has written."""
    return FailoverRequest.from_json(read_json(directory.request))


class OpenFailoverOperator(FailoverOperator):
    """Check whether the flow's connectors can be stopped; the setup of a failover, which changes nothing.

    A setup that fails has no teardown, so it is not the one that stops anything. Fails if another run changes one of
    the connectors or of the groups, or if the state that a connector should have is unknown.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters)

    def execute(self, context: Context) -> None:
        """Check the connectors and the groups."""
        from airflow_provider_connect_offsets.operations.groups.group_stages import refuse_changed
        from airflow_provider_connect_offsets.operations.registry import journal_of
        from airflow_provider_connect_offsets.operations.stages.steps import await_lasting_status

        with fail_clearly():
            directory = FailoverDirectory(self.parse_as(RunParams).run_uri)
            request = request_in(directory)
            planned = request.mode is Mode.PLANNED
            with self.open_flow(planned=planned) as clients:
                refuse_changed(self.target_groups(clients), directory, owner_of(context).run)
                for connect, name in flow_connectors(clients, request):
                    journal_of(connect, name).refuse_overlap(owner_of(context).run)
                    self.log.info("%r is %s.", name, await_lasting_status(connect, name).state)


class BeginFailoverOperator(FailoverOperator, SparkJobOperator):
    """Let replication catch up and stop the flow's connectors, observe the flow again, and translate on Spark.

    An unplanned failover only observes again. Nothing is stopped before replication has caught up and a Spark driver is
    ready; fails if replication does not catch up within ``drain_timeout``. Reads the records that prove translated
    offsets, and those that the preview has sampled. If the driver does not translate them, the next task does.

    All other arguments are those of ``SparkSubmitOperator``, for the driver. Returns the URI of the directory of this
    observation, which the final translation and the commit take as ``run_uri``.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters, DrainingParams)
    template_fields: Sequence[str] = (*FailoverOperator.template_fields, *SparkJobOperator.template_fields)
    job = "standby"
    # What is compiled while it gets ready is no part of the time for which the flow is stopped.
    is_short = False

    def execute(self, context: Context) -> str:  # type: ignore[override]
        """Wait for replication, stop the connectors, and observe the flow."""
        from airflow_provider_connect_offsets.observe.flow.failover import observe_failover

        before = FailoverDirectory(self.parse_as(RunParams).run_uri)
        after = before.final_directory
        with fail_clearly():
            request = request_in(before)
            remove(after.summary)  # of an earlier attempt, which belongs to another observation
            if request.mode is Mode.PLANNED:
                self._observe_stopped(context, request, before, after)
            else:
                with self.open_flow(planned=False) as clients:
                    observe_failover(request, clients, after)
        return after.uri

    def _observe_stopped(
        self, context: Context, request: FailoverRequest, before: FailoverDirectory, after: FailoverDirectory
    ) -> None:
        from airflow_provider_connect_offsets.observe.flow import failover
        from airflow_provider_connect_offsets.operations.connector import stopped

        seconds = self.parse_as(DrainingParams).drain_timeout
        dismiss_drivers(after)  # of an earlier attempt
        directory = StandbyDirectory(join(after.standby, uuid4().hex))
        self._arguments = [before.uri, after.uri, directory.uri, str(seconds + STANDS_BY)]
        with self.open_flow(planned=True) as clients, Standby(directory, self, context) as driver:
            failover.await_drained(request, clients, timeout=seconds)
            driver.await_ready()
            prior = stopped.stop_for_run(flow_connectors(clients, request), owner_of(context), seconds=LEASE_SECONDS)
            for name, state in prior:
                self.log.info("%r was %s, and is STOPPED now.", name, state)
            failover.observe_failover(request, clients, after, ranges=before)
            driver.translate()

    def job_arguments(self) -> list[str]:
        """Return the directories of preview, observation and messages, and how long the driver waits."""
        return self._arguments


class ReleaseFlowOperator(FailoverOperator):
    """Restore the prior states of the flow's connectors, unless the failover ended properly; a teardown.

    Also ends the Spark driver that waits for the stop, if the task that started it was killed. If a connector can't be
    restored, the others still are, and the task fails and names it. Returns a sentence that says what was done.
    """

    parameters: ClassVar[Models] = (RunParams, *FailoverOperator.parameters)

    def execute(self, context: Context) -> str:
        """Restore the connectors' states."""
        from airflow_provider_connect_offsets.operations.connector import stopped

        done = None
        with fail_clearly():
            directory = FailoverDirectory(self.parse_as(RunParams).run_uri)
            request = request_in(directory)
            if request.mode is Mode.PLANNED:
                try:
                    with self.open_flow(planned=True) as clients:
                        done = stopped.restore(flow_connectors(clients, request), owner_of(context))
                finally:  # no driver is worth a moment for which the flow is stopped
                    dismiss_drivers(directory.final_directory)
        return done or "Nothing was left to restore."
