"""Opens the storage and the REST API that a worker's properties file names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.cli.configured import guards, journal_store
from airflow_provider_connect_offsets.connect.rest.endpoint import BasicAuth, ConnectEndpoint, without_secrets
from airflow_provider_connect_offsets.connect.storage.damaged import Damaged, raise_damage
from airflow_provider_connect_offsets.connect.storage.java.worker_config import WorkerConfig, read_worker_config
from airflow_provider_connect_offsets.connect.storage.standalone import StandaloneFile
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage, WorkerTopics
from airflow_provider_connect_offsets.exceptions import InvalidInput, NotStopped
from airflow_provider_connect_offsets.kafka.topic_reader import Progress
from airflow_provider_connect_offsets.offsets.document import Offsets

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
    from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
    from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi
    from airflow_provider_connect_offsets.observe.clients import Clients


FORCE_ANYWAY = "Or write anyway with --force; the worker may then overwrite what you write."


@dataclass(frozen=True, slots=True)
class WorkerStorage:
    """A worker's storage, and the control that shows which connectors its workers run.

    Attributes:
        config: The worker's properties.
        storage: Its offsets topic or file.
        forced: True to write although workers run, which may overwrite what is written.
    """

    config: WorkerConfig
    storage: TopicStorage | StandaloneFile
    forced: bool = False

    @property
    def name(self) -> str:
        """The storage's name in messages."""
        return self.storage.name

    @property
    def control(self) -> StorageControl:
        """The control over the workers' connectors; :func:`open_rest` opens its REST clients."""
        configured = (*self.config.listeners, *_split_list(os.environ.get("CONNECT_OFFSETS_URLS", "")))
        opening = partial(open_rest, configured)
        return StorageControl(self.storage, opening, rest_urls=self.config.listeners, forced=self.forced)

    def clients(self, workspace: str, topic: OffsetsTopic | None = None) -> Clients:
        """Return the clients of an operation, with its journals in ``workspace``.

        Raises :class:`InvalidInput` for a configuration that can't be read, and store errors.
        """
        from airflow_provider_connect_offsets.observe.clients import Clients

        allowed, cluster = guards(), self.storage.cluster()
        return Clients(
            self.storage,
            self.control,
            cluster=cluster,
            topic=topic,
            workspace=workspace,
            guards=allowed,
            journal=journal_store(workspace),
        )

    def refuse_running(self, connectors: Iterable[str]) -> None:
        """Raise :class:`NotStopped` if a worker runs one of them; the error names the option that writes anyway."""
        try:
            self.control.refuse_running(connectors)
        except NotStopped as error:
            raise NotStopped(f"{error} {FORCE_ANYWAY}") from error

    def read_all(
        self,
        progress: Progress | None = None,
        *,
        names: frozenset[str] = frozenset(),
        damaged: Damaged = raise_damage,
    ) -> Iterator[tuple[str, Offsets]]:
        """Yield the offsets of every connector, in the order of their names; raises store errors.

        Args:
            progress: Shows how much is read.
            names: The connectors to read; empty: all.
            damaged: Gets each connector whose offsets can't be read, and the error.
        """
        only = names or None
        if isinstance(self.storage, TopicStorage):
            return self.storage.read_all(progress, names=only, damaged=damaged)
        return self.storage.read_all(names=only, damaged=damaged)

    def history(
        self,
        progress: Progress | None = None,
        *,
        names: frozenset[str] = frozenset(),
        damaged: Damaged = raise_damage,
    ) -> Iterator[tuple[str, Offsets]]:
        """Yield all stored offsets, also overwritten offsets; a file has only the last. Else see :meth:`read_all`."""
        if isinstance(self.storage, TopicStorage):
            return self.storage.history(progress, names=names or None, damaged=damaged)
        return self.read_all(progress, names=names, damaged=damaged)


