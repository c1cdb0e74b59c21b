"""Single steps on one connector, for those who compose their own DAGs; each waits to see what it asked for."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.exceptions import InvalidDocument, InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, Control
from airflow_provider_connect_offsets.hooks.failures import failing_clearly, raise_failure
from airflow_provider_connect_offsets.operators.shared.common import open_connect, owner_of, run_at
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.parameters.connections import StepConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models, TakesParameters
from airflow_provider_connect_offsets.parameters.tasks import (
    OffsetsFileParams,
    OneConnectorParams,
    RequestedStateParams,
    WaitingParams,
    WrittenOffsetsParams,
)

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.connect.protocols import State

#: Seconds for which a step keeps the connector held for the next one.
HOLD = 3600.0
#: Airflow ends a task whose triggerer is gone so many seconds after a living one would have.
GRACE = 60.0


class _ConnectorOperator(TakesParameters, BaseOperator):
    """A step on one connector."""

    parameters: ClassVar[Models] = (OneConnectorParams, StepConnectionParams, WaitingParams)
    connector: str

    def execute(self, context: Context) -> Any:
        """Take the step; fails with one sentence that names the connector."""
        with failing_clearly(), self._opened() as opened:
            return self.step(opened, context)

    def _opened(self) -> AbstractContextManager[ConnectCluster]:
        return open_connect(self.given(StepConnectionParams), self.given(WaitingParams))

    def step(self, opened: ConnectCluster, context: Context) -> Any:
        """Take the step; ``opened`` are the clients of the Connect cluster."""
        raise NotImplementedError


class _StateOperator(_ConnectorOperator):
    """A step that brings the connector into ``target`` and waits until it is there.

    With ``deferrable`` a triggerer does the waiting, which takes no worker's slot, but about a second more.
    """

    def __init__(
        self,
        *,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable

    def target(self) -> State:
        """The state that is asked for."""
        raise NotImplementedError

    def answer(self, before: str) -> str:
        """What the task returns."""
        del before
        return self.target().value

    def step(self, opened: ConnectCluster, context: Context) -> str:
        """Ask for the state, and wait for it here or elsewhere; gives the state before."""
        from airflow_provider_connect_offsets.operations.stages import steps

        del context
        target = self.target()
        before = opened.clients.control.status(self.connector).state.value
        steps.request_state(opened.clients, self.connector, target)
        # In a storage there is nothing to wait for.
        if self.deferrable and self.given(StepConnectionParams).control == Control.REST:
            self._defer_until(target, before)
        return self._there(opened, target, before)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> str:
        """Go on where the triggerer has seen the state; fails as if it had been waited for here."""
        del context
        with failing_clearly(), self._opened() as opened:
            raise_failure(event)
            # Seen with its tasks, or without any when time was up: it has none to wait for.
            return self._there(opened, self.target(), event["before"], tasks=0)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Go on after a triggerer; where none was there to send an event, the state says how the task fails."""
        if next_method != "execute_complete":
            from airflow_provider_connect_offsets.operations.stages import steps

            with failing_clearly(), self._opened() as opened:
                status = opened.clients.control.status(self.connector)
                steps.refuse_failed(status, self.connector, self.target())
                steps.refuse_unless_in(status, self.connector, self.target(), timeout=self.given(WaitingParams).timeout)
        return super().resume_execution(next_method, next_kwargs, context)

    def _there(self, opened: ConnectCluster, target: State, before: str, *, tasks: int | None = None) -> str:
        from airflow_provider_connect_offsets.connect.protocols import State
        from airflow_provider_connect_offsets.operations.stages import steps

        if target is State.STOPPED:
            steps.await_stopped(opened.clients, self.connector)
        else:
            steps.await_state(opened.clients, self.connector, target, tasks=tasks)
        self.log.info("%r was %s and is %s.", self.connector, before, target)
        return self.answer(before)

    def _defer_until(self, target: State, before: str) -> NoReturn:
        from airflow_provider_connect_offsets.triggers.waiting import StateChangeTrigger

        timeout = self.given(WaitingParams).timeout
        trigger = StateChangeTrigger(
            connector=self.connector,
            state=target.value,
            connect_conn_id=self.given(StepConnectionParams).connect_conn_id,
            before=before,
            most=0.1,  # what is waited too long is downtime
            until=time.time() + timeout,
            timeout=timeout,
        )
        self.defer(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=timeout + GRACE))


class StopConnectorOperator(_StateOperator):
    """Stop a connector and wait until it is STOPPED without tasks (a sink's group empty). Returns the state before.

    ``kafka_conn_id``: a sink's own cluster, so that its group can be looked at; may be left out. ``deferrable``: a
    triggerer does the waiting, which takes no worker's slot, but about a second more.
    """

    def target(self) -> State:
        """STOPPED."""
        from airflow_provider_connect_offsets.connect.protocols import State

        return State.STOPPED

    def answer(self, before: str) -> str:
        """The state before."""
        return before


