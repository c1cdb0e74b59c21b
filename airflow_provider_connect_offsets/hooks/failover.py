"""The clients of a failover, opened from Airflow connections, and the flow that its Params describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import open_clients, require_control
from airflow_provider_connect_offsets.hooks.settings import configure_clients
from airflow_provider_connect_offsets.offsets.flow import Flow, Policy, Side
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, Control, FailoverClientsParams
from airflow_provider_connect_offsets.parameters.failover import FailoverParams

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest


def flow_connectors(clients: Clients, request: FailoverRequest) -> list[tuple[Clients, str]]:
    """Return the connectors that the failover stops, each with the clients of its Connect cluster."""
    named = (
        (clients, request.source_connector),
        (clients, request.checkpoint_connector),
        (clients.forward, request.forward_connector),
    )
    return [(cluster, name) for cluster, name in named if cluster is not None and cluster.has_connect and name]


@contextmanager
def open_failover(
    connections: FailoverClientsParams, *, planned: bool, timeout: float | None = None, patient: bool = True
) -> Iterator[Clients]:
    """Open the clients of a failover or failback.

    Args:
        connections: Its connections.
        planned: False: the source is gone, so only the target is opened.
        timeout: Seconds to wait for each state of a connector; None: the default of ``control``.
        patient: Whether to wait for workers and brokers even if no process is at any of their addresses.

    Raises:
        InvalidInput: ``control`` can't stop a flow, or a connection is missing or can't be used.
        StoreError: Connect or Kafka does not answer, or refuses.
    """
    from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
    from airflow_provider_connect_offsets.observe.clients import NO_CONNECT, Clients
    from airflow_provider_connect_offsets.observe.clusters import Clusters

    target_id = connections.target_kafka_conn_id
    source_id = connections.source_kafka_conn_id if planned else ""
    forward_id = connections.forward_connect_conn_id if planned else ""
    connect_id = (connections.connect_conn_id or forward_id) if planned else ""
    require_control(
        connections.control,
        *(Control.REST, Control.STRIMZI, Control.STRIMZI_REST),
        why="a failover must be able to stop a running flow, and only the REST API and Strimzi can do that.",
    )
    with ExitStack() as stack:

        def connect_cluster(conn_id: str, kafka_id: str) -> Clients | None:
            reached = ConnectParams(
                control=connections.control, connect_conn_id=conn_id, kubernetes_conn_id=connections.kubernetes_conn_id
            )
            if not conn_id:
                return None
            return stack.enter_context(open_clients(reached, kafka_id or None, timeout=timeout, patient=patient))

        target = stack.enter_context(kafka_cluster(target_id, patient=patient))
        source = stack.enter_context(kafka_cluster(source_id, patient=patient)) if source_id else None
        connect, forward = connect_cluster(connect_id, source_id), connect_cluster(forward_id, target_id)
        clients = connect or configure_clients(Clients(NO_CONNECT, NO_CONNECT))
        yield replace(clients, clusters=Clusters(source, target), forward=forward)


def make_flow(params: FailoverParams, info: ConnectorInfo | None) -> Flow:
    """Return the flow that a connector's configuration or Params describe.

    Args:
        params: Aliases, policy, separator and location of offset syncs; empty: as configured, or MirrorMaker 2's
            default.
        info: The flow's MirrorSource; None: the Params alone describe the flow.

    Raises:
        InvalidRequest: Params and configuration contradict each other, or neither names both clusters.
    """
    if info is None:
        if not (params.source_alias and params.target_alias):
            raise InvalidRequest("Name the flow with source_connector, or with source_alias and target_alias.")
        separator = params.separator or "."
        return Flow(
            source_alias=params.source_alias,
            target_alias=params.target_alias,
            policy=Policy(params.replication_policy or Policy.DEFAULT),
            separator=separator,
            internal_separator=separator,
            syncs_on=Side(params.syncs_on or Side.SOURCE),
        )
    flow = Flow.of(info.config)
    configuration = {
        "source_alias": flow.source_alias,
        "target_alias": flow.target_alias,
        "replication_policy": flow.policy.value,
        "separator": flow.separator,
        "syncs_on": flow.syncs_on.value,
    }
    for name, in_connector in configuration.items():
        given = getattr(params, name)
        if given and given != in_connector:
            raise InvalidRequest(
                f"Nothing was touched: {name} is {given!r}, but {info.name!r} is configured with {in_connector!r}."
            )
    return flow
