"""The clients of a change, opened from Airflow connections, and the settings of ``[connect_offsets]``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import conf

from airflow_provider_connect_offsets.exceptions import InvalidInput

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.saga.journal import Journal


def workspace_uri() -> str:
    """Return the URI under which datasets, journals and reports are stored; default: a folder in ``AIRFLOW_HOME``."""
    configured = str(conf.get("connect_offsets", "workspace", fallback="") or "")
    if configured:
        return configured
    home = os.environ.get("AIRFLOW_HOME") or Path("~/airflow").expanduser()
    return Path(home, "connect_offsets").absolute().as_uri()


def class_archive() -> str:
    """Return the path of the class-data archive that Spark's driver starts from; empty: it starts without one."""
    return str(conf.get("connect_offsets", "class_archive", fallback="") or "")


@dataclass(frozen=True, slots=True)
class ConnectCluster:
    """The open clients of one Connect cluster."""

    clients: Clients

    @property
    def cluster(self) -> str:
        """Id of the Kafka cluster that the workers use; for consumer groups a name that contains their cluster's id."""
        return self.clients.cluster

    def journal(self, connector: str) -> Journal:
        """Return the journal of one of its connectors."""
        from airflow_provider_connect_offsets.saga.journal import Journal
        from airflow_provider_connect_offsets.workspace.layout import journal_root

        return Journal(journal_root(workspace_uri()), cluster=self.cluster, connector=connector)

    def refuse_overlap(self, connector: str, run: str) -> None:
        """Raise :class:`Overlap` if another run is changing it now."""
        self.journal(connector).refuse_overlap(run)
        self.refuse_moved_groups(run)

    def refuse_moved_groups(self, run: str) -> None:
        """Raise :class:`Overlap` if these are consumer groups, and the failover of another run is moving some now."""
        from airflow_provider_connect_offsets.observe.clients import Origin
        from airflow_provider_connect_offsets.operations.groups.group_clients import kafka_cluster_of
        from airflow_provider_connect_offsets.operations.groups.group_stages import groups_journal

        if self.clients.origin is Origin.GROUP:
            groups_journal(workspace_uri(), cluster=kafka_cluster_of(self.clients)).refuse_overlap(run)


class Control(StrEnum):
    """How a change reaches offsets: by Connect's REST API, in the topic or file itself, or as those of consumer groups.

    ``groups`` is not of connectors: consumer groups of plain applications take their place.
    """

    REST = "rest"
    STORAGE = "storage"
    GROUPS = "groups"


@contextmanager
def open_clients(
    connect_conn_id: str,
    kafka_conn_id: str | None,
    *,
    database_conn_id: str | None = None,
    control: str = Control.REST,
    timeout: float = 120.0,
) -> Iterator[ConnectCluster]:
    """Open the clients of a change.

    Args:
        connect_conn_id: Connection of the Connect cluster.
        kafka_conn_id: Connection of the Kafka cluster whose logs the positions refer to; of a sink also the cluster of
            its consumer group. None: without logs and groups.
        database_conn_id: Connection of the PostgreSQL that a Debezium connector reads. None: offsets are not
            compared with its replication slot.
        control: A :class:`Control`; ``storage`` is the topic or file that the Connect connection names, and ``groups``
            needs ``kafka_conn_id`` alone.
        timeout: Seconds to wait for each state of a connector.

    Raises:
        InvalidInput: A connection is missing or can't be used, or ``control`` is unknown.
        StoreError: Connect or Kafka does not answer, or refuses.
    """
    # Imported late: the Kafka provider's hook imports confluent_kafka, which parsing a DAG does not need.
    from airflow_provider_connect_offsets.hooks.database import open_database
    from airflow_provider_connect_offsets.hooks.kafka import consumer_groups, kafka_logs
    from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
    from airflow_provider_connect_offsets.hooks.storage import open_storage
    from airflow_provider_connect_offsets.observe.clients import Clients, Origin
    from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients

    given = {
        "connect_conn_id": connect_conn_id,
        "kafka_conn_id": kafka_conn_id,
        "database_conn_id": database_conn_id,
    }
    connections = {name: conn_id for name, conn_id in given.items() if conn_id}
    database = open_database(database_conn_id) if database_conn_id else None
    with ExitStack() as stack:
        logs = stack.enter_context(kafka_logs(kafka_conn_id)) if kafka_conn_id else None
        if _control(control) is Control.GROUPS:
            if logs is None or not kafka_conn_id:
                raise InvalidInput("kafka_conn_id must name the cluster of the consumer groups.")
            clients = group_clients(stack.enter_context(consumer_groups(kafka_conn_id)), logs)
        elif _control(control) is Control.STORAGE:
            opened = open_storage(connect_conn_id)
            clients = Clients(
                opened.storage, opened.control, logs, origin=Origin(opened.origin), cluster=opened.cluster
            )
        else:
            connect = stack.enter_context(KafkaConnectHook(connect_conn_id).get_conn())
            groups = stack.enter_context(consumer_groups(kafka_conn_id)) if kafka_conn_id else None
            clients = Clients(connect, connect, logs, groups, cluster=connect.version().kafka_cluster_id)
        yield ConnectCluster(replace(clients, database=database, timeout=timeout, connections=connections))


def _control(name: str) -> Control:
    try:
        return Control(name)
    except ValueError as error:
        raise InvalidInput(f"control must be one of {', '.join(Control)}, not {name!r}.") from error
