"""Observes connectors whose offsets are changed in their store: no worker may run them.

Nothing is started or stopped. A worker reads offsets when it starts and overwrites them with its own, so before every
change the worker group is checked for members, and then their REST API for the connector's state.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorControl,
    ConnectorInfo,
    ConnectorOverview,
    ConnectorStatus,
    State,
    TaskStatus,
)
from airflow_provider_connect_offsets.connect.storage.config_topic import ConfiguredConnector
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.connect.storage.worker_group import Worker, WorkerGroups
from airflow_provider_connect_offsets.exceptions import (
    ConnectionRefused,
    NotStopped,
    StoreDamaged,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import ConnectorType, config_told_by

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest

log = logging.getLogger(__name__)

#: The offsets of all connectors of a Connect cluster.
Storage: TypeAlias = TopicStorage | StandaloneFile
# Opens the REST API of a Connect cluster, given the URLs of its workers and a timeout in seconds.
OpenRest: TypeAlias = "Callable[[tuple[str, ...], float], AbstractContextManager[ConnectRest]]"
# Timeouts: rebalances end by themselves; whether a worker answers is known at once.
_FOR_A_STATE, _FOR_A_SIGN = 10.0, 0.0


_STOPPED = ConnectorStatus(State.STOPPED, "")


class StorageControl(ConnectorControl):
    """A :class:`~.protocols.ConnectorControl` that only observes, and refuses changes of running connectors.

    Args:
        storage: The store of the offsets.
        open_rest: Opens the REST API of running workers.
        rest_urls: URLs of the worker of a standalone file; workers of a topic are members of their group.
        forced: True if a person has decided that offsets are written though workers run, which may overwrite them.
    """

    def __init__(
        self, storage: Storage, open_rest: OpenRest, *, rest_urls: tuple[str, ...] = (), forced: bool = False
    ) -> None:
        self._storage = storage
        self._forced = forced
        self._open_rest = open_rest
        self._rest_urls = rest_urls

    def cluster_names(self) -> tuple[str, str]:
        """Return the storage's name for the Connect cluster, and no other name; raises store errors."""
        return self._storage.cluster(), ""

    def require_offset_changes(self) -> None:
        """Do nothing: writing to a store needs no worker."""

    def workers(self) -> tuple[Worker, ...]:
        """Return the running workers, as far as they can be observed; raises store errors."""
        if isinstance(self._storage, TopicStorage):
            where = self._storage.where
            with WorkerGroups(where.client) as groups:
                return groups.members(where.group_id)
        return tuple(Worker("a standalone worker", "", url) for url in self._rest_urls if self._answers(url))

    def configured_connectors(self) -> Mapping[str, ConfiguredConnector]:
        """Return the existing connectors by name; empty for a standalone worker, which does not store them."""
        return self._storage.where.connectors() if isinstance(self._storage, TopicStorage) else {}

    def connectors(self) -> list[str]:
        """Return the names of all connectors that exist or have an offset, sorted."""
        return sorted({*self._storage.connectors(), *self.configured_connectors()})

    def overview(self) -> dict[str, ConnectorOverview]:
        """Return type, configuration and state of all connectors that exist or have an offset that can be read."""
        configured, overview = self.configured_connectors(), dict[str, ConnectorOverview]()
        names = sorted({*self._storage.connectors(), *configured})
        read = self._storage.make_finder()  # after the names, so that each of them is in it
        for name, status in self.statuses(names).items():
            try:
                overview[name] = ConnectorOverview(self._info(name, configured.get(name), read), status)
            except StoreDamaged as error:
                log.warning("%s The connector is left out.", error)
        return overview

    def info(self, connector: str) -> ConnectorInfo:
        """Return type and configuration; if no configuration is stored, what a source partition reveals of it.

        Raises:
            UnknownConnector: The connector neither exists nor has an offset.
        """
        return self._info(connector, self.configured_connectors().get(connector), self._storage.read_offsets)

    @staticmethod
    def _info(connector: str, known: ConfiguredConnector | None, read: Callable[[str], Offsets]) -> ConnectorInfo:
        if known is not None:
            return ConnectorInfo(connector, known.type, known.config)
        first = next(iter(read(connector)), None)
        if first is None:
            raise UnknownConnector(f"There is no connector {connector!r}: it is not configured and has no offsets.")
        return ConnectorInfo(connector, ConnectorType.SOURCE, config_told_by(parse_map(first.partition)))

    def status(self, connector: str) -> ConnectorStatus:
        """Return STOPPED if no worker runs the connector, else its state in REST; RUNNING if that is unknown."""
        return self.statuses([connector])[connector]

    def statuses(self, connectors: Iterable[str]) -> dict[str, ConnectorStatus]:
        """Return the status of several connectors, as :meth:`status` does, reading the workers once."""
        workers, names = self.workers(), list(connectors)
        if not workers:
            return dict.fromkeys(names, _STOPPED)
        running = ConnectorStatus(State.RUNNING, str(workers[0]), (TaskStatus(0, State.RUNNING, str(workers[0])),))
        if not isinstance(self._storage, TopicStorage):
            # The worker overwrites the whole file, also for connectors that are STOPPED.
            return dict.fromkeys(names, running)
        statuses = dict.fromkeys(names, running)
        if self._storage.where.config_topic:
            existing = self.configured_connectors()
            statuses |= {name: _STOPPED for name in names if name not in existing}
        urls = tuple(worker.url for worker in workers if worker.url)
        if urls:  # a dedicated MirrorMaker has none
            statuses |= self._statuses_in_rest(urls, [name for name in names if statuses[name] is running])
        return statuses

    def _statuses_in_rest(self, urls: tuple[str, ...], connectors: list[str]) -> dict[str, ConnectorStatus]:
        statuses: dict[str, ConnectorStatus] = {}
        with self._open_rest(urls, _FOR_A_STATE) as rest:
            for name in connectors:
                try:
                    statuses[name] = rest.status(name)
                except UnknownConnector:
                    statuses[name] = _STOPPED
                except StoreError as error:
                    log.warning("%s Connector %r, and all connectors not yet checked, count as running.", error, name)
                    break
        return statuses

    def stop(self, connector: str) -> None:
        """Require that no worker runs the connector; raises as :meth:`refuse_running`."""
        self.refuse_running([connector])

    def refuse_running(self, connectors: Iterable[str]) -> None:
        """Raise :class:`NotStopped`, which names the first running connector and its worker, if any is running.

        Observes nothing if a person has decided that it does not matter.
        """
        if self._forced:
            return
        running = {name: status for name, status in self.statuses(connectors).items() if not status.is_stopped}
        if running:
            name, status = next(iter(running.items()))
            more = f" Altogether, {len(running)} connectors are not STOPPED." if len(running) > 1 else ""
            raise NotStopped(
                f"Nothing was written: connector {name!r} is {status.state} on {status.worker}, which would overwrite "
                f"its offsets.{more} Stop the connector or the process first."
            )

    def pause(self, connector: str) -> None:
        """Do nothing: nothing was stopped."""

    def resume(self, connector: str) -> None:
        """Do nothing: nothing was stopped."""

    def by_hand(self, connector: str, state: State) -> str:
        """Say to start or stop the process: a store has no request for the state of a connector."""
        del connector
        return "stop the process" if state is State.STOPPED else "start the process"

    def _answers(self, url: str) -> bool:
        """Whether a worker may run at ``url``: even a worker that refuses this client overwrites its file."""
        try:
            with self._open_rest((url,), _FOR_A_SIGN) as rest:
                rest.version()
        except ConnectionRefused as error:
            log.debug("%s", error)
            return False
        except StoreError as error:
            log.warning("%s Only a refused connection proves that the worker is down, so it counts as running.", error)
        return True
