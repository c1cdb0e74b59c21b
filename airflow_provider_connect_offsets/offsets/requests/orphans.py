"""Orphaned offsets: those that a deleted connector leaves in the offsets topic, and the request to find them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.values import ago


@dataclass(frozen=True, slots=True)
class OrphanRequest(JsonRecord):
    """Which orphaned offsets to find, and in which topic.

    Attributes:
        topic: The worker's ``offset.storage.topic``.
        connectors: Java pattern for whole names of connectors; None: all.
        written_before: Only connectors none of whose offsets was written since (UTC); None: of any age. All offsets of
            a connector are taken or none: half of them would be worse than either.
    """

    topic: str
    connectors: str | None = None
    written_before: datetime | None = None

    @classmethod
    def parse(cls, *, topic: str, connectors: str = "", older_than: str = "", now: datetime) -> OrphanRequest:
        """Parse what a person typed.

        Args:
            topic: The worker's ``offset.storage.topic``.
            connectors: Pattern for whole names; empty: all.
            older_than: ISO 8601 duration, back from ``now``; empty: of any age.
            now: The moment that ``older_than`` counts from.

        Raises:
            InvalidRequest: No topic is given, or ``older_than`` is no duration.
        """
        if not topic.strip():
            raise InvalidRequest("offsets_topic: name the worker's offset.storage.topic, like connect-offsets.")
        text = older_than.strip()
        try:
            before = ago(text, now=now) if text else None
        except ValueError as error:
            raise InvalidRequest(f"older_than: {text!r} is no ISO 8601 duration, like P30D or PT12H.") from error
        return cls(topic.strip(), connectors.strip() or None, before)


@dataclass(frozen=True, slots=True)
class Orphan:
    """The last record of a key whose connector no longer exists.

    Attributes:
        connector: Name of the connector.
        partition: Source partition (JSON).
        offset: Source offset (JSON).
        topic: The offsets topic.
        kafka_partition: Partition of that topic.
        log_offset: Offset of the record.
        written_at: Timestamp of the record.
        size_bytes: Size of its key and value.
        raw_key: Its key.
    """

    connector: str
    partition: str
    offset: str
    topic: str
    kafka_partition: int
    log_offset: int
    written_at: datetime
    size_bytes: int
    raw_key: bytes

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the record's key and offset; Spark's job computes the same."""
        fields = (self.topic, str(self.kafka_partition), str(self.log_offset), self.raw_key.hex().upper())
        return hashlib.sha256("\n".join(fields).encode()).hexdigest()
