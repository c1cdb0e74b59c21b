"""Ids of a flow's topics on both clusters, which show whether a topic has been recreated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster


@dataclass(frozen=True, slots=True)
class TopicIds:
    """Ids of topics of the source, and of their remote topics on the target, by topic name (KIP-516)."""

    source: Mapping[str, str]
    target: Mapping[str, str]

    @classmethod
    def observe(cls, names: Mapping[str, str], source: KafkaCluster | None, target: KafkaCluster) -> TopicIds:
        """Look up the ids.

        Args:
            names: Topic of the source → remote topic.
            source: The source cluster; None if it is gone.
            target: The target cluster.

        Raises:
            StoreError: A cluster does not answer, or refuses.
        """
        return cls({} if source is None else source.topic_ids(names), target.topic_ids(names.values()))

    def rows(self, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of the dataset ``flow_topics``; an id is null if the topic does not exist."""
        for topic, remote_topic in names.items():
            yield {
                "topic": topic,
                "target_topic": remote_topic,
                "topic_id": self.source.get(topic),
                "target_topic_id": self.target.get(remote_topic),
            }
