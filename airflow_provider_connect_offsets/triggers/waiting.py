"""Triggers that observe until the state is reached that a sensor or operator awaits, with growing pauses.

Everything they need is in their arguments, so another triggerer continues if one ends. Errors travel in the event and
the task raises them: a deferred task fails like one that waits in a worker's slot.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, State
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, InvalidRequest, NotReconciled
from airflow_provider_connect_offsets.hooks import strimzi
from airflow_provider_connect_offsets.hooks.clients import open_clients, open_connect_cluster
from airflow_provider_connect_offsets.hooks.failures import PERMANENT, as_event
from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
from airflow_provider_connect_offsets.observe.clients import Origin
from airflow_provider_connect_offsets.observe.positions import observe_positions
from airflow_provider_connect_offsets.observe.waiting import Observation, is_in, observe_group, observe_state
from airflow_provider_connect_offsets.offsets.json_codec import encode
from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, argument
from airflow_provider_connect_offsets.offsets.requests.values import Text
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.parameters.sensors import (
    AwaitedGroupParams,
    AwaitedPositionParams,
    AwaitedStateParams,
)
from airflow_provider_connect_offsets.words import quantify

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi

log = logging.getLogger(__name__)
_FIRST_PAUSE = 0.1
# Seconds for which a resource is watched at a time.
_WATCH = 3.0


class WaitingTrigger(BaseTrigger, ABC):
    """Observes until the awaited state is reached.

    Attributes:
        parameters: Model of what is awaited; each of its fields is an argument.
        ends_with: Errors that end the waiting. Any other may pass by itself (a worker that is down, a rebalance).

    Args:
        most: Longest pause between two observations, in seconds.
        until: When to give up, in seconds since 1970; None: never.
        awaited: Fields of ``parameters``.
    """

    parameters: ClassVar[type[Parameters]]
    ends_with: ClassVar[tuple[type[ConnectOffsetsError], ...]] = PERMANENT
    awaited: Any

    def __init__(self, *, most: float, until: float | None = None, **awaited: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.most = most
        self.until = until
        self.awaited = self.parameters.parse(**awaited)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the trigger's class path and its arguments, as JSON values."""
        arguments = {"most": self.most, "until": self.until, **encode(self.awaited.values())}
        return f"{type(self).__module__}.{type(self).__qualname__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield one event: ``{"reached": bool, "message": str, "before": str, "error": str}``.

        ``error`` is the class of the error that ended the waiting; empty if the state is reached or time is up.
        ``before`` is the state before the change that is awaited; empty if nothing is changed.
        """
        pause = min(_FIRST_PAUSE, self.most)
        while True:
            try:
                # In a thread, as the clients block. An observation takes milliseconds, at most the clients' timeouts.
                observed = await asyncio.to_thread(self.observe)
            except self.ends_with as error:
                yield self._event(reached=False, **as_event(error))
                return
            except ConnectOffsetsError as error:
                log.warning("%s Trying again.", error)
                message = str(error)
            else:
                message = observed.sentence
                log.info(message)
                if observed.reached:
                    yield self._event(reached=True, message=message)
                    return
            if self.until is not None and time.time() > self.until:
                yield self._event(reached=False, message=message)
                return
            await self.pause(pause)
            pause = min(pause * 2, self.most)

    async def pause(self, seconds: float) -> None:
        """Wait between two observations."""
        await asyncio.sleep(seconds)

    def _event(self, *, reached: bool, message: str, error: str = "") -> TriggerEvent:
        before = getattr(self.awaited, "before", "")
        event = {"reached": reached, "message": message, "before": before, "error": error}
        return TriggerEvent(event)  # type: ignore[no-untyped-call]

    @abstractmethod
    def observe(self) -> Observation:
        """Observe once; raises store errors, and :class:`InvalidRequest` for arguments that can't be used."""


class StateTrigger(WaitingTrigger):
    """Waits for a state of a connector; with control strimzi its resource is watched between two observations.

    With strimzi+rest Connect itself is asked for the state, so a change of the resource would not be enough.
    """

    awaited: AwaitedStateParams

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._watched: CustomResource | None = None
        self._look_again = False

    @contextmanager
    def open_control(self) -> Iterator[ConnectorControl]:
        """Open the control over the connector for one observation, which does not wait for Strimzi's operator."""
        with open_connect_cluster(self.awaited, timeout=0.0) as clients:
            if clients.origin is not Origin.STRIMZI:
                yield clients.control
                return
            resources = cast("ConnectStrimzi", clients.control)
            try:
                yield resources
                if self._look_again:
                    resources.look_again(self.awaited.connector)
            finally:
                self._watched = resources.last_resource(self.awaited.connector)

    async def pause(self, seconds: float) -> None:
        """Watch the resource if there is one; without an event, the next observation makes the operator look again."""
        if self._watched is None:
            await super().pause(seconds)
        else:
            changed = await strimzi.await_change(self.awaited.kubernetes_conn_id, self._watched, seconds=_WATCH)
            self._look_again = not changed


class ConnectorStateTrigger(StateTrigger):
    """Waits until a connector is in a state; see ``ConnectorStateSensor``."""

    parameters = AwaitedStateParams
    awaited: AwaitedStateParams

    def observe(self) -> Observation:
        """Observe its state."""
        with self.open_control() as control:
            return observe_state(control, self.awaited.connector, self.awaited.state)


class StateChangeParams(AwaitedStateParams):
    """A state that an operator has requested of a connector."""

    timeout: float = argument("Timeout in seconds, which ends at ``until``; shown in messages.")
    before: Text = argument("State before the request; part of the event.", default="")


class StateChangeTrigger(StateTrigger):
    """Waits until a connector is in the state that an operator has requested; any error ends it, as in the operator."""

    parameters = StateChangeParams
    awaited: StateChangeParams
    ends_with = (ConnectOffsetsError,)

    def observe(self) -> Observation:
        """Observe its state; raises what ``operations.stages.steps`` raises once time is up."""
        connector, state = self.awaited.connector, State(self.awaited.state)
        is_late = self.until is not None and time.time() > self.until
        try:
            with self.open_control() as control:
                status = control.status(connector)
        except NotReconciled as error:
            if is_late:
                raise
            return Observation(reached=False, sentence=str(error))
        steps.refuse_failed(status, connector, state)
        reached = is_in(status, state)
        if not reached and is_late:
            steps.refuse_unless_in(status, connector, state, timeout=self.awaited.timeout)
            reached = True  # RUNNING without tasks: it is configured for none
        return Observation(reached, f"{connector!r} is {status.state} with {quantify(len(status.tasks), 'task')}.")


class ConnectorPositionTrigger(WaitingTrigger):
    """Waits until a connector has reached its positions; see ``ConnectorPositionSensor``."""

    parameters = AwaitedPositionParams
    awaited: AwaitedPositionParams

    def observe(self) -> Observation:
        """Observe its positions and the logs."""
        connector, kafka = self.awaited.connector, self.awaited.kafka_conn_id
        if not kafka:
            raise InvalidRequest(f"{connector!r}: kafka_conn_id must name the cluster that its positions refer to.")
        with open_clients(self.awaited, kafka) as clients:
            return observe_positions(clients, connector, self.awaited)


class ConsumerGroupInactiveTrigger(WaitingTrigger):
    """Waits until a consumer group has no members; see ``ConsumerGroupInactiveSensor``."""

    parameters = AwaitedGroupParams
    awaited: AwaitedGroupParams

    def observe(self) -> Observation:
        """Observe the group."""
        with kafka_cluster(self.awaited.kafka_conn_id) as cluster:
            return observe_group(cluster.groups, self.awaited.group)
