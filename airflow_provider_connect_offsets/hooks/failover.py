"""The clients of a failover, opened from Airflow connections, and the flow that its Params describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, open_clients, require_control, workspace_uri
from airflow_provider_connect_offsets.offsets.flow import Flow, Policy, Side
from airflow_provider_connect_offsets.offsets.requests.failover import Mode
from airflow_provider_connect_offsets.parameters.connections import ConnectParams, Control, FailoverClientsParams
from airflow_provider_connect_offsets.parameters.failover import FailoverParams
from airflow_provider_connect_offsets.workspace.layout import ledger_root, rewinds_root

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
    from airflow_provider_connect_offsets.observe.flow.failover import FailoverClients
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.operations.connector.stopped import Member
    from airflow_provider_connect_offsets.operations.groups.group_stages import TargetGroups


@dataclass(frozen=True, slots=True)
class FailoverClusters:
    """The open clients of a failover or failback.

    Attributes:
        clients: The clients, as observations use them.
        target: Airflow connection of the target's Kafka cluster.
        connect: The Connect cluster of the flow; None: the source is gone.
        forward: Of a failback, the Connect cluster of the flow that brought the records; else None.
    """

    clients: FailoverClients
    target: str
    connect: ConnectCluster | None
    forward: ConnectCluster | None = None

    def clients_for(self, request: FailoverRequest) -> FailoverClients:
        """Return the clients, with the stored rewinds of the requested connectors and the ledger of the flow."""
        return replace(
            self.clients,
            kept=_rewinds(self.connect, request.source_connector),
            forward_kept=_rewinds(self.forward, request.forward_connector),
            ledger=self._ledger(request),
        )

    def _ledger(self, request: FailoverRequest) -> str:
        """Return the URI of the ledgers that readiness runs have stored; empty if the source is alive."""
        if request.mode is Mode.PLANNED:
            return ""
        return ledger_root(
            workspace_uri(),
            target_cluster=self.clients.clusters.target.cluster_id(),
            source_alias=request.flow.source_alias,
            target_alias=request.flow.target_alias,
        )

    def connectors(self, request: FailoverRequest) -> list[tuple[ConnectCluster, str]]:
        """Return the connectors that the failover stops, each with its Connect cluster."""
        named = (
            (self.connect, request.source_connector),
            (self.connect, request.checkpoint_connector),
            (self.forward, request.forward_connector),
        )
        return [(cluster, name) for cluster, name in named if cluster is not None and name]

    def target_groups(self) -> TargetGroups:
        """Return the target's consumer groups with their journal; raises store errors."""
        from airflow_provider_connect_offsets.operations.groups.group_stages import TargetGroups

        return TargetGroups.of(self.clients.clusters.target, workspace_uri(), target_kafka_conn_id=self.target)

    def members(self, request: FailoverRequest) -> list[Member]:
        """Return the same connectors as members of one saga."""
        from airflow_provider_connect_offsets.operations.connector.stopped import Member

        return [Member(cluster.clients, cluster.journal(name)) for cluster, name in self.connectors(request)]


def _rewinds(cluster: ConnectCluster | None, connector: str) -> str:
    if cluster is None or not connector:
        return ""
    return rewinds_root(workspace_uri(), cluster=cluster.cluster, connector=connector)


@contextmanager
def open_failover(
    connections: FailoverClientsParams, *, planned: bool, timeout: float | None = None
) -> Iterator[FailoverClusters]:
    """Open the clients of a failover or failback.

    Args:
        connections: Its connections.
        planned: False: the source is gone, so only the target is opened.
        timeout: Seconds to wait for each state of a connector; None: as ``control`` has it.

    Raises:
        InvalidInput: ``control`` can't stop a flow, or a connection is missing or can't be used.
        StoreError: Connect or Kafka does not answer, or refuses.
    """
    from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
    from airflow_provider_connect_offsets.observe.flow.failover import FailoverClients
    from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters

    target_id = connections.target_kafka_conn_id
    source_id = connections.source_kafka_conn_id if planned else ""
    forward_id = connections.forward_connect_conn_id if planned else ""
    connect_id = (connections.connect_conn_id or forward_id) if planned else ""
    require_control(
        connections.control,
        *(Control.REST, Control.STRIMZI, Control.STRIMZI_REST),
        why="a failover stops a flow that runs, and nothing here can stop the process that uses a storage.",
    )
    with ExitStack() as stack:

        def connect_cluster(conn_id: str, kafka_id: str) -> ConnectCluster | None:
            reached = ConnectParams(
                control=connections.control, connect_conn_id=conn_id, kubernetes_conn_id=connections.kubernetes_conn_id
            )
            return stack.enter_context(open_clients(reached, kafka_id or None, timeout=timeout)) if conn_id else None

        target = stack.enter_context(kafka_cluster(target_id))
        source = stack.enter_context(kafka_cluster(source_id)) if source_id else None
        connect, forward = connect_cluster(connect_id, source_id), connect_cluster(forward_id, target_id)
        clients = FailoverClients(
            Clusters(source, target), connect.clients if connect else None, forward.clients if forward else None
        )
        yield FailoverClusters(clients, target_id, connect, forward)


def described_flow(params: FailoverParams, info: ConnectorInfo | None) -> Flow:
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
            raise InvalidRequest("Name the flow: by source_connector, or by source_alias and target_alias.")
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
    for name, configured in configuration.items():
        given = getattr(params, name)
        if given and given != configured:
            raise InvalidRequest(
                f"Nothing was touched: {name} is {given!r}, but {info.name!r} is configured with {configured!r}."
            )
    return flow
