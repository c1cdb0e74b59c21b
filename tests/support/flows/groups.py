"""Consumer groups on the sandbox's clusters: commit offsets, read them, join a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import Consumer

from airflow_provider_connect_offsets.exceptions import Unreachable
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Broker, wait_until

Positions = Mapping[str, Mapping[TopicPartition, int]]


@contextmanager
def cluster(broker: Broker) -> Iterator[KafkaCluster]:
    """Open the clients of a cluster of the sandbox."""
    with KafkaCluster({"bootstrap.servers": broker.bootstrap}) as client:
        yield client


def commit_groups(broker: Broker, positions: Positions) -> None:
    """Commit offsets and wait until they are stored, as a new broker may lose the first commit silently."""
    left: list[str] = [*positions]

    def are_committed() -> bool:
        try:
            with cluster(broker) as client:
                assert client.groups.commit(positions) == {}
            found = committed(broker, positions)
        except Unreachable:  # on a busy machine, the first coordinator of groups may start later than the client waits
            return False
        left[:] = [name for name, offsets in positions.items() if not offsets.items() <= found[name].items()]
        return not left

    wait_until(are_committed, 60, "the groups were not committed", progress={"groups left": lambda: len(left)})


def committed(broker: Broker, groups: Iterable[str]) -> dict[str, dict[TopicPartition, int]]:
    """The committed offsets of the groups."""
    with cluster(broker) as client:
        found = client.groups.offsets_of(groups)
    return {name: {where: one.offset for where, one in offsets.items()} for name, offsets in found.items()}


@contextmanager
def member(broker: Broker, group: str, topic: str, *, protocol: str = "classic") -> Iterator[None]:
    """Run a member of a group during the block; ``protocol``: classic, or consumer (KIP-848)."""
    own = {"group.id": group, "group.protocol": protocol, "enable.auto.commit": False}
    config = {"bootstrap.servers": broker.bootstrap, **own}
    consumer = Consumer({**config, "auto.offset.reset": "latest"})
    consumer.subscribe([topic])
    try:
        wait_until(lambda: bool(consumer.poll(0.1) or consumer.assignment()), 60, "no partition was assigned")
        yield
    finally:
        consumer.close()