def open_storage(path: Path, flow: str | None, *, forced: bool = False) -> WorkerStorage:
    """Read a worker's properties, and open its storage.

    Args:
        path: The properties file.
        flow: Which flow of a dedicated MirrorMaker 2, like ``A->B``; None: the only one.
        forced: See :class:`WorkerStorage`.

    Raises:
        InvalidInput: The properties can't be used.
    """
    config = read_worker_config(path, flow=flow)
    if config.offsets_file is not None:
        return WorkerStorage(config, StandaloneFile(config.offsets_file), forced)
    client = config.client()
    for note in client.notes:
        sys.stderr.write(f"connect-offsets: {note}\n")
    where = WorkerTopics(
        client=client.settings,
        offsets_topic=config.offsets_topic,
        config_topic=config.config_topic,
        group_id=config.group_id,
        exactly_once=config.exactly_once,
        client_of=lambda connector: _client_of(config, connector),
    )
    return WorkerStorage(config, TopicStorage(where), forced)


def open_rest(configured: tuple[str, ...], urls: tuple[str, ...], timeout: float) -> ConnectRest:
    """Open the REST API of workers.

    Credentials come from ``CONNECT_OFFSETS_LOGIN`` and ``CONNECT_OFFSETS_PASSWORD``, and are sent only to the hosts of
    ``configured`` URLs.

    Args:
        configured: URLs that were configured.
        urls: The URLs to open.
        timeout: Seconds to wait for the end of a rebalance and for starting workers.
    """
    from airflow_provider_connect_offsets.connect.rest.client import ConnectRest

    login = os.environ.get("CONNECT_OFFSETS_LOGIN")
    auth = BasicAuth(login, os.environ.get("CONNECT_OFFSETS_PASSWORD", "")) if login else None
    endpoint = ConnectEndpoint(urls, auth=auth, ca=os.environ.get("CONNECT_OFFSETS_CA")).at(urls, configured=configured)
    for url in endpoint.unencrypted():
        _warn_of(url)
    return ConnectRest(endpoint, timeout=timeout)


@cache
def _warn_of(url: str) -> None:
    """Say once that the login goes to a URL over http, however often that is opened."""
    where = without_secrets(url)
    sys.stderr.write(f"connect-offsets: CONNECT_OFFSETS_LOGIN is sent unencrypted to {where}. Use https.\n")


@contextmanager
def open_strimzi(cluster: str, namespace: str | None, timeout: float) -> Iterator[ConnectStrimzi]:
    """Open the resources of a cluster that Strimzi's operator runs, as ``kubectl`` would.

    Args:
        cluster: The ``KafkaConnect`` or ``KafkaMirrorMaker2``, as in ``strimzi_cluster`` of a Connect connection.
        namespace: Its namespace; None: that of the current context.
        timeout: Seconds to wait for each thing that the operator does.

    Raises:
        InvalidInput: The Kubernetes client is not installed, or ``KUBECONFIG`` and ``~/.kube/config`` name no cluster.
    """
    try:
        from kubernetes import config
    except ImportError as error:
        raise InvalidInput(
            "--strimzi-cluster needs the Kubernetes client: pip install 'airflow-provider-connect-offsets[strimzi]'"
        ) from error
    from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi

    file = os.environ.get("KUBECONFIG")
    try:
        context = config.list_kube_config_contexts(file)[1]["context"]
        api = config.new_client_from_config(file)
    except config.ConfigException as error:
        raise InvalidInput(f"No Kubernetes cluster can be found with KUBECONFIG or ~/.kube/config: {error}") from error
    with (
        api,
        ConnectStrimzi(
            api, namespace=namespace or context.get("namespace", "default"), cluster=cluster, timeout=timeout
        ) as strimzi,
    ):
        yield strimzi


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _client_of(config: WorkerConfig, connector: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the client settings for a connector's own offsets topic, which are its producer's."""
    prefix = "producer.override."
    override = {name.removeprefix(prefix): value for name, value in connector.items() if name.startswith(prefix)}
    return config.override(override, trusted=_split_list(os.environ.get("CONNECT_OFFSETS_BROKERS", ""))).settings
