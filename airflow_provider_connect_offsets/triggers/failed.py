"""A trigger that reports connectors which fail, for DAGs that are scheduled by such events."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.hooks.clients import open_connect_cluster
from airflow_provider_connect_offsets.offsets.json_codec import encode
from airflow_provider_connect_offsets.offsets.requests.fields import argument
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.offsets.requests.values import ALL, PatternOrAll
from airflow_provider_connect_offsets.parameters.connections import ConnectParams

log = logging.getLogger(__name__)


class WatchedConnectorsParams(ConnectParams):
    """Which connectors are watched, and how often they are looked at."""

    connectors: PatternOrAll = argument("Regular expression that matches whole names of connectors.", default=ALL)
    every: float = argument("Seconds between two looks, each of one request to Connect.", default=30.0)


class ConnectorFailedTrigger(BaseEventTrigger):
    """Fires once for each connector that fails, or of which a task does, and again only after it has run in between.

    The payload is ``{"connector": name, "state": its state, "failed_tasks": numbers of tasks, "cause": the first line
    of the stack trace}``. A triggerer that starts reports what has failed by then, so a connector may be reported
    twice. While Connect does not answer, or refuses, nothing is reported, and the log says why.

    Args:
        watched: Fields of :class:`WatchedConnectorsParams`, and no others.

    Raises:
        InvalidRequest: One of them can't be used.
    """

    def __init__(self, **watched: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.watched = WatchedConnectorsParams.parse(**watched)
        self._names = typed_pattern(self.watched.connectors, param="connectors")

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the trigger's class path and its arguments, as JSON values."""
        return f"{type(self).__module__}.{type(self).__qualname__}", encode(self.watched.values())

    async def run(self) -> AsyncGenerator[TriggerEvent]:
        """Yield an event for each connector that has failed since the look before."""
        known: Collection[str] = ()
        while True:
            try:
                # In a thread, as the clients block.
                failed = await asyncio.to_thread(self._look)
            except ConnectOffsetsError as error:
                log.warning("%s Trying again.", error)
            else:
                for name in sorted(failed.keys() - set(known)):
                    log.info("%r has failed: %s", name, failed[name].cause)
                    yield TriggerEvent(_payload(name, failed[name]))  # type: ignore[no-untyped-call]
                known = failed.keys()
            await asyncio.sleep(self.watched.every)

    def _look(self) -> dict[str, ConnectorStatus]:
        with open_connect_cluster(self.watched, timeout=0.0, rest_timeout=0.0, patient=False) as clients:
            seen = {name: one.status for name, one in clients.control.overview().items()}
        return {name: status for name, status in seen.items() if status.has_failed and self._names.matches(name)}


def _payload(name: str, status: ConnectorStatus) -> dict[str, Any]:
    tasks = [task.number for task in status.failed_tasks]
    return {"connector": name, "state": status.state.value, "failed_tasks": tasks, "cause": status.cause}
