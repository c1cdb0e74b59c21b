"""Single steps on one connector, for DAGs of your own; each waits until the connector is in the requested state."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from airflow.providers.common.compat.sdk import conf
from airflow.sdk import BaseOperator

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidDocument, InvalidRequest, NotRunning
from airflow_provider_connect_offsets.hooks.failures import fail_clearly, raise_failure
from airflow_provider_connect_offsets.hooks.runs import directory_of
from airflow_provider_connect_offsets.hooks.settings import GuardedParameters
from airflow_provider_connect_offsets.offsets.document import (
    Offsets,
    check_given,
    kip199_document,
    load_json,
    parse_rest,
)
from airflow_provider_connect_offsets.offsets.redirected import show_value
from airflow_provider_connect_offsets.operators.shared.common import (
    LEASE_SECONDS,
    Interruptible,
    open_connect,
    owner_of,
)
from airflow_provider_connect_offsets.operators.shared.events import ChangeKind, TellsChanges
from airflow_provider_connect_offsets.operators.shared.links import ReportLink
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, Control, StepConnectionParams
from airflow_provider_connect_offsets.parameters.taking import Models
from airflow_provider_connect_offsets.parameters.tasks import (
    OffsetsFileParams,
    OneConnectorParams,
    RequestedStateParams,
    RestartParams,
    WaitingParams,
    WrittenOffsetsParams,
)
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.files import write_bytes
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.observe.clients import Clients

#: If the triggerer is gone, Airflow ends the task this many seconds after the triggerer would have ended the wait.
GRACE = 60.0


class ConnectorOperator(GuardedParameters, BaseOperator):
    """A step on one connector."""

    parameters: ClassVar[Models] = (OneConnectorParams, StepConnectionParams, WaitingParams)
    connector: str

    def execute(self, context: Context) -> Any:
        """Take the step; fails with one sentence that names the connector."""
        with fail_clearly(), self._open() as clients:
            return self.step(clients, context)

    def _open(self) -> AbstractContextManager[Clients]:
        if self.parse_as(StepConnectionParams).control == Control.GROUPS:
            raise InvalidRequest("control=groups: single steps can't change consumer groups. Use group_offsets_change.")
        return open_connect(self.parse_as(StepConnectionParams), self.parse_as(WaitingParams))

    def step(self, clients: Clients, context: Context) -> Any:
        """Take the step; ``clients``: clients of the connector's Connect cluster."""
        raise NotImplementedError


