"""Partitions of topics: which of them exist, and which of them a dataset's row is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_provider_connect_offsets.observe.clients import Logs
from airflow_provider_connect_offsets.offsets.families import TopicPartition


def existing_partitions(logs: Logs, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
    """Return the ``partitions`` that exist in the cluster; raises store errors."""
    requested = list(partitions)
    counts = logs.counts_of(where.topic for where in requested)
    return [where for where in requested if where.partition < counts.get(where.topic, 0)]


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
