"""Consumer groups of plain applications, and changes of their offsets without Airflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.groups.group_clients import group_clients
from sandbox import Broker
from tests.support.flows.flows import Changer
from tests.support.flows.groups import cluster, commit_groups, committed
from tests.support.flows.guards import OWN_FILES


class GroupChanger(Changer):
    """Plans and applies changes of consumer groups as the tasks of ``group_offsets_change`` do, without Airflow."""

    @classmethod
    def of(cls, spark: Any, workspace: str, broker: Broker) -> GroupChanger:
        """Of the consumer groups of a broker; ``spark`` may be None if nothing is planned."""
        return cls(spark, workspace, "", broker, cluster=f"groups of {broker.cluster_id()}", timeout=20)

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the clients of the groups."""
        with KafkaCluster({"bootstrap.servers": self.kafka.bootstrap}) as client:
            yield replace(group_clients(client, self.workspace, timeout=self.timeout), guards=OWN_FILES)


@dataclass(frozen=True)
class PlainGroup:
    """A group that has read 60 of 100 records of partition 0 and 20 of 100 of partition 1; of partition 2 nothing.

    It has also committed an offset of another topic, with metadata.
    """

    broker: Broker
    name: str
    topic: str
    other: str

    @classmethod
    def start(cls, broker: Broker, name: str = "") -> PlainGroup:
        """Create its topics, and commit its offsets."""
        mark = uuid4().hex[:8]
        group = cls(broker, name or f"billing-{mark}", f"invoices-{mark}", f"payments-{mark}")
        broker.create_topic(group.topic, partitions=3)
        broker.create_topic(group.other)
        for partition in range(3):
            broker.produce(group.topic, [f"record {number}" for number in range(100)], partition=partition)
        broker.produce(group.other, [f"payment {number}" for number in range(10)])
        group.commit()
        return group

    def at(self, partition: int) -> TopicPartition:
        """A partition of its topic."""
        return TopicPartition(self.topic, partition)

    def commit(self) -> None:
        """Commit its first offsets, and no others."""
        with cluster(self.broker) as client:
            if client.groups.offsets(self.name):
                client.groups.delete(self.name)
            commit_groups(self.broker, {self.name: {self.at(0): 60, self.at(1): 20}})
            assert client.groups.commit({self.name: {TopicPartition(self.other, 0): Committed(7, "own")}}) == {}

    @property
    def offsets(self) -> Mapping[int, int]:
        """Its offsets of its topic, by partition."""
        return {where.partition: at for where, at in self._all.items() if where.topic == self.topic}

    @property
    def aside(self) -> Committed | None:
        """What it has committed of the other topic."""
        with cluster(self.broker) as client:
            return client.groups.offsets_of([self.name])[self.name].get(TopicPartition(self.other, 0))

    @property
    def _all(self) -> Mapping[TopicPartition, int]:
        return committed(self.broker, [self.name])[self.name]
