"""Reads whole records, with their headers, from spans of logs."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Message

from airflow_provider_connect_offsets.kafka.spans import Isolation, Span, Spans
from airflow_provider_connect_offsets.offsets.families import TopicPartition


class FullRecord(NamedTuple):
    """A record with all its parts.

    Attributes:
        where: Its topic and partition.
        offset: Its offset.
        timestamp_ms: Its timestamp (milliseconds since 1970).
        key: Its raw key; None if it has none.
        value: Its raw value; None for a tombstone.
        headers: Names and raw values, in order; a name may occur more than once.
    """

    where: TopicPartition
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


class RecordReader(Spans):
    """Reads records as a sink's consumer sees them; the arguments are those of :class:`Spans`."""

    def __init__(
        self, config: Mapping[str, Any], *, isolation: Isolation = Isolation.READ_UNCOMMITTED, timeout: float = 15.0
    ) -> None:
        super().__init__(config, isolation=isolation, timeout=timeout)

    def records(self, spans: Mapping[TopicPartition, Span]) -> Generator[FullRecord, None, None]:
        """Yield all records of the spans, in order within each partition; raises store errors."""
        for passed in self.read(spans):
            if passed.message is not None:
                yield _record(passed.where, passed.offset - 1, passed.message)

    def delete_topic(self, topic: str) -> None:
        """Delete a topic; raises store errors."""
        self.ask(
            f"delete topic {topic!r}",
            lambda client: client.delete_topics([topic], operation_timeout=self.timeout)[topic].result(),
        )


def _record(where: TopicPartition, offset: int, message: Message) -> FullRecord:
    pairs: list[tuple[str, str | bytes | None]] = list(message.headers() or ())  # type: ignore[arg-type]
    headers = tuple((name, _raw(value)) for name, value in pairs)
    return FullRecord(where, offset, message.timestamp()[1], _raw(message.key()), _raw(message.value()), headers)


def _raw(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
