"""One Kafka cluster as a failover sees it: its logs, its consumer groups, and the records of its topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_connect_offsets.stores.groups import ConsumerGroups
from airflow_provider_connect_offsets.stores.kafka import KafkaLogs
from airflow_provider_connect_offsets.stores.remaining import RemainingRecords
from airflow_provider_connect_offsets.stores.spans import Spans
from airflow_provider_connect_offsets.stores.topic_reader import TopicReader


@dataclass(frozen=True, slots=True)
class KafkaCluster:
    """Doors to one cluster; ``config`` holds librdkafka's settings."""

    config: Mapping[str, Any] = field(repr=False)
    logs: KafkaLogs
    groups: ConsumerGroups

    def topic(self, name: str) -> TopicReader:
        """Open one of its topics, to be read whole; use it as a context manager."""
        return TopicReader(self.config, name)

    def spans(self, *, committed: bool = True) -> Spans:
        """Open parts of its logs; use it as a context manager."""
        return Spans(self.config, committed=committed)

    def remaining(self) -> RemainingRecords:
        """Look for what is left to be read of its logs; use it as a context manager."""
        return RemainingRecords(self.config)


@contextmanager
def open_cluster(config: Mapping[str, Any]) -> Iterator[KafkaCluster]:
    """Open the doors for as long as the block lasts."""
    with KafkaLogs(config) as logs, ConsumerGroups(config) as groups:
        yield KafkaCluster(config, logs, groups)
