"""A record with its headers."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import Message

from airflow_provider_connect_offsets.kafka.spans import raw
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

    @classmethod
    def of(cls, where: TopicPartition, offset: int, message: Message) -> FullRecord:
        """Return the record that librdkafka has read."""
        pairs: list[tuple[str, str | bytes | None]] = list(message.headers() or ())  # type: ignore[arg-type]
        headers = tuple((name, raw(value)) for name, value in pairs)
        return cls(where, offset, message.timestamp()[1], raw(message.key()), raw(message.value()), headers)
