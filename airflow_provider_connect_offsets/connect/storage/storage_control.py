"""Connectors whose offsets are changed where they are stored: their process must be down, or they must be STOPPED.

Nothing is started or stopped from here. A worker reads offsets when it starts and overwrites them with what it holds,
so whether one runs is looked at before every change: in the worker group, and then in the REST API of who is in it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TypeAlias

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus, State, TaskStatus
from airflow_provider_connect_offsets.connect.storage.config_topic import ConfiguredConnector
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.connect.storage.worker_group import Worker, WorkerGroups
from airflow_provider_connect_offsets.exceptions import ConnectionRefused, NotStopped, StoreError, UnknownConnector
from airflow_provider_connect_offsets.offsets.document import parse_map
from airflow_provider_connect_offsets.offsets.families import ConnectorType, config_told_by

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest

log = logging.getLogger(__name__)

# Opens the REST API of a Connect cluster, by the URLs of its workers, and for how many seconds it is waited for.
OpenRest: TypeAlias = "Callable[[tuple[str, ...], float], AbstractContextManager[ConnectRest]]"
# A rebalance passes; whether anyone is there shows at once.
_FOR_A_STATE, _FOR_A_SIGN = 10.0, 0.0


_STOPPED = ConnectorStatus(State.STOPPED, "")


class StorageControl:
    """A :class:`~.stores.protocols.ConnectorControl` that only looks, and refuses to go on while something runs.

    ``rest_urls``: where the worker of a standalone file would answer; workers of a topic are found by their group.
    """

    def __init__(
        self, storage: TopicStorage | StandaloneFile, open_rest: OpenRest, *, rest_urls: tuple[str, ...] = ()
    ) -> None:
        self._storage = storage
        self._open_rest = open_rest
        self._rest_urls = rest_urls

    def require_offset_changes(self) -> None:
        """Do nothing: what is written to a storage asks no worker."""

    def workers(self) -> tuple[Worker, ...]:
        """The workers that run, as far as can be seen; raises store errors."""
        if isinstance(self._storage, TopicStorage):
            where = self._storage.where
            with WorkerGroups(where.client) as groups:
                return groups.members(where.group_id)
        return tuple(Worker("a standalone worker", "", url) for url in self._rest_urls if self._answers(url))

    def configured(self) -> Mapping[str, ConfiguredConnector]:
        """The connectors that exist, as far as the storage tells: a standalone worker keeps none."""
        return self._storage.where.connectors() if isinstance(self._storage, TopicStorage) else {}

    def connectors(self) -> list[str]:
        """Names of all connectors that exist or have an offset, sorted."""
        return sorted({*self._storage.connectors(), *self.configured()})

    def info(self, connector: str) -> ConnectorInfo:
        """Type and configuration; where that isn't stored, what a source partition tells of it.

        Raises :class:`UnknownConnector` where it neither exists nor has an offset.
        """
        known = self.configured().get(connector)
        if known is not None:
            return ConnectorInfo(connector, known.type, known.config)
        first = next(iter(self._storage.read_offsets(connector)), None)
        if first is None:
            raise UnknownConnector(f"There is no connector {connector!r}: it is not configured and has no offsets.")
        return ConnectorInfo(connector, ConnectorType.SOURCE, config_told_by(parse_map(first.partition)))

    def status(self, connector: str) -> ConnectorStatus:
        """STOPPED where no worker runs it; else what the workers tell, or RUNNING where they tell nothing."""
        return self.statuses([connector])[connector]

    def statuses(self, connectors: Iterable[str]) -> dict[str, ConnectorStatus]:
        """The same of several connectors, with one look at the workers."""
        workers, names = self.workers(), list(connectors)
        if not workers:
            return dict.fromkeys(names, _STOPPED)
        running = ConnectorStatus(State.RUNNING, str(workers[0]), (TaskStatus(0, State.RUNNING, str(workers[0])),))
        if not isinstance(self._storage, TopicStorage):
            return dict.fromkeys(names, running)  # it overwrites the whole file, whatever a connector's state is
        told = dict.fromkeys(names, running)
        if self._storage.where.config_topic:
            existing = self.configured()
            told |= {name: _STOPPED for name in names if name not in existing}
        urls = tuple(worker.url for worker in workers if worker.url)
        if urls:  # a dedicated MirrorMaker has none
            told |= self._told(urls, [name for name in names if told[name] is running])
        return told

    def _told(self, urls: tuple[str, ...], connectors: list[str]) -> dict[str, ConnectorStatus]:
        told: dict[str, ConnectorStatus] = {}
        with self._open_rest(urls, _FOR_A_STATE) as rest:
            for name in connectors:
                try:
                    told[name] = rest.status(name)
                except UnknownConnector:
                    told[name] = _STOPPED
                except StoreError as error:
                    log.warning("%s Taking %r for running, and whatever else is not told yet.", error, name)
                    break
        return told

    def stop(self, connector: str) -> None:
        """Make sure that it is down; raises as :meth:`refuse_running`."""
        self.refuse_running([connector])

    def refuse_running(self, connectors: Iterable[str]) -> None:
        """Raise :class:`NotStopped` that names the first one that is not down, who runs it, and what to do."""
        running = {name: status for name, status in self.statuses(connectors).items() if not status.is_stopped}
        if running:
            name, status = next(iter(running.items()))
            more = f" (and {len(running) - 1} more are not STOPPED)" if len(running) > 1 else ""
            raise NotStopped(
                f"Nothing was written: {name!r} is {status.state} on {status.worker}, which would overwrite its "
                f"offsets{more}. Stop the connector or the process first."
            )

    def pause(self, connector: str) -> None:
        """Do nothing: nothing was stopped from here."""

    def resume(self, connector: str) -> None:
        """Do nothing: nothing was stopped from here."""

    def _answers(self, url: str) -> bool:
        """Whether a worker may run there: one that this caller can't talk to overwrites its file all the same."""
        try:
            with self._open_rest((url,), _FOR_A_SIGN) as rest:
                rest.version()
        except ConnectionRefused as error:
            log.debug("%s", error)
            return False
        except StoreError as error:
            log.warning("%s Only a refused connection shows that no worker runs, so one is taken to run there.", error)
        return True
