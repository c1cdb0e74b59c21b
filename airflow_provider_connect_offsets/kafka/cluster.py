"""All clients of one Kafka cluster: of its logs, its consumer groups, and the records of its topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.kafka.spans import Isolation, Spans
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """Clients of one cluster; ``config`` has librdkafka's settings."""

    config: Mapping[str, Any] = field(repr=False)
    logs: RemainingRecords
    groups: ConsumerGroups

    def cluster_id(self) -> str:
        """Return the id of the Kafka cluster; raises store errors."""
        return self.groups.cluster_id()

    def topic(self, name: str) -> TopicReader:
        """Return a reader of a whole topic, to be used as a context manager."""
        return TopicReader(self.config, name)

    def spans(self, isolation: Isolation = Isolation.READ_COMMITTED) -> Spans:
        """Return a reader of parts of logs, to be used as a context manager."""
        return Spans(self.config, isolation=isolation)


@contextmanager
def open_cluster(config: Mapping[str, Any]) -> Iterator[KafkaCluster]:
    """Open all clients of a cluster for the duration of the block; ``config`` has librdkafka's settings."""
    with RemainingRecords(config) as logs, ConsumerGroups(config) as groups:
        yield KafkaCluster(config, logs, groups)
