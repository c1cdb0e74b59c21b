"""What a change goes through, opened from Airflow connections, and where its workspace is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import conf

from airflow_provider_connect_offsets.exceptions import InvalidInput

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.saga.journal import Journal


def workspace_uri() -> str:
    """Where datasets, journals and reports are kept: ``[connect_offsets] workspace``, by default in AIRFLOW_HOME."""
    configured = str(conf.get("connect_offsets", "workspace", fallback="") or "")
    if configured:
        return configured
    home = os.environ.get("AIRFLOW_HOME") or Path("~/airflow").expanduser()
    return Path(home, "connect_offsets").absolute().as_uri()


def class_archive() -> str:
    """The file of classes that Spark's driver starts from: ``[connect_offsets] class_archive``; empty: none."""
    return str(conf.get("connect_offsets", "class_archive", fallback="") or "")


@dataclass(frozen=True, slots=True)
class ConnectCluster:
    """The doors of a change while they are open."""

    clients: Clients

    @property
    def cluster(self) -> str:
        """The id of the Kafka cluster that Connect works on."""
        return self.clients.cluster

    def journal(self, connector: str) -> Journal:
        """The journal of a connector of this Connect cluster."""
        from airflow_provider_connect_offsets.saga.journal import Journal
        from airflow_provider_connect_offsets.workspace.layout import journal_root

        return Journal(journal_root(workspace_uri()), cluster=self.cluster, connector=connector)


class Control(StrEnum):
    """How a change reaches connectors and their offsets."""

    REST = "rest"
    STORAGE = "storage"


@contextmanager
def open_clients(
    connect_conn_id: str, kafka_conn_id: str | None, *, control: str = Control.REST, timeout: float = 120.0
) -> Iterator[ConnectCluster]:
    """Open what a change goes through; ``kafka_conn_id`` is the cluster whose logs the positions refer to.

    That is a sink's own cluster, so its consumer group is looked at there too. ``control``: ``rest`` is Connect's API,
    ``storage`` is the topic or file that the connection names (``hooks.storage``). timeout: seconds for each state.
    Raises :class:`InvalidInput`, and store errors.
    """
    # Late, as the Kafka provider's hook imports its client, which no DAG needs for being parsed.
    from airflow_provider_connect_offsets.hooks.kafka import consumer_groups, kafka_logs
    from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
    from airflow_provider_connect_offsets.hooks.storage import open_storage
    from airflow_provider_connect_offsets.observe.clients import Clients, Origin

    named = {"connect_conn_id": connect_conn_id, **({"kafka_conn_id": kafka_conn_id} if kafka_conn_id else {})}
    with ExitStack() as stack:
        logs = stack.enter_context(kafka_logs(kafka_conn_id)) if kafka_conn_id else None
        if _control(control) is Control.STORAGE:
            store = open_storage(connect_conn_id)
            yield ConnectCluster(
                Clients(
                    store.storage,
                    store.control,
                    logs,
                    timeout=timeout,
                    origin=Origin(store.origin),
                    cluster=store.cluster,
                    connections=named,
                )
            )
            return
        connect = stack.enter_context(KafkaConnectHook(connect_conn_id).get_conn())
        groups = stack.enter_context(consumer_groups(kafka_conn_id)) if kafka_conn_id else None
        cluster = connect.version().kafka_cluster_id
        yield ConnectCluster(
            Clients(connect, connect, logs, groups, timeout=timeout, cluster=cluster, connections=named)
        )


def _control(name: str) -> Control:
    try:
        return Control(name)
    except ValueError as error:
        raise InvalidInput(f"control must be one of {', '.join(Control)}, not {name!r}.") from error
