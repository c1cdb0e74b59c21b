"""Stages of a connector as a whole: stop it, and resume it in the state it had."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import ClassVar

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, State
from airflow_provider_connect_offsets.exceptions import Drift, Interfered, NotRunning, OutcomeUnknown, UnknownConnector
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import (
    RESUME,
    SET,
    STOP,
    PriorState,
)
from airflow_provider_connect_offsets.operations.stages.reached import ConnectorStage
from airflow_provider_connect_offsets.saga import (
    Captures,
    Done,
    Downtime,
    Found,
    JsonMap,
    Kind,
    StageState,
    Undoing,
)
from airflow_provider_connect_offsets.words import as_sentence

log = logging.getLogger(__name__)


class _StateStage(ConnectorStage):
    """Brings a connector into a state; ``optional``: whether a connector that someone has deleted is left out."""

    arguments: ClassVar[tuple[str, ...]] = ("optional",)

    def __init__(self, connector: str, clients: Clients, *, optional: bool = False) -> None:
        super().__init__(connector, clients)
        self.optional = optional

    def _pass_over(self, error: UnknownConnector, *, otherwise: Exception) -> None:
        """Raise ``otherwise`` for a connector that someone has deleted, unless it may be left out."""
        if self.optional:
            log.warning("%s This connector is left out.", error)
        elif otherwise is error:
            raise error
        else:
            raise otherwise from error


class StopConnector(_StateStage):
    """Stops a connector, and waits until it is STOPPED without tasks; the undo restores its prior state.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        optional: True if the connector is left out once someone has deleted it.
        for_offsets: True if a later stage alters its offsets.
        known: Its configuration, if a later stage makes sure that it still is the same.
    """

    title = STOP
    kind = Kind.UNDOABLE
    downtime = Downtime.BEGINS

    def __init__(
        self,
        connector: str,
        clients: Clients,
        *,
        optional: bool = False,
        for_offsets: bool = False,
        known: ConnectorInfo | None = None,
    ) -> None:
        super().__init__(connector, clients, optional=optional)
        self._for_offsets, self._known = for_offsets, known

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture its state, as :class:`PriorState`."""
        prior = PriorState.observe(self._clients, self.subject)
        if self._for_offsets:
            self._clients.control.prepare(self.subject)
        return prior.as_json()

    def do(self, captured: JsonMap) -> Done:
        """Stop it; raises :class:`NotStopped` and other store errors."""
        try:
            steps.stop(self._clients, self.subject, known=self._known)
        except UnknownConnector as error:
            self._pass_over(error, otherwise=error)
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE while it is STOPPED."""
        try:
            state = steps.await_lasting_status(self._clients, self.subject).state
        except UnknownConnector as error:
            return StageState(Found.DONE) if self.optional else StageState(Found.FOREIGN, deletion_error(error))
        if state is State.STOPPED:
            return StageState(Found.DONE)
        return StageState(
            Found.FOREIGN, Interfered(f"{self.subject!r} is {state}: someone else resumed the connector.")
        )

    def request_undo(self, captured: JsonMap, undoing: Undoing) -> None:
        """Request its prior state, unless a stop may still be in flight, which has to be awaited first."""
        if undoing.returned or not _is_in_doubt(undoing.error):
            with suppress(UnknownConnector):
                steps.request_state(self._clients, self.subject, PriorState.from_json(captured).state)

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Restore its prior state, and wait for it.

        If the stop did not return, the present state proves nothing: the stop may still be in flight. Connect carries
        requests out in the order in which they arrive. So the state is requested in any case; the process that lost the
        answer first requests another stop.

        Raises:
            NotRunning: The state was not reached in time, or a task failed.
            Interfered: Someone has deleted the connector.
            StoreError: Connect does not answer, or refuses.
        """
        try:
            if not undoing.returned and _is_in_doubt(undoing.error):
                steps.stop(self._clients, self.subject)
            prior = PriorState.from_json(captured)
            _restore_state(self._clients, self.subject, prior, always=not undoing.returned, may_fail=prior.failed)
        except UnknownConnector as error:
            self._pass_over(error, otherwise=deletion_error(error))
        return ""


