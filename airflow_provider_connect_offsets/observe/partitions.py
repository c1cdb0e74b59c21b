"""Partitions of topics: which of them exist, which of them a dataset's row is about, and short lists for messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from airflow_provider_connect_offsets.observe.clients import Logs
from airflow_provider_connect_offsets.offsets.families import TopicPartition


def existing_partitions(logs: Logs, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return the ``partitions`` that exist in the cluster; raises store errors."""
    counts = logs.topics()
    return [where for where in partitions if where.partition < counts.get(where.topic, 0)]


def partitions_of(counts: Mapping[str, int], topics: Iterable[str]) -> list[TopicPartition]:
    """List all partitions of ``topics``.

    Args:
        counts: Topic → number of partitions; a missing topic has no partitions.
        topics: Names of topics.
    """
    return [TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))]


def partition_of(row: Mapping[str, Any]) -> TopicPartition:
    """Return the partition that a dataset's row is about: its columns ``topic`` and ``kafka_partition``."""
    return TopicPartition(row["topic"], row["kafka_partition"])


def join_first(texts: Sequence[str], limit: int, *, separator: str = ", ") -> str:
    """Join the first ``limit`` strings and count the others: ``a, b, c and 4 more``."""
    more = f" and {len(texts) - limit:,} more" if len(texts) > limit else ""
    return separator.join(texts[:limit]) + more
