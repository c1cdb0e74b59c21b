"""What a change goes through: the doors it may open, and how long it waits behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import tenacity
from tenacity.retry import retry_base

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, retrying
from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, OffsetStore
from airflow_provider_connect_offsets.kafka.mirror_cluster import CleanupPolicy
from airflow_provider_connect_offsets.kafka.topic_reader import TopicRecord
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Side

Reading = TypeVar("Reading")


class Origin(StrEnum):
    """Where offsets were read: of whom the dataset ``connector_offsets`` tells."""

    REST = "rest"
    TOPIC = "topic"
    FILE = "file"


class Bounds(Protocol):
    """Where a log begins and ends."""

    @property
    def log_start(self) -> int:
        """First offset still there."""

    @property
    def log_end(self) -> int:
        """Offset after the last record."""

    @property
    def lookup_offset(self) -> int | None:
        """The first record at or after the moment that was asked for."""


class Retained(Protocol):
    """When the records of a log are deleted by their age (``kafka.logs.Retention``)."""

    @property
    def cleanup_policy(self) -> str:
        """Effective ``cleanup.policy``."""

    @property
    def retention_ms(self) -> int:
        """Effective ``retention.ms``; -1: no limit."""

    @property
    def expired_offset(self) -> int | None:
        """The first record that is no older than that."""

    @property
    def expiring_offset(self) -> int | None:
        """The first record of which that will still be true a while later."""


class Logs(Protocol):
    """The cluster whose logs the positions refer to (``kafka.logs.KafkaLogs``)."""

    servers: str

    def topics(self) -> Mapping[str, int]:
        """Topic → number of partitions."""

    def bounds(
        self, partitions: Iterable[TopicPartition], *, moment: datetime | None = None
    ) -> Mapping[TopicPartition, Bounds]:
        """Look up the bounds of ``partitions``, and where ``moment`` lies in each."""

    def retention(
        self, bounds: Mapping[TopicPartition, Any], *, now: datetime, soon: timedelta
    ) -> Mapping[TopicPartition, Retained]:
        """Look up which records are older than ``retention.ms`` at ``now``, or will be ``soon``."""


class FlowCluster(Logs, Protocol):
    """Either cluster of a MirrorMaker 2 flow (``kafka.mirror_cluster.MirrorCluster``)."""

    def cluster_id(self) -> str:
        """The id that the cluster gave itself."""

    def topic_ids(self, topics: Iterable[str]) -> Mapping[str, str]:
        """Topic → the id that the cluster gave it when it was created; those that are not there are left out."""

    def partitions(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic; none where there is no such topic."""

    def records(self, topic: str) -> Iterator[TopicRecord]:
        """Read a topic whole."""

    def policy(self, topic: str) -> CleanupPolicy:
        """Ask for a topic's cleanup policy."""

    def empty(self, topic: str, policy: CleanupPolicy) -> int:
        """Delete all records of a topic and prove it; its policy is always restored."""

    def restore_policy(self, topic: str, policy: CleanupPolicy) -> None:
        """Restore the prior policy of a topic."""


class Membership(Protocol):
    """Whether anyone is in a consumer group (``kafka.groups.GroupStatus``)."""

    @property
    def inactive(self) -> bool:
        """Nobody is in it."""


class Groups(Protocol):
    """The consumer groups of a sink's cluster (``kafka.groups.ConsumerGroups``)."""

    def state(self, group: str) -> Membership:
        """Look at ``group``."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The store of a connector's offsets, the control over the connector, and what may be looked at beside them.

    ``logs`` is needed where a relative request (``shift``, ``skip``) has to be counted again from the stopped position;
    ``groups`` lets a sink's group be seen to be empty before Connect is asked, which else refuses until it is.
    ``timeout``: seconds that each state of the connector is waited for. ``origin``: what is behind ``offsets``.
    ``clusters``: both of a MirrorMaker 2 flow, for its reset; else none. ``cluster``: the id of the Kafka cluster that
    the connector's workers belong to, by which a journal tells one Connect cluster from another. ``connections``: the
    Airflow connections that all this was opened from, by the names of the parameters that give them; for people.
    """

    offsets: OffsetStore
    control: ConnectorControl
    logs: Logs | None = None
    groups: Groups | None = None
    timeout: float = 120.0
    origin: Origin = Origin.REST
    clock: Clock = SYSTEM_CLOCK
    clusters: Mapping[Side, FlowCluster] = field(default_factory=lambda: MappingProxyType({}))
    cluster: str = ""
    connections: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def settle(self, read: Callable[[], Reading], *, until: Callable[[Reading], bool]) -> Reading:
        """Read again and again until it is as wanted, or timeout is at an end; give the last reading either way."""
        retry = tenacity.retry_if_result(lambda reading: not until(reading))
        return retrying(retry, timeout=self.timeout, clock=self.clock)(read)


def until_timeout(clients: Clients, retry: retry_base) -> tenacity.Retrying:
    """Call again after each error that ``retry`` names; the last one is raised."""
    return retrying(retry, timeout=clients.timeout, clock=clients.clock)
