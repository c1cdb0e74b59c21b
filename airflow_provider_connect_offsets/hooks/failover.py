"""What a failover goes through, opened from Airflow connections, and the flow that its Params describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.hooks.clients import ConnectCluster, open_clients, workspace_uri

if TYPE_CHECKING:
    from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
    from airflow_provider_connect_offsets.observe.flow.failover import FailoverClients
    from airflow_provider_connect_offsets.offsets.flow import Flow
    from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
    from airflow_provider_connect_offsets.operations.connector.stopped import Member
    from airflow_provider_connect_offsets.operations.groups.group_stages import TargetGroups


@dataclass(frozen=True, slots=True)
class FailoverConnections:
    """Airflow connections of a flow; without ``connect`` or ``source`` there is no way to it, as when it is gone.

    ``forward``: of a failback, the Connect cluster of the flow that brought the records.
    """

    connect: str
    source: str
    target: str
    forward: str = ""


@dataclass(frozen=True, slots=True)
class FailoverClusters:
    """The doors while they are open; ``connect`` is None where there is no connection for it.

    ``target``: the Airflow connection of the target's Kafka cluster.
    """

    clients: FailoverClients
    target: str
    connect: ConnectCluster | None
    forward: ConnectCluster | None = None

    def clients_for(self, request: FailoverRequest) -> FailoverClients:
        """The doors, with what resets of the connectors that were asked for, and looks at the flow, have kept."""
        return replace(
            self.clients,
            kept=_rewinds(self.connect, request.source_connector),
            forward_kept=_rewinds(self.forward, request.forward_connector),
            ledger=self._ledger(request),
        )

    def _ledger(self, request: FailoverRequest) -> str:
        """Where looks at the flow's readiness have kept their ledgers, where the source is gone."""
        from airflow_provider_connect_offsets.offsets.requests.failover import Mode
        from airflow_provider_connect_offsets.workspace.layout import ledger_root

        if request.mode is Mode.PLANNED:
            return ""
        return ledger_root(
            workspace_uri(),
            target_cluster=self.clients.clusters.target.cluster_id(),
            source_alias=request.flow.source_alias,
            target_alias=request.flow.target_alias,
        )

    def connectors(self, request: FailoverRequest) -> list[tuple[ConnectCluster, str]]:
        """The connectors that are to stand still, and the way to each."""
        wanted = (
            (self.connect, request.source_connector),
            (self.connect, request.checkpoint_connector),
            (self.forward, request.forward_connector),
        )
        return [(opened, name) for opened, name in wanted if opened is not None and name]

    def target_groups(self) -> TargetGroups:
        """The target's consumer groups, with their journal; raises store errors."""
        from airflow_provider_connect_offsets.operations.groups.group_stages import TargetGroups

        return TargetGroups.of(self.clients.clusters.target, workspace_uri(), target_kafka_conn_id=self.target)

    def members(self, request: FailoverRequest) -> list[Member]:
        """The same connectors, as one saga holds them."""
        from airflow_provider_connect_offsets.operations.connector.stopped import Member

        return [Member(opened.clients, opened.journal(name)) for opened, name in self.connectors(request)]


def _rewinds(opened: ConnectCluster | None, connector: str) -> str:
    from airflow_provider_connect_offsets.workspace.layout import rewinds_root

    if opened is None or not connector:
        return ""
    return rewinds_root(workspace_uri(), cluster=opened.cluster, connector=connector)


@contextmanager
def open_failover(connections: FailoverConnections, *, timeout: float = 120.0) -> Iterator[FailoverClusters]:
    """Open what a failover goes through; raises :class:`InvalidInput` and store errors."""
    from airflow_provider_connect_offsets.hooks.kafka import kafka_cluster
    from airflow_provider_connect_offsets.observe.flow.failover import FailoverClients
    from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters

    with ExitStack() as stack:
        target = stack.enter_context(kafka_cluster(connections.target))
        source = stack.enter_context(kafka_cluster(connections.source)) if connections.source else None
        connect = (
            stack.enter_context(open_clients(connections.connect, connections.source or None, timeout=timeout))
            if connections.connect
            else None
        )
        forward = (
            stack.enter_context(open_clients(connections.forward, connections.target, timeout=timeout))
            if connections.forward
            else None
        )
        clients = FailoverClients(
            Clusters(source, target), connect.clients if connect else None, forward.clients if forward else None
        )
        yield FailoverClusters(clients, connections.target, connect, forward)


@dataclass(frozen=True, slots=True)
class Described:
    """A flow as Params describe it; empty: as its connector's configuration, or MirrorMaker 2's default, has it."""

    source_alias: str = ""
    target_alias: str = ""
    policy: str = ""
    separator: str = ""
    syncs_on: str = ""

    def flow(self, info: ConnectorInfo | None) -> Flow:
        """Put together what the configuration and the Params say.

        Raises :class:`InvalidRequest` where they contradict each other, or neither names both clusters.
        """
        from airflow_provider_connect_offsets.offsets.flow import Flow, Policy, Side

        if info is None:
            if not (self.source_alias and self.target_alias):
                raise InvalidRequest("Name the flow: by source_connector, or by source_alias and target_alias.")
            separator = self.separator or "."
            return Flow(
                source_alias=self.source_alias,
                target_alias=self.target_alias,
                policy=Policy(self.policy or Policy.DEFAULT),
                separator=separator,
                internal_separator=separator,
                syncs_on=Side(self.syncs_on or Side.SOURCE),
            )
        found = Flow.of(info.config)
        said = {"source_alias": found.source_alias, "target_alias": found.target_alias}
        for name, configured in said.items():
            given = getattr(self, name)
            if given and given != configured:
                raise InvalidRequest(
                    f"Nothing was touched: {name} is {given!r}, but {info.name!r} is configured with {configured!r}."
                )
        return found
