"""Triggers that watch connectors and consumer groups, for DAGs that are scheduled by what happens to them."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping
from typing import Any, ClassVar

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import open_clients, open_connect_cluster
from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
from airflow_provider_connect_offsets.observe.lag import list_behind
from airflow_provider_connect_offsets.offsets.json_codec import encode
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.parameters.watching import (
    WatchedConnectorsParams,
    WatchedGroupsParams,
    WatchedLagParams,
    WatchedParams,
)

log = logging.getLogger(__name__)
# How many partitions a payload describes; it says how many there are.
_NAMED = 3


class WatchingTrigger(BaseEventTrigger, ABC):
    """Fires once for each name of which something becomes true, and again only after it was untrue in between.

    A triggerer that starts reports what is true by then, so a name may be reported twice. While a system does not
    answer, or refuses, nothing is reported, and the log says why.

    Attributes:
        parameters: Model of what is watched; each of its fields is an argument.

    Args:
        watched: Fields of ``parameters``, and no others.

    Raises:
        InvalidRequest: One of them can't be used.
    """

    parameters: ClassVar[type[WatchedParams]]
    watched: Any

    def __init__(self, **watched: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.watched = self.parameters.parse(**watched)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the trigger's class path and its arguments, as JSON values."""
        return f"{type(self).__module__}.{type(self).__qualname__}", encode(self.watched.values())

    async def run(self) -> AsyncGenerator[TriggerEvent]:
        """Yield an event for each name of which it has become true since the look before."""
        known: Collection[str] = ()
        while True:
            try:
                # In a thread, as the clients block.
                found = await asyncio.to_thread(self.look)
            except ConnectOffsetsError as error:
                log.warning("%s Trying again.", error)
            else:
                for name in sorted(found.keys() - set(known)):
                    log.info("%r: %s", name, found[name])
                    yield TriggerEvent(found[name])  # type: ignore[no-untyped-call]
                known = found.keys()
            await asyncio.sleep(self.watched.every)

    @abstractmethod
    def look(self) -> Mapping[str, dict[str, Any]]:
        """Return the payload of each name of which it is true now; raises store errors."""


class ConnectorFailedTrigger(WatchingTrigger):
    """Fires for each connector that fails, or of which a task does.

    The payload is ``{"connector": name, "state": its state, "failed_tasks": numbers of tasks, "cause": the first line
    of the stack trace}``. Each look is one request to Connect.
    """

    parameters = WatchedConnectorsParams

    def look(self) -> dict[str, dict[str, Any]]:
        """Return the connectors that have failed."""
        names = typed_pattern(self.watched.connectors, param="connectors")
        with open_connect_cluster(self.watched, timeout=0.0, rest_timeout=0.0, patient=False) as clients:
            seen = {name: one.status for name, one in clients.control.overview().items() if names.matches(name)}
        return {
            name: {
                "connector": name,
                "state": status.state.value,
                "failed_tasks": [task.number for task in status.failed_tasks],
                "cause": status.cause,
            }
            for name, status in seen.items()
            if status.has_failed
        }


class LagBeyondTrigger(WatchingTrigger):
    """Fires for each connector that has a partition with more, or older, records left to read than the bounds allow.

    The payload is ``{"connector": name, "partitions": how many are behind, "behind": a text for up to three of them}``.
    Each look reads the offsets of each connector, and the logs of its topics. Connectors without positions are left
    out.
    """

    parameters = WatchedLagParams

    def __init__(self, **watched: Any) -> None:
        super().__init__(**watched)
        if self.watched.max_lag_records is None and self.watched.max_lag_seconds is None:
            raise InvalidRequest("Give max_lag_records or max_lag_seconds: the lag beyond which the trigger fires.")

    def look(self) -> dict[str, dict[str, Any]]:
        """Return the connectors that are behind."""
        names = typed_pattern(self.watched.connectors, param="connectors")
        found: dict[str, dict[str, Any]] = {}
        with open_clients(self.watched, self.watched.kafka_conn_id, timeout=0.0, patient=False) as clients:
            for name, one in clients.control.overview().items():
                if not names.matches(name) or not one.info.family.has_positions:
                    continue
                if behind := list_behind(clients, one.info, self.watched):
                    found[name] = {"connector": name, "partitions": len(behind), "behind": behind[:_NAMED]}
        return found


class GroupEmptyTrigger(WatchingTrigger):
    """Fires for each consumer group that has no members any more, so that its offsets can be changed.

    The payload is ``{"group": name}``. A group that is deleted is not reported.
    """

    parameters = WatchedGroupsParams

    def look(self) -> dict[str, dict[str, Any]]:
        """Return the groups without members."""
        with kafka_cluster(self.watched.kafka_conn_id, patient=False) as kafka:
            states = kafka.groups.states(kafka.groups.list_groups(self.watched.groups))
        return {name: {"group": name} for name, one in states.items() if one.inactive}
