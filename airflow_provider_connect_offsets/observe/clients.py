"""Clients that observations and operations use, and how long they wait for a state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, cast

import tenacity
from tenacity.retry import retry_base

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, make_attempts, poll
from airflow_provider_connect_offsets.connect.protocols import (
    ConnectorControl,
    ConnectorRegistry,
    ConnectorStatus,
    OffsetStore,
    StatusTest,
)
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidRequest, Unsupported
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.logs import LogBounds, Retention
from airflow_provider_connect_offsets.kafka.remaining import Remaining
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.family import Noun
from airflow_provider_connect_offsets.offsets.requests.guards import DEFAULT_GUARDS, Guards
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from airflow_provider_connect_offsets.workspace.layout import journal_root

Reading = TypeVar("Reading")


class Origin(StrEnum):
    """Which store the offsets were read from: column ``origin`` of the dataset ``connector_offsets``."""

    REST = "rest"
    #: Resources of Strimzi.
    STRIMZI = "strimzi"
    TOPIC = "topic"
    FILE = "file"
    #: Committed offsets of consumer groups, which take the place of connectors.
    GROUP = "group"

    @property
    def has_states(self) -> bool:
        """Whether its connectors are stopped, resumed, created and deleted by request.

        Nothing here starts or stops the process that uses a storage, or the applications of a consumer group.
        """
        return self in {Origin.REST, Origin.STRIMZI}

    @property
    def noun(self) -> Noun:
        """What messages call the things whose offsets it has."""
        return Noun.GROUP if self is Origin.GROUP else Noun.CONNECTOR


class Logs(Protocol):
    """The cluster whose logs the positions refer to (``kafka.cluster.KafkaCluster``)."""

    servers: str

    def cluster_id(self) -> str:
        """Return the cluster's id: ``kafka_cluster`` in datasets."""

    def topics(self) -> Mapping[str, int]:
        """Return the number of partitions of each topic."""

    def counts_of(self, names: Iterable[str]) -> Mapping[str, int]:
        """Return the number of partitions of those of ``names`` that exist; raises :class:`AccessDenied` if unknown."""

    def refuse_hidden(self, missing: Iterable[str]) -> None:
        """Raise :class:`AccessDenied` if topics are missing among ``topics`` because the user may not see them."""

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> Mapping[TopicPartition, LogBounds]:
        """Look up the bounds of ``partitions``, and in each log the first record at or after ``moment``."""

    def retention(
        self, bounds: Mapping[TopicPartition, LogBounds], *, now: datetime, soon: timedelta
    ) -> Mapping[TopicPartition, Retention]:
        """Look up which records are older than ``retention.ms`` at ``now``, or will be at ``now + soon``."""

    def first_remaining(
        self, positions: Mapping[TopicPartition, int], *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> Mapping[TopicPartition, Remaining]:
        """Read the first record at or after each position; a partition without such a record is missing."""


class Database(Protocol):
    """The database that a connector reads (``hooks.database``)."""

    def fetch_first(self, statement: str, *values: str) -> tuple[Any, ...]:
        """Return the first row of a query; ``values`` replace each ``%s``. Raises :class:`StoreError`."""


class _NoConnect:
    """Stands in for the Connect cluster of an unplanned failover, whose source is gone."""

    def __getattr__(self, name: str) -> Any:
        raise InvalidRequest("A planned failover needs Kafka Connect: set connect_conn_id to its connection.")


#: Store and control of clients without a Connect cluster; each use raises :class:`InvalidRequest`.
NO_CONNECT: Any = _NoConnect()


@dataclass(frozen=True, slots=True)
class Clients:
    """All that an operation reaches: a Connect cluster, and the Kafka clusters that its connectors use.

    Attributes:
        offsets: The store of the connectors' offsets.
        control: The control over the connectors.
        logs: The cluster whose logs the positions refer to. None: positions can't be compared with logs, and a relative
            request (``shift``, ``skip``) can't be computed again from the stopped position.
        groups: The consumer groups of a sink's cluster. None: Connect itself refuses a change until the group is empty.
        timeout: Seconds to wait for each state of a connector.
        origin: Which store ``offsets`` reads.
        database: The database that a source connector reads. None: its log can't be compared with offsets.
        clock: Measures ``timeout``, and sleeps.
        clusters: Both clusters of a MirrorMaker 2 flow; None for operations on a connector.
        forward: For a failback, clients of the flow that brought the records; None for other operations.
        cluster: Id of the Kafka cluster that the workers use. Journals name a Connect cluster by it.
        also: The Connect cluster's other name in journals, by its Strimzi resource or the workers' service; empty if it
            has none.
        connections: Parameter → id of the Airflow connection that it named; shown in messages.
        topic: The workers' offsets topic, for a removal of orphaned offsets; None for other operations.
        workspace: URI of the workspace that has the journals.
        guards: What may be read and changed.
        journal: The store of the journals, if it is not in the workspace.
    """

    offsets: OffsetStore
    control: ConnectorControl
    logs: Logs | None = None
    groups: ConsumerGroups | None = None
    timeout: float = 120.0
    origin: Origin = Origin.REST
    database: Database | None = None
    clock: Clock = SYSTEM_CLOCK
    clusters: Clusters | None = None
    forward: Clients | None = None
    cluster: str = ""
    also: str = ""
    connections: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    topic: OffsetsTopic | None = None
    workspace: str = ""
    guards: Guards = DEFAULT_GUARDS
    journal: JournalStore | None = None

    @property
    def journals(self) -> JournalStore:
        """The store of the journals; raises :class:`ValueError` for clients without a journal and a workspace."""
        if self.journal is None and not self.workspace:
            raise ValueError("these clients have no workspace, and so no journals")
        return self.journal or JournalStore(journal_root(self.workspace))

    @property
    def has_connect(self) -> bool:
        """Whether there is a Connect cluster; an unplanned failover has none."""
        return self.control is not NO_CONNECT

    @property
    def by_resource(self) -> bool:
        """Whether states are requested in resources of Strimzi (``ConnectorControl.by_resource``)."""
        return self.has_connect and self.control.by_resource

    @property
    def both_clusters(self) -> Clusters:
        """Both clusters of the flow; raises :class:`InvalidRequest` for an operation that has none."""
        if self.clusters is None:
            raise InvalidRequest(
                "Both clusters of the flow are needed: set source_kafka_conn_id and target_kafka_conn_id."
            )
        return self.clusters

    @property
    def noun(self) -> Noun:
        """What messages call the things whose offsets these clients change."""
        return self.origin.noun

    def registry(self) -> ConnectorRegistry:
        """Return what creates, restarts and deletes connectors; raises :class:`Unsupported` if there is nothing."""
        if not self.origin.has_states:
            raise Unsupported(
                "Nothing was changed: a connector can't be created, configured, restarted or deleted where only its "
                "offsets are stored. Use Connect's REST API (control=rest) or Strimzi's resources (control=strimzi)."
            )
        return cast("ConnectorRegistry", self.control)

    def logs_of(self, connector: str) -> Logs:
        """Return the cluster whose logs a connector's positions refer to; raises :class:`InvalidRequest` without it."""
        if self.logs is None:
            raise InvalidRequest(
                f"{connector!r}: its offsets are positions in Kafka logs, so kafka_conn_id must name the cluster with "
                "these logs (the source cluster of a MirrorSource, or the cluster that a sink reads)."
            )
        return self.logs

    def settle(self, read: Callable[[], Reading], *, until: Callable[[Reading], bool]) -> Reading:
        """Repeat ``read`` until ``until`` accepts the result or ``timeout`` seconds have passed; return the last."""
        return poll(read, until, timeout=self.timeout, clock=self.clock)

    def await_status(self, connector: str, until: StatusTest) -> ConnectorStatus:
        """Return the first status that ``until`` accepts, or the last in ``timeout`` seconds; raises store errors."""
        return self.control.await_status(connector, until, timeout=self.timeout, clock=self.clock)

    def make_attempts(self, retry: retry_base) -> tenacity.Retrying:
        """Return attempts while ``retry`` accepts their results or errors, for up to ``timeout`` seconds.

        In the end, the last attempt's result is returned, or its error is raised.
        """
        return make_attempts(retry, timeout=self.timeout, clock=self.clock)
