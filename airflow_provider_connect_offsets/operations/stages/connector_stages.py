"""Stages of a connector as a whole: stop it, and resume it in the state it had."""

from __future__ import annotations

import logging

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Interfered, NotRunning, OutcomeUnknown, UnknownConnector
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import CONNECTIONS, RESUME, STOP, PriorState
from airflow_provider_connect_offsets.saga.stage import (
    Captures,
    Done,
    Downtime,
    Found,
    JsonMap,
    Kind,
    Stage,
    StageState,
    Undoing,
)

log = logging.getLogger(__name__)


class _StageOfConnector(Stage):
    """Asks a connector for a state. optional: whether one that somebody has deleted is passed over."""

    def __init__(self, connector: str, clients: Clients, *, optional: bool = False) -> None:
        super().__init__(connector, cluster=clients.cluster)
        self._clients = clients
        self._optional = optional

    def spec(self) -> JsonMap:
        """Whether it is passed over where it is gone."""
        return {"optional": self._optional, CONNECTIONS: dict(self._clients.connections)}

    def _pass_over(self, error: UnknownConnector, *, otherwise: Exception) -> None:
        """Raise ``otherwise`` of a connector that somebody has deleted, unless it may be missing."""
        if self._optional:
            log.warning("%s It is left out.", error)
        elif otherwise is error:
            raise error
        else:
            raise otherwise from error


class StopConnector(_StageOfConnector):
    """Stop a connector and wait until it is STOPPED without tasks; undone, it gets back the state it had."""

    title = STOP
    kind = Kind.UNDOABLE
    downtime = Downtime.BEGINS

    def capture(self, earlier: Captures) -> JsonMap:
        """The state that it has."""
        del earlier
        return PriorState.observed(self._clients, self.subject).as_json()

    def do(self, captured: JsonMap) -> Done:
        """Stop it; raises :class:`NotStopped` and other store errors."""
        del captured
        try:
            steps.stop(self._clients, self.subject)
        except UnknownConnector as error:
            self._pass_over(error, otherwise=error)
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """DONE while it is STOPPED."""
        del captured
        try:
            state = steps.lasting_status(self._clients, self.subject).state
        except UnknownConnector as error:
            return StageState(Found.DONE) if self._optional else StageState(Found.FOREIGN, deleted(error))
        if state is State.STOPPED:
            return StageState(Found.DONE)
        return StageState(
            Found.FOREIGN, Interfered(f"{self.subject!r} is {state}: someone else resumed the connector.")
        )

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Give it the state that it had, and wait for it; raises :class:`NotRunning` and store errors.

        Raises :class:`Interfered` for one that somebody has deleted.

        Where the stop did not come back, what the connector is now says nothing, as the stop may still be on its way.
        Connect carries requests out in the order in which they come, so the state is asked for in any case, and in the
        process that lost the answer once more behind a second stop.
        """
        try:
            if not undoing.returned and _is_in_doubt(undoing.error):
                steps.stop(self._clients, self.subject)
            restore_state(self._clients, self.subject, PriorState.of(captured), ask=not undoing.returned)
        except UnknownConnector as error:
            self._pass_over(error, otherwise=deleted(error))
        return ""


class ResumeConnector(_StageOfConnector):
    """Give a connector the state that it had before it was stopped, and wait for it."""

    title = RESUME
    kind = Kind.FORWARD
    downtime = Downtime.ENDS

    def capture(self, earlier: Captures) -> JsonMap:
        """The state that it had."""
        return PriorState.before(earlier, self.subject, cluster=self.cluster).as_json()

    def do(self, captured: JsonMap) -> Done:
        """Ask for it, unless it is there already; raises :class:`NotRunning` and store errors."""
        try:
            restore_state(self._clients, self.subject, PriorState.of(captured), ask=False)
        except UnknownConnector as error:
            self._pass_over(error, otherwise=NotRunning(f"{error} Someone has deleted it, so it can't be resumed."))
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """BEFORE while it is STOPPED and is to be something else; of one that is gone nothing is left to be done."""
        try:
            state = steps.lasting_status(self._clients, self.subject).state
        except UnknownConnector:
            return StageState(Found.DONE)
        is_there = state is not State.STOPPED or PriorState.of(captured).state is State.STOPPED
        return StageState(Found.DONE if is_there else Found.BEFORE)


def deleted(error: UnknownConnector) -> Interfered:
    """What is said of a connector that somebody has deleted while it was STOPPED."""
    return Interfered(f"{error} Someone has deleted it, so it can't be given back.")


def restore_state(clients: Clients, connector: str, prior: PriorState, *, ask: bool) -> None:
    """Bring a connector into the state it had, unless it is there; ``ask``: in any case. Raises :class:`NotRunning`."""
    if ask or clients.control.status(connector).state is not prior.state:
        steps.restore_state(clients, connector, prior.state, tasks=prior.tasks)


def _is_in_doubt(error: BaseException | None) -> bool:
    """Whether a request may still be on its way: its answer was lost, or the process was interrupted."""
    return error is not None and (isinstance(error, OutcomeUnknown) or not isinstance(error, Exception))
