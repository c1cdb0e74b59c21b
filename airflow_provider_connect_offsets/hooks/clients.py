"""The clients of a change, opened from Airflow connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.hooks.settings import configure_clients
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, Control, FlowConnectionParams

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.observe.clients import Clients


def require_control(control: str, *ways: Control, why: str) -> None:
    """Raise :class:`InvalidRequest` unless ``control`` is one of ``ways``; ``why``: a sentence that says why not."""
    if _parse_control(control) not in ways:
        raise InvalidRequest(f"Nothing was touched: {why} So control must be {_list_ways(ways)}, not {control}.")


@contextmanager
def open_connect_cluster(
    reached: ConnectParams,
    *,
    timeout: float | None = None,
    rest_timeout: float | None = None,
    patient: bool = True,
) -> Iterator[Clients]:
    """Open a Connect cluster, without Kafka clients, and without its name, which might take a request.

    Args:
        reached: Its connections and ``control``; not ``groups``, as consumer groups belong to no Connect cluster.
        timeout: Seconds that Strimzi's operator may take; None: the default of ``control``.
        rest_timeout: Seconds to wait for the end of a rebalance, and for a worker that does not know a connector yet;
            None: the hook's default.
        patient: Whether to wait for Connect's workers even if no process is at any of their addresses.

    Raises:
        InvalidInput: A connection is missing or can't be used, or ``control`` is unknown.
        StoreError: Connect or the API server of Kubernetes does not answer, or refuses.
    """
    from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook
    from airflow_provider_connect_offsets.hooks.storage import open_storage
    from airflow_provider_connect_offsets.hooks.strimzi import open_strimzi
    from airflow_provider_connect_offsets.observe.clients import Clients, Origin

    control, connect_id, kubernetes_id = (
        _parse_control(reached.control),
        reached.connect_conn_id,
        reached.kubernetes_conn_id,
    )
    seconds = control.timeout if timeout is None else timeout
    hook = KafkaConnectHook(connect_id, patient=patient, **({} if rest_timeout is None else {"timeout": rest_timeout}))
    with ExitStack() as stack:
        match control:
            case Control.GROUPS:
                raise InvalidRequest("Only group_offsets_change can change consumer groups (control=groups).")
            case Control.STORAGE:
                yield open_storage(connect_id)
            case Control.REST:
                rest = stack.enter_context(hook.get_conn())
                yield Clients(rest, rest)
            case Control.STRIMZI:
                strimzi = stack.enter_context(open_strimzi(connect_id, kubernetes_id, timeout=seconds, patient=patient))
                yield Clients(strimzi, strimzi, origin=Origin.STRIMZI)
            case Control.STRIMZI_REST:
                strimzi = stack.enter_context(open_strimzi(connect_id, kubernetes_id, timeout=seconds, patient=patient))
                # Imports the Kubernetes client, which open_strimzi has found installed.
                from airflow_provider_connect_offsets.connect.strimzi.with_rest import StrimziWithRest

                rest = stack.enter_context(hook.get_conn())
                yield Clients(rest, StrimziWithRest(strimzi, rest))


@contextmanager
def open_clients(
    reached: ConnectParams,
    kafka_conn_id: str | None,
    *,
    database_conn_id: str | None = None,
    timeout: float | None = None,
    patient: bool = True,
) -> Iterator[Clients]:
    """Open the clients of a change.

    Args:
        reached: Connections of the Connect cluster, and how it is reached; ``control`` may also be ``groups``, which
            needs ``kafka_conn_id`` alone.
        kafka_conn_id: Connection of the Kafka cluster whose logs the positions refer to; for a sink also the cluster of
            its consumer group. None: the clients have neither logs nor groups.
        database_conn_id: Connection of the PostgreSQL that a Debezium connector reads. None: offsets are not
            compared with its replication slot.
        timeout: Seconds to wait for each state of a connector; None: the default of ``control``.
        patient: Whether to wait for workers and brokers even if no process is at any of their addresses.

    Raises:
        InvalidInput: A connection is missing or can't be used, or ``control`` is unknown.
        StoreError: Connect, Kubernetes or Kafka does not answer, or refuses.
    """
    # Imported late: the Kafka provider's hook imports confluent_kafka, which parsing a DAG does not need.
    from airflow_provider_connect_offsets.hooks.database import open_database
    from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
    from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients

    control = _parse_control(reached.control)
    given = {**reached.used_connections(), "kafka_conn_id": kafka_conn_id, "database_conn_id": database_conn_id}
    database = open_database(database_conn_id) if database_conn_id else None
    with ExitStack() as stack:
        kafka = stack.enter_context(kafka_cluster(kafka_conn_id, patient=patient)) if kafka_conn_id else None
        if control is Control.GROUPS:
            if kafka is None:
                raise InvalidInput("kafka_conn_id must be the connection of the consumer groups' Kafka cluster.")
            clients = group_clients(kafka)
        else:
            connect = stack.enter_context(open_connect_cluster(reached, timeout=timeout, patient=patient))
            groups = kafka.groups if kafka is not None and connect.origin.has_states else None
            cluster, also = connect.control.cluster_names()
            clients = replace(connect, logs=kafka, groups=groups, cluster=cluster, also=also)
        yield replace(
            configure_clients(clients),
            database=database,
            timeout=control.timeout if timeout is None else timeout,
            connections={name: conn_id for name, conn_id in given.items() if conn_id},
        )


@contextmanager
def open_flow(
    connections: FlowConnectionParams, *, timeout: float | None = None, patient: bool = True
) -> Iterator[Clients]:
    """Open the clients of a reset.

    Args:
        connections: The connections of the flow.
        timeout: Seconds to wait for each state of a connector; None: the default of ``control``.
        patient: Whether to wait for workers and brokers even if no process is at any of their addresses.

    Raises:
        InvalidInput: A connection is missing or can't be used.
        StoreError: Connect or Kafka does not answer, or refuses.
    """
    # Imported late: the Kafka provider's hook imports confluent_kafka, which parsing a DAG does not need.
    from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
    from airflow_provider_connect_offsets.observe.clusters import Clusters

    source_id, target_id = connections.source_kafka_conn_id, connections.target_kafka_conn_id
    both = connections.values("source_kafka_conn_id", "target_kafka_conn_id")
    with (
        kafka_cluster(source_id, patient=patient) as source,
        kafka_cluster(target_id, patient=patient) as target,
        open_clients(connections, source_id, timeout=timeout, patient=patient) as clients,
    ):
        named = {**connections.used_connections(), **both}
        yield replace(clients, clusters=Clusters(source, target), connections=named)


def _parse_control(control: str) -> Control:
    try:
        return Control(control)
    except ValueError as error:
        raise InvalidInput(f"control must be one of {', '.join(Control)}, not {control!r}.") from error


def _list_ways(ways: tuple[Control, ...]) -> str:
    return f"{', '.join(ways[:-1])} or {ways[-1]}"