class ResumeConnector(_StateStage):
    """Restores the state that a connector had before it was stopped, and waits for it.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        optional: As in :class:`StopConnector`.
        state_of: The connector that was stopped, if this one takes its place; None: the same.
        may_fail: True if a connector that had failed may fail again, as nothing was changed that could mend it.
    """

    title = RESUME
    kind = Kind.FORWARD
    downtime = Downtime.ENDS
    arguments: ClassVar[tuple[str, ...]] = ("optional", "state_of", "may_fail")

    def __init__(
        self,
        connector: str,
        clients: Clients,
        *,
        optional: bool = False,
        state_of: str | None = None,
        may_fail: bool = False,
    ) -> None:
        super().__init__(connector, clients, optional=optional)
        self.state_of = state_of
        self.may_fail = may_fail

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture the state that it had, as :class:`PriorState`."""
        return PriorState.before(earlier, self.state_of or self.subject, cluster=self.cluster).as_json()

    def do(self, captured: JsonMap) -> Done:
        """Restore the state, unless the connector has it already; raises :class:`NotRunning` and store errors."""
        try:
            _restore_state(
                self._clients, self.subject, PriorState.from_json(captured), always=False, may_fail=self.may_fail
            )
        except UnknownConnector as error:
            self._pass_over(error, otherwise=NotRunning(f"{error} Someone has deleted it, so it can't be resumed."))
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return BEFORE while it is STOPPED and had another state; DONE if it was deleted: nothing is left to do."""
        try:
            state = steps.await_lasting_status(self._clients, self.subject).state
        except UnknownConnector:
            return StageState(Found.DONE)
        is_restored = state is not State.STOPPED or PriorState.from_json(captured).state is State.STOPPED
        return StageState(Found.DONE if is_restored else Found.BEFORE)

    def stands(self, captured: JsonMap) -> StageState:
        """Return DONE while the connector has the state that was restored, and has not failed unless it may."""
        prior = PriorState.from_json(captured)
        try:
            status = steps.await_lasting_status(self._clients, self.subject)
        except UnknownConnector as error:
            return StageState(Found.FOREIGN, Drift(f"{error} Someone has deleted it since."))
        if status.has_failed and prior.state is not State.STOPPED and not (self.may_fail and prior.failed):
            return StageState(
                Found.PARTIAL,
                NotRunning(f"{self.subject!r} was resumed, but has failed since: {as_sentence(status.cause)}"),
            )
        if steps.intended_state(status) is not prior.state:
            return StageState(
                Found.FOREIGN, Drift(f"{self.subject!r} was {prior.state} after the change, but is {status.state} now.")
            )
        return StageState(Found.DONE)


class StartConnector(ResumeConnector):
    """Starts a STOPPED connector that has not run with its configuration yet; the undo stops it.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        state: The state that it is to have; None: the one that it had before it was stopped.
    """

    kind = Kind.UNDOABLE

    def __init__(self, connector: str, clients: Clients, state: State | None = None) -> None:
        super().__init__(connector, clients)
        self._state = state

    def capture(self, earlier: Captures) -> JsonMap:
        """Return the state that it is to have; how many tasks it will have is unknown."""
        before = PriorState.before(earlier, self.subject, cluster=self.cluster)
        return PriorState(self._state or before.state, 0).as_json()

    def do(self, captured: JsonMap) -> Done:
        """Start it and wait for its tasks; raises :class:`NotRunning` and store errors.

        A connector may have nothing to do yet, as a MirrorCheckpoint without groups: without a task until the timeout
        it counts as started.
        """
        steps.restore_state(self._clients, self.subject, PriorState.from_json(captured).state)
        return Done()

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Stop it; raises :class:`NotStopped` and other store errors."""
        with suppress(UnknownConnector):
            steps.stop(self._clients, self.subject)
        return ""


class SetState(ConnectorStage):
    """Requests a state of a connector, as an operation of its own; it is not undone, and does not wait for the state.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        state: RUNNING, PAUSED or STOPPED.
    """

    title = SET
    kind = Kind.FORWARD
    arguments = ("state",)

    def __init__(self, connector: str, clients: Clients, *, state: str) -> None:
        super().__init__(connector, clients)
        self.state = state

    def do(self, captured: JsonMap) -> Done:
        """Request the state; raises store errors."""
        steps.request_state(self._clients, self.subject, State(self.state))
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return DONE if the connector has the state, or is gone; else BEFORE: nobody else has anything left to do."""
        try:
            state = self._clients.control.status(self.subject).state
        except UnknownConnector:
            return StageState(Found.DONE)
        return StageState(Found.DONE if state == self.state else Found.BEFORE)


class RestartConnector(ConnectorStage):
    """Requests a restart of a connector and its tasks; it is not undone, and does not wait for the restart.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.
        failed_only: Whether what has not failed runs on.
    """

    title = "restart_connector"
    kind = Kind.FORWARD
    arguments = ("failed_only",)

    def __init__(self, connector: str, clients: Clients, *, failed_only: bool) -> None:
        super().__init__(connector, clients)
        self.failed_only = failed_only

    def do(self, captured: JsonMap) -> Done:
        """Request the restart; raises store errors."""
        steps.request_restart(self._clients, self.subject, failed_only=self.failed_only)
        return Done()

    def find(self, captured: JsonMap) -> StageState:
        """Return BEFORE if something has failed, else DONE: nobody else has anything left to do."""
        try:
            has_failed = self._clients.control.status(self.subject).has_failed
        except UnknownConnector:
            return StageState(Found.DONE)
        return StageState(Found.BEFORE if has_failed else Found.DONE)


def deletion_error(error: UnknownConnector) -> Interfered:
    """Return the error for a connector that someone has deleted while it was STOPPED."""
    return Interfered(f"{error} Someone has deleted it, so its prior state can't be restored.")


def _restore_state(clients: Clients, connector: str, prior: PriorState, *, always: bool, may_fail: bool) -> None:
    """Restore a connector's state, unless it has that state already.

    ``always``: request it in any case. ``may_fail``: a connector that had failed may fail again.
    """
    if always or clients.control.status(connector).state is not prior.state:
        may_fail = may_fail and prior.failed
        steps.restore_state(clients, connector, prior.state, tasks=prior.tasks, may_fail=may_fail)


def _is_in_doubt(error: BaseException | None) -> bool:
    """Whether a request may still be in flight: its answer was lost, or the process was interrupted."""
    return error is not None and (isinstance(error, OutcomeUnknown) or not isinstance(error, Exception))
