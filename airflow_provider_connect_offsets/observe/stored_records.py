"""Records of an internal topic as rows of the dataset ``stored_records``; the Spark jobs decode them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.topic_reader import TopicReader, TopicRecord

log = logging.getLogger(__name__)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stored_rows(topic: str, records: Iterable[TopicRecord]) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``stored_records`` for records of ``topic``."""
    for record in records:
        yield {
            "topic": topic,
            "kafka_partition": record.partition,
            "log_offset": record.offset,
            "written_at": moment_of(record.timestamp_ms),
            "key": record.key,
            "value": record.value,
        }


def read_stored_rows(
    cluster: KafkaCluster,
    name: str,
    read: Callable[[TopicReader], Iterable[TopicRecord]] = lambda topic: topic.records(),
) -> Iterator[dict[str, Any]]:
    """Yield the records of an internal topic as rows of the dataset ``stored_records``.

    Args:
        cluster: The cluster of the topic.
        name: The topic. If it does not exist, there are no rows: MirrorMaker 2 creates it with the first record.
        read: Reads records of the topic; default: all records.

    Raises:
        StoreError: The cluster does not answer, or refuses.
    """
    if not cluster.counts_of([name]):
        log.warning("Topic %r does not exist: MirrorMaker 2 has not written to it yet.", name)
        return
    with cluster.topic(name) as topic:
        yield from stored_rows(name, read(topic))


def moment_of(milliseconds: int) -> datetime:
    """Convert milliseconds since 1970 to a UTC timestamp."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def has_offset(record: TopicRecord) -> bool:
    """Whether a record of an offsets topic stores an offset, as a tombstone or a JSON null does not."""
    return record.value not in (None, b"null")
