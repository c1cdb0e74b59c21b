"""One Kafka cluster as a flow sees it: its logs, its consumer groups, and the records of its topics."""

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
    """Doors to one cluster; ``config`` holds librdkafka's settings."""

    config: Mapping[str, Any] = field(repr=False)
    logs: RemainingRecords
    groups: ConsumerGroups

    def cluster_id(self) -> str:
        """The id that the cluster gave itself; raises store errors."""
        return self.groups.cluster_id()

    def topic(self, name: str) -> TopicReader:
        """Open one of its topics, to be read whole; use it as a context manager."""
        return TopicReader(self.config, name)

    def spans(self, isolation: Isolation = Isolation.READ_COMMITTED) -> Spans:
        """Open parts of its logs; use it as a context manager."""
        return Spans(self.config, isolation=isolation)


@contextmanager
def open_cluster(config: Mapping[str, Any]) -> Iterator[KafkaCluster]:
    """Open the doors for as long as the block lasts."""
    with RemainingRecords(config) as logs, ConsumerGroups(config) as groups:
        yield KafkaCluster(config, logs, groups)