class _StateOperator(ConnectorOperator):
    """A step that brings the connector into ``target`` and waits until it is there.

    With ``deferrable`` a triggerer does the waiting, which takes no worker's slot, but about a second more.
    """

    requested: ClassVar[State]

    def __init__(
        self,
        *,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.deferrable = deferrable

    def target(self) -> State:
        """Return the requested state."""
        return self.requested

    def answer(self, before: str) -> str:
        """Return what the task returns; ``before``: the prior state."""
        del before
        return self.target().value

    def step(self, clients: Clients, context: Context) -> str:
        """Request the state, and wait for it here or in a triggerer; returns the prior state."""
        from airflow_provider_connect_offsets.operations.connector import stepwise

        target = self.target()
        before = clients.control.status(self.connector).state.value
        stepwise.set_state(self.connector, target, clients, owner_of(context), seconds=LEASE_SECONDS)
        # In a storage there is nothing to wait for.
        if self.deferrable and clients.origin.has_states:
            self._defer_until(target, before, timeout=clients.timeout)
        return self._there(clients, target, before)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> str:
        """Continue after the triggerer has observed the state; fails as if this task had waited itself."""
        del context
        with fail_clearly(), self._open() as clients:
            raise_failure(event)
            # The trigger has observed the state with tasks, or without any at the timeout: there are none to wait for.
            return self._there(clients, self.target(), event["before"], tasks=0)

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Continue after a triggerer; if none was there to send an event, the state decides how the task fails."""
        if next_method != "execute_complete":
            from airflow_provider_connect_offsets.operations.stages import steps

            with fail_clearly(), self._open() as clients:
                status = clients.control.status(self.connector)
                steps.refuse_failed(status, self.connector, self.target())
                steps.refuse_unless_in(status, self.connector, self.target(), timeout=clients.timeout)
        return super().resume_execution(next_method, next_kwargs, context)

    def _there(self, clients: Clients, target: State, before: str, *, tasks: int | None = None) -> str:
        from airflow_provider_connect_offsets.operations.stages import steps

        if target is State.STOPPED:
            steps.await_stopped(clients, self.connector)
        else:
            steps.await_state(clients, self.connector, target, tasks=tasks)
        self.log.info("%r was %s and is %s.", self.connector, before, target)
        return self.answer(before)

    def _defer_until(self, target: State, before: str, *, timeout: float) -> NoReturn:
        from airflow_provider_connect_offsets.offsets.requests.fields import fields_of
        from airflow_provider_connect_offsets.triggers.waiting import StateChangeTrigger

        reached = self.parse_as(StepConnectionParams).values(*fields_of(ConnectParams))
        trigger = StateChangeTrigger(
            connector=self.connector,
            state=target.value,
            **reached,
            before=before,
            most=0.1,  # waiting longer than needed is downtime
            until=time.time() + timeout,
            timeout=timeout,
        )
        self.defer(trigger=trigger, method_name="execute_complete", timeout=timedelta(seconds=timeout + GRACE))


class StopConnectorOperator(_StateOperator):
    """Stop a connector and wait until it is STOPPED without tasks (a sink's group empty). Returns the state before.

    ``kafka_conn_id``: a sink's own cluster, so that its group can be observed; may be left out. ``deferrable``: a
    triggerer does the waiting, which takes no worker's slot, but about a second more.
    """

    requested = State.STOPPED

    def answer(self, before: str) -> str:
        """Return the state before."""
        return before


class PauseConnectorOperator(_StateOperator):
    """Pause a connector and wait until it and its tasks are PAUSED. To change its offsets, stop it."""

    requested = State.PAUSED


class ResumeConnectorOperator(_StateOperator):
    """Resume a connector and wait until its tasks run, or give it the ``state`` it had: RUNNING, PAUSED or STOPPED.

    Fails if a task fails right after the resume.
    """

    parameters: ClassVar[Models] = (*_StateOperator.parameters, RequestedStateParams)
    state: str

    def target(self) -> State:
        """Return the requested state; raises :class:`InvalidRequest` for any other than these three."""
        return parse_state(self.connector, self.state)


class RestartConnectorOperator(ConnectorOperator):
    """Restart the failed tasks of a connector, and the connector if it has failed, and wait until all run again.

    Returns how many had failed; if none had, nothing is restarted. With ``failed_only=False`` everything is restarted;
    when that happens to a task that runs can't be observed. Fails if something fails again. Needs Connect's REST API:
    ``control`` is rest or strimzi+rest.
    """

    parameters: ClassVar[Models] = (*ConnectorOperator.parameters, RestartParams)

    def execute(self, context: Context) -> int:
        """Restart what is requested; what fails again may be retried, as its cause may pass."""
        with fail_clearly(except_for=NotRunning), self._open() as clients:
            return self.step(clients, context)

    def step(self, clients: Clients, context: Context) -> int:
        """Restart what is requested."""
        from airflow_provider_connect_offsets.operations.connector import stepwise

        given = self.parse_as(RestartParams)
        failed = stepwise.restart(
            self.connector, clients, owner_of(context), failed_only=given.failed_only, seconds=LEASE_SECONDS
        )
        self.log.info("%r: of the connector and its tasks, %d had failed and none has now.", self.connector, failed)
        return failed


class GetConnectorStatusOperator(ConnectorOperator):
    """Read the state of a connector and of its tasks. Returns them, with the cause if something has failed.

    The result is ``{"connector": name, "state": its state, "worker": address, "tasks": [{"id": number, "state": its
    state, "worker": address}, …], "cause": first line of the stack trace, or empty}``. A sensor waits for a state.
    """

    def step(self, clients: Clients, context: Context) -> dict[str, Any]:
        """Read the state."""
        del context
        status = clients.control.status(self.connector)
        tasks = [{"id": task.number, "state": task.state.value, "worker": task.worker} for task in status.tasks]
        cause = status.cause if status.has_failed else ""
        running = sum(task.state is State.RUNNING for task in status.tasks)
        whose = quantify(len(tasks), "task")
        self.log.info("%r is %s; %d of %s RUNNING. %s", self.connector, status.state, running, whose, cause)
        read = {"connector": self.connector, "state": status.state.value, "worker": status.worker}
        return {**read, "tasks": tasks, "cause": cause}


class GetConnectorConfigOperator(ConnectorOperator):
    """Read the configuration of a connector. Returns its settings, with secrets masked.

    A reference to a config provider (``${file:…}``) is not a secret, and is returned as it is.
    """

    def step(self, clients: Clients, context: Context) -> dict[str, str]:
        """Read the settings."""
        del context
        config = clients.control.info(self.connector).config
        self.log.info("%r has %s.", self.connector, quantify(len(config), "setting"))
        return {name: show_value(name, value) for name, value in sorted(config.items())}


class GetConnectorOffsetsOperator(ConnectorOperator):
    """Read all offsets of a connector into a KIP-199 JSON file at ``uri``. Returns the URI.

    ``uri`` defaults to ``<workspace>/<dag_id>/<run_id>/<task_id>.json``; ``to=file`` takes such a file. With
    ``run_uri`` (what a snapshot returned) it also verifies that the planned offsets are stored, and fails if they are
    not.
    """

    parameters: ClassVar[Models] = (*ConnectorOperator.parameters, OffsetsFileParams)
    operator_extra_links = (ReportLink(),)

    def step(self, clients: Clients, context: Context) -> str:
        """Read the offsets, and write them to the file."""
        from airflow_provider_connect_offsets.operations.connector import stepwise

        file = self.parse_as(OffsetsFileParams)
        if file.run_uri:
            stepwise.read_back(self.connector, clients, owner_of(context), seconds=LEASE_SECONDS)
        offsets = clients.offsets.read_offsets(self.connector)
        uri = file.uri or own_file(context)
        write_bytes(uri, kip199_document({self.connector: offsets}).encode())
        partitions = quantify(len(offsets.by_partition()), "partition")
        self.log.info("%r has offsets of %s. They were written to %s", self.connector, partitions, uri)
        return uri


class AlterConnectorOffsetsOperator(Interruptible, TellsChanges, ConnectorOperator):
    """Write offsets of a stopped connector, and verify them by reading them back. Returns the number of partitions.

    Either ``offsets`` (as Connect's REST API takes them: a list of ``{"partition": {…}, "offset": {…} or null}``),
    checked against the rules of the connector's family first; or ``run_uri`` with ``digest``: the plan of a run that a
    ``BeginOffsetChangeOperator`` with ``hold`` has begun. Written ``offsets`` are an event of the connector's asset.
    For a plan, which later steps may still undo, the teardown adds the event.
    """

    parameters: ClassVar[Models] = (*ConnectorOperator.parameters, WrittenOffsetsParams)
    operator_extra_links = (ReportLink(),)
    template_fields_renderers: ClassVar[dict[str, str]] = {"offsets": "json"}

    def step(self, clients: Clients, context: Context) -> int:
        """Write the offsets, and verify them by reading them back."""
        from airflow_provider_connect_offsets.operations.connector import direct, stepwise
        from airflow_provider_connect_offsets.operations.connector.plans import read_plan

        written = self.parse_as(WrittenOffsetsParams)
        if (written.offsets is None) == (not written.run_uri):
            raise InvalidRequest(f"{self.connector!r}: give either offsets or run_uri.")
        if written.offsets is not None:
            changes = parse_offsets(self.connector, written.offsets, nothing="Nothing was written:")
            altered = direct.alter(self.connector, clients, owner_of(context), changes)
            self.tell_step(context, clients, self.connector, altered, kind=ChangeKind.ALTERED)
            return len(altered.changes)
        plan = read_plan(RunDirectory(written.run_uri), digest=written.digest or None)
        if plan.connector != self.connector:
            raise InvalidRequest(
                f"Nothing was written: the plan in {written.run_uri} is for {plan.connector!r}, not for "
                f"{self.connector!r}."
            )
        stepwise.alter(plan, clients, owner_of(context, RunDirectory(written.run_uri)), seconds=LEASE_SECONDS)
        return len(plan.changed_rows())


class ResetConnectorOffsetsOperator(Interruptible, TellsChanges, ConnectorOperator):
    """Remove all offsets of a stopped connector, and verify that none is left. Returns how many there were.

    If there were any, their removal is an event of the connector's asset.
    """

    def step(self, clients: Clients, context: Context) -> int:
        """Remove the offsets, and verify that none is left."""
        from airflow_provider_connect_offsets.operations.connector import direct

        removed = direct.reset(self.connector, clients, owner_of(context))
        self.tell_step(context, clients, self.connector, removed, kind=ChangeKind.REMOVED)
        return len(removed.prior_offsets.by_partition())


def parse_state(connector: str, state: str) -> State:
    """Return the requested state of a connector; raises :class:`InvalidRequest` if no such state can be requested."""
    if state not in {State.RUNNING, State.PAUSED, State.STOPPED}:
        raise InvalidRequest(f"{connector!r}: state must be RUNNING, PAUSED or STOPPED, not {state!r}.")
    return State(state)


def parse_offsets(connector: str, offsets: Any, *, nothing: str) -> Offsets:
    """Return offsets that are given as Connect's REST API takes them: a list, or its JSON.

    Raises :class:`InvalidRequest` that begins with ``nothing``: what was not done.
    """
    try:
        listed = load_json(offsets) if isinstance(offsets, str) else offsets
        return check_given(parse_rest({"offsets": list(listed) if isinstance(listed, Sequence) else listed}))
    except (InvalidDocument, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{nothing} {connector!r}: {error}.") from error


def own_file(context: Context) -> str:
    """Return the URI of the task's own JSON file, in the directory of its run."""
    return join(directory_of(context["ti"], part="").uri, f"{unique_segment(context['ti'].task_id)}.json")
