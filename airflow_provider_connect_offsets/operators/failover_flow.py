"""The flow of a failover: its connections, and the tasks that stop its connectors and give them back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.hooks.failover import FailoverConnections, open_failover
from airflow_provider_connect_offsets.hooks.failures import failing_clearly
from airflow_provider_connect_offsets.operators.shared.common import owner_of, page_written
from airflow_provider_connect_offsets.operators.shared.links import ReportLink

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

#: Seconds for which the flow's connectors are held for the next task of the run.
HOLD = 3600.0


class FailoverOperator(BaseOperator):
    """A task that looks at a flow; ``timeout``: seconds that a state of a connector is waited for.

    ``forward_connect_conn_id``: of a failback, the connection of the Connect cluster that runs the flow which brought
    the records, and the one that leads back too where ``connect_conn_id`` is empty; else empty.
    """

    template_fields: Sequence[str] = (
        "connect_conn_id",
        "source_kafka_conn_id",
        "target_kafka_conn_id",
        "forward_connect_conn_id",
        "timeout",
    )
    operator_extra_links = (ReportLink(),)

    def __init__(
        self,
        *,
        connect_conn_id: str = "kafka_connect_default",
        source_kafka_conn_id: str = "kafka_source",
        target_kafka_conn_id: str = "kafka_target",
        forward_connect_conn_id: str = "",
        timeout: float = 120.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.connect_conn_id = connect_conn_id
        self.source_kafka_conn_id = source_kafka_conn_id
        self.target_kafka_conn_id = target_kafka_conn_id
        self.forward_connect_conn_id = forward_connect_conn_id
        self.timeout = timeout

    def connections(self, *, planned: bool) -> FailoverConnections:
        """Which connections are opened: without a source, those of the target only."""
        if planned:
            return FailoverConnections(
                self.connect_conn_id or self.forward_connect_conn_id,
                self.source_kafka_conn_id,
                self.target_kafka_conn_id,
                self.forward_connect_conn_id,
            )
        return FailoverConnections("", "", self.target_kafka_conn_id)


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
    from airflow_provider_connect_offsets.report import write_failover_report

    return page_written(lambda: write_failover_report(directory, pending=pending), directory.report)


class OpenFailoverOperator(FailoverOperator):
    """Look whether the flow's connectors can be stopped; the setup of a failover, which changes nothing.

    A setup that fails has no teardown, so it is not the one that stops anything. Fails where another run changes one
    of the connectors, or nobody can tell which state it is to have. ``run_uri`` is what the first look returned.
    """

    template_fields: Sequence[str] = (*FailoverOperator.template_fields, "run_uri")

    def __init__(self, *, run_uri: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri

    def execute(self, context: Context) -> None:
        """Look."""
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.operations.stages.steps import told_status

        with failing_clearly():
            request = request_in(directory_at(self.run_uri))
            planned = request.mode is Mode.PLANNED
            with open_failover(self.connections(planned=planned), timeout=float(self.timeout)) as opened:
                for connect, name in opened.connectors(request):
                    connect.journal(name).refuse_overlap(owner_of(context).run)
                    self.log.info("%r is %s.", name, told_status(connect.clients, name).state)


class BeginFailoverOperator(FailoverOperator):
    """Let replication catch up and stop the flow's connectors, then look again.

    Of an unplanned one it only looks again. ``drain_timeout``: seconds in which the flow has to catch up; nothing is
    stopped before it has. Fails where records are left to be replicated. Reads the records that prove places, and those
    at places that the preview has picked to be checked. Returns the URI of the directory of what stands now, which the
    final translation and the commit take as ``run_uri``.
    """

    template_fields: Sequence[str] = (*FailoverOperator.template_fields, "run_uri", "drain_timeout")

    def __init__(self, *, run_uri: str, drain_timeout: float | str = 300.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri
        self.drain_timeout = drain_timeout

    def execute(self, context: Context) -> str:
        """Wait, stop, look."""
        from airflow_provider_connect_offsets.observe.flow import failover
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.operations.connector import held

        before, after = directory_at(self.run_uri), final_directory(self.run_uri)
        with failing_clearly():
            request = request_in(before)
            planned = request.mode is Mode.PLANNED
            with open_failover(self.connections(planned=planned), timeout=float(self.timeout)) as opened:
                if planned:
                    failover.await_drained(request, opened.clients, timeout=float(self.drain_timeout))
                prior = held.hold_stopped(opened.members(request), owner_of(context), seconds=HOLD)
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

    template_fields: Sequence[str] = (*FailoverOperator.template_fields, "run_uri")
    ui_color = "#f3d3d3"

    def __init__(self, *, run_uri: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run_uri = run_uri

    def execute(self, context: Context) -> str:
        """Release."""
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.operations.connector import held

        told = None
        with failing_clearly():
            request = request_in(directory_at(self.run_uri))
            if request.mode is Mode.PLANNED:
                with open_failover(self.connections(planned=True), timeout=float(self.timeout)) as opened:
                    told = held.take_back(opened.members(request), owner_of(context))
        return told or "Nothing was left to release."
