"""Stages that can be rebuilt from a journal: whether clients reach what they change, and the names of that."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Self

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages.captured import ADDRESSES, CONNECTIONS
from airflow_provider_connect_offsets.saga import JsonMap, Stage, StageRecord


class ReachedStage(Stage):
    """A stage that the registry rebuilds from a journal, if the available clients reach what it changes."""

    @classmethod
    @abstractmethod
    def is_reached(cls, clients: Clients, record: StageRecord) -> bool:
        """Whether these clients reach what the recorded stage changes."""

    @classmethod
    @abstractmethod
    def build(cls, subject: str, clients: Clients, spec: JsonMap) -> Self:
        """Build the stage from what :meth:`spec` has returned, maybe in an earlier version."""

    @abstractmethod
    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the connectors, consumer groups and topics that the stage changes, for checks before it begins."""


def is_of_resource(record: StageRecord) -> bool:
    """Whether a recorded stage has requested states in resources of Strimzi, whose operator reverts any other state."""
    return "kubernetes_conn_id" in record.spec.get(CONNECTIONS, {})


class ConnectorStage(ReachedStage):
    """A stage on one connector, or consumer group.

    Args:
        connector: Its name.
        clients: Clients of its Connect cluster.

    Attributes:
        arguments: Arguments of the class, and attributes of those names, that :meth:`spec` keeps for :meth:`build`.
    """

    arguments: ClassVar[tuple[str, ...]] = ()

    def __init__(self, connector: str, clients: Clients) -> None:
        super().__init__(connector, cluster=clients.cluster)
        self._clients = clients

    @classmethod
    def is_reached(cls, clients: Clients, record: StageRecord) -> bool:
        """Whether the clients are of the same Connect cluster: by name, and by an address if both have addresses."""
        if clients.cluster != record.cluster or (is_of_resource(record) and not clients.by_resource):
            return False
        known, here = set(record.spec.get(ADDRESSES, ())), clients.control.addresses(record.subject)
        return not known or not here or not known.isdisjoint(here)

    @classmethod
    def build(cls, subject: str, clients: Clients, spec: JsonMap) -> Self:
        """Build the stage from what :meth:`spec` has returned, maybe in an earlier version."""
        kept: dict[str, Any] = {name: spec[name] for name in cls.arguments if name in spec}
        return cls(subject, clients, **kept)

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the connector, or the consumer group."""
        return [(Named.of(self._clients.noun), self.subject)]

    def spec(self) -> JsonMap:
        """Return the connections, the addresses of the Connect cluster, and the values of ``arguments``."""
        where = {
            CONNECTIONS: dict(self._clients.connections),
            ADDRESSES: sorted(self._clients.control.addresses(self.subject)),
        }
        return {**where, **{name: getattr(self, name) for name in self.arguments}}
