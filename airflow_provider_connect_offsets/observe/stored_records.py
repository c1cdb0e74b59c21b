"""Records of an internal topic as rows of the dataset ``stored_records``; the Spark jobs decode them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets.kafka.topic_reader import TopicRecord

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


def moment_of(milliseconds: int) -> datetime:
    """Convert milliseconds since 1970 to a UTC timestamp."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def has_offset(record: TopicRecord) -> bool:
    """True if a record of an offsets topic stores an offset; a tombstone or a JSON null stores none."""
    return record.value not in (None, b"null")