class PauseConnectorOperator(_StateOperator):
    """Pause a connector and wait until it and its tasks are PAUSED. To change its offsets, stop it."""

    def target(self) -> State:
        """PAUSED."""
        from airflow_provider_connect_offsets.connect.protocols import State

        return State.PAUSED


class ResumeConnectorOperator(_StateOperator):
    """Resume a connector and wait until its tasks run, or give it the ``state`` it had: RUNNING, PAUSED or STOPPED.

    Fails where a task fails right after the resume.
    """

    parameters: ClassVar[Models] = (*_StateOperator.parameters, RequestedStateParams)
    state: str

    def target(self) -> State:
        """The state asked for; raises :class:`InvalidRequest` for another word."""
        from airflow_provider_connect_offsets.connect.protocols import State

        if self.state not in {State.RUNNING, State.PAUSED, State.STOPPED}:
            raise InvalidRequest(f"{self.connector!r}: state {self.state!r} is none of RUNNING, PAUSED and STOPPED.")
        return State(self.state)


class GetConnectorOffsetsOperator(_ConnectorOperator):
    """Read all offsets of a connector into a KIP-199 JSON file at ``uri``. Returns the URI.

    ``uri`` defaults to ``<workspace>/<dag_id>/<run_id>/<task_id>.json``; ``to=file`` takes such a file. With
    ``run_uri`` (what a snapshot returned) it also proves that what was planned there stands, and fails where not.
    """

    parameters: ClassVar[Models] = (*_ConnectorOperator.parameters, OffsetsFileParams)
    operator_extra_links = (ReportLink(),)

    def step(self, opened: ConnectCluster, context: Context) -> str:
        """Read."""
        from airflow_provider_connect_offsets.hooks.runs import directory_of
        from airflow_provider_connect_offsets.offsets.document import kip199_document
        from airflow_provider_connect_offsets.operations.connector import stepwise
        from airflow_provider_connect_offsets.workspace.files import write_bytes
        from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

        file = self.given(OffsetsFileParams)
        if file.run_uri:
            stepwise.read_back(opened.clients, opened.journal(self.connector), owner_of(context), seconds=HOLD)
        offsets = opened.clients.offsets.read_offsets(self.connector)
        name = f"{unique_segment(context['ti'].task_id)}.json"
        uri = file.uri or join(directory_of(context, part="").uri, name)
        write_bytes(uri, kip199_document({self.connector: offsets}).encode())
        self.log.info("%r has offsets for %d partitions; written to %s", self.connector, len(offsets.stored()), uri)
        return uri


class AlterConnectorOffsetsOperator(_ConnectorOperator):
    """Write offsets of a stopped connector, and prove them by reading back. Returns how many partitions were written.

    Either ``offsets`` (as Connect's REST API takes them: a list of ``{"partition": {…}, "offset": {…} or null}``),
    checked against the rules of the connector's family first; or ``run_uri`` with ``digest``: the plan of a run that a
    ``BeginOffsetChangeOperator`` with ``hold`` has begun.
    """

    parameters: ClassVar[Models] = (*_ConnectorOperator.parameters, WrittenOffsetsParams)
    operator_extra_links = (ReportLink(),)
    template_fields_renderers: ClassVar[dict[str, str]] = {"offsets": "json"}

    def step(self, opened: ConnectCluster, context: Context) -> int:
        """Write and prove."""
        from airflow_provider_connect_offsets.offsets.document import parse_rest
        from airflow_provider_connect_offsets.operations.connector import direct, stepwise
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan

        written = self.given(WrittenOffsetsParams)
        if (written.offsets is None) == (not written.run_uri):
            raise InvalidRequest(f"{self.connector!r}: give either offsets or run_uri.")
        if written.offsets is not None:
            try:
                changes = parse_rest({"offsets": list(written.offsets)})
            except InvalidDocument as error:
                raise InvalidRequest(f"Nothing was written: {self.connector!r}: {error}.") from error
            return direct.alter(opened.clients, opened.journal(self.connector), owner_of(context), changes)
        plan = read_plan(run_at(written.run_uri), digest=written.digest or None)
        journal = opened.journal(plan.connector)
        stepwise.alter(plan, opened.clients, journal, owner_of(context), seconds=HOLD)
        return len(plan.changed_rows())


class ResetConnectorOffsetsOperator(_ConnectorOperator):
    """Remove all offsets of a stopped connector, and prove that none is left. Returns how many there were."""

    def step(self, opened: ConnectCluster, context: Context) -> int:
        """Reset and prove."""
        from airflow_provider_connect_offsets.operations.connector import direct

        return direct.reset(opened.clients, opened.journal(self.connector), owner_of(context))
