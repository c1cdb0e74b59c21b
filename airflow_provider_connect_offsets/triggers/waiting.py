"""Triggers that look again and again, less and less often, until what a sensor waits for is there.

All they need to know is in their arguments, so that another triggerer goes on where one was ended. A task that waits
here fails as one that waits in a worker's slot: errors travel in the event, and the task raises them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any, ClassVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import open_clients
from airflow_provider_connect_offsets.hooks.failures import PERMANENT, as_event
from airflow_provider_connect_offsets.hooks.kafka import consumer_groups, kafka_cluster
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
from airflow_provider_connect_offsets.observe.positions import Awaited, observe_positions
from airflow_provider_connect_offsets.observe.waiting import Observation, is_in, observe_group, observe_state
from airflow_provider_connect_offsets.operations.stages import steps

log = logging.getLogger(__name__)
_FIRST = 0.1


class WaitingTrigger(BaseTrigger, ABC):
    """Looks until it is there; ``most`` is the longest time between two looks, in seconds.

    ``until``: a moment (seconds since 1970) at which to give up; None: never. ``ends_with``: the errors that end the
    waiting; any other may pass by itself (a worker that is down, a rebalance).
    """

    ends_with: ClassVar[tuple[type[ConnectOffsetsError], ...]] = PERMANENT

    def __init__(self, *, most: float, until: float | None = None, **asked: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.most = most
        self.until = until
        self.asked = asked

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The class's path and its arguments, JSON primitives all."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "most": self.most,
            "until": self.until,
            **self.asked,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Give one event: ``{"reached": bool, "message": str, "before": str, "error": str}``.

        ``error``: the class of the error that ended the waiting; empty where it is reached, or time was up.
        """
        pause = min(_FIRST, self.most)
        while True:
            try:
                # In a thread, as the clients block; a look takes milliseconds, or as long as its own time-outs.
                seen = await asyncio.to_thread(self.observe)
            except self.ends_with as error:
                yield self._event(reached=False, **as_event(error))
                return
            except ConnectOffsetsError as error:
                log.warning("%s Looking again.", error)
                sentence = str(error)
            else:
                log.info(seen.sentence)
                sentence = seen.sentence
                if seen.reached:
                    yield self._event(reached=True, message=sentence)
                    return
            if self.until is not None and time.time() > self.until:
                yield self._event(reached=False, message=sentence)
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.most)

    def _event(self, *, reached: bool, message: str, error: str = "") -> TriggerEvent:
        event = {"reached": reached, "message": message, "before": self.asked.get("before", ""), "error": error}
        return TriggerEvent(event)  # type: ignore[no-untyped-call]

    @abstractmethod
    def observe(self) -> Observation:
        """Look once."""


class ConnectorStateTrigger(WaitingTrigger):
    """Waits until a connector is in a state; see ``ConnectorStateSensor``."""

    def __init__(
        self, *, connector: str, state: str, connect_conn_id: str, most: float, until: float | None = None
    ) -> None:
        super().__init__(most=most, until=until, connector=connector, state=state, connect_conn_id=connect_conn_id)

    def observe(self) -> Observation:
        """Look at its state."""
        with KafkaConnectHook(self.asked["connect_conn_id"]).get_conn() as connect:
            return observe_state(connect, self.asked["connector"], self.asked["state"])


class StateChangeTrigger(WaitingTrigger):
    """Waits until a connector is in the state that an operator has asked for; ends as the operator itself would.

    ``timeout``: the seconds of which ``until`` is the end; ``before`` is handed on with the event.
    """

    ends_with = (ConnectOffsetsError,)

    def __init__(  # noqa: PLR0913 - what an operator hands on, each by its name
        self,
        *,
        connector: str,
        state: str,
        connect_conn_id: str,
        most: float,
        until: float,
        timeout: float,
        before: str,
    ) -> None:
        super().__init__(
            most=most,
            until=until,
            connector=connector,
            state=state,
            connect_conn_id=connect_conn_id,
            timeout=timeout,
            before=before,
        )

    def observe(self) -> Observation:
        """Look at its state; raises what ``operations.stages.steps`` raises once the time is up."""
        connector, state = self.asked["connector"], State(self.asked["state"])
        with KafkaConnectHook(self.asked["connect_conn_id"]).get_conn() as connect:
            status = connect.status(connector)
        steps.refuse_failed(status, connector, state)
        reached = is_in(status, state)
        if not reached and self.until is not None and time.time() > self.until:
            steps.refuse_unless_in(status, connector, state, timeout=self.asked["timeout"])
            reached = True  # RUNNING without tasks: it has none
        return Observation(reached, f"{connector!r} is {status.state} with {len(status.tasks)} tasks.")


class ConnectorPositionTrigger(WaitingTrigger):
    """Waits until a connector has come far enough; see ``ConnectorPositionSensor``."""

    def __init__(  # noqa: PLR0913 - what a sensor hands on, each by its name
        self,
        *,
        connector: str,
        topics: str,
        partitions: str,
        position: int | str | None,
        max_lag: int | str,
        connect_conn_id: str,
        kafka_conn_id: str,
        most: float,
        until: float | None = None,
    ) -> None:
        super().__init__(
            most=most,
            until=until,
            connector=connector,
            topics=topics,
            partitions=partitions,
            position=position,
            max_lag=max_lag,
            connect_conn_id=connect_conn_id,
            kafka_conn_id=kafka_conn_id,
        )

    def observe(self) -> Observation:
        """Look at its positions and at the logs."""
        awaited = Awaited.parse(**{name: self.asked[name] for name in ("topics", "partitions", "position", "max_lag")})
        connector, kafka = self.asked["connector"], self.asked["kafka_conn_id"]
        if not kafka:
            raise InvalidRequest(f"{connector!r}: kafka_conn_id must name the cluster that its positions refer to.")
        with open_clients(self.asked["connect_conn_id"], kafka) as opened, kafka_cluster(kafka) as cluster:
            return observe_positions(opened.clients, connector, cluster.logs, awaited)


class ConsumerGroupInactiveTrigger(WaitingTrigger):
    """Waits until a consumer group has no members; see ``ConsumerGroupInactiveSensor``."""

    def __init__(self, *, group: str, kafka_conn_id: str, most: float, until: float | None = None) -> None:
        super().__init__(most=most, until=until, group=group, kafka_conn_id=kafka_conn_id)

    def observe(self) -> Observation:
        """Look at the group."""
        with consumer_groups(self.asked["kafka_conn_id"]) as groups:
            return observe_group(groups, self.asked["group"])
