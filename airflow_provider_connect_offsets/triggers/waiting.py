"""Triggers that look again and again, less and less often, until what a sensor waits for is there.

All they need to know is in their arguments, so that another triggerer goes on where one was ended. How long is waited
at most is Airflow's business (the task's ``timeout``), which outlives them as well.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_connect_offsets.change.waiting import (
    Awaited,
    Look,
    look_at_group,
    look_at_positions,
    look_at_state,
)
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.hooks.doors import open_doors
from airflow_provider_connect_offsets.hooks.failures import PERMANENT
from airflow_provider_connect_offsets.hooks.kafka import consumer_groups
from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook

log = logging.getLogger(__name__)
_FIRST = 0.1


class WaitingTrigger(BaseTrigger, ABC):
    """Looks until it is there; ``most`` is the longest time between two looks, in seconds.

    ``until``: a moment (seconds since 1970) at which to give up, None where Airflow's own time-out does that.
    """

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
        """Give one event: ``{"reached": bool, "message": str, "before": str}``; not reached: it never will be.

        What may pass by itself (a worker that is down, a rebalance) is waited for.
        """
        pause = min(_FIRST, self.most)
        while True:
            try:
                # In a thread, as the clients block; a look takes milliseconds, or as long as its own time-outs.
                seen = await asyncio.to_thread(self.look)
            except PERMANENT as error:
                yield self._event(reached=False, message=str(error))
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
                yield self._event(reached=False, message=f"It was waited for, but in time it was not there: {sentence}")
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, self.most)

    def _event(self, *, reached: bool, message: str) -> TriggerEvent:
        event = {"reached": reached, "message": message, "before": self.asked.get("before", "")}
        return TriggerEvent(event)  # type: ignore[no-untyped-call]

    @abstractmethod
    def look(self) -> Look:
        """Look once."""


class ConnectorStateTrigger(WaitingTrigger):
    """Waits until a connector is in a state; see ``ConnectorStateSensor``. ``before`` is handed on with the event."""

    def __init__(
        self,
        *,
        connector: str,
        state: str,
        connect_conn_id: str,
        most: float,
        until: float | None = None,
        before: str = "",
    ) -> None:
        asked = {"connector": connector, "state": state, "connect_conn_id": connect_conn_id, "before": before}
        super().__init__(most=most, until=until, **asked)

    def look(self) -> Look:
        """Look at its state."""
        with KafkaConnectHook(self.asked["connect_conn_id"]).get_conn() as connect:
            return look_at_state(connect, self.asked["connector"], self.asked["state"])


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

    def look(self) -> Look:
        """Look at its positions and at the logs."""
        awaited = Awaited.parse(**{name: self.asked[name] for name in ("topics", "partitions", "position", "max_lag")})
        with open_doors(self.asked["connect_conn_id"], self.asked["kafka_conn_id"]) as opened:
            return look_at_positions(opened.doors, self.asked["connector"], awaited)


class ConsumerGroupInactiveTrigger(WaitingTrigger):
    """Waits until a consumer group has no members; see ``ConsumerGroupInactiveSensor``."""

    def __init__(self, *, group: str, kafka_conn_id: str, most: float, until: float | None = None) -> None:
        super().__init__(most=most, until=until, group=group, kafka_conn_id=kafka_conn_id)

    def look(self) -> Look:
        """Look at the group."""
        with consumer_groups(self.asked["kafka_conn_id"]) as groups:
            return look_at_group(groups, self.asked["group"])
