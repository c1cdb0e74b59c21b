"""Orphaned offsets: those that a deleted connector leaves in the offsets topic, and the request to find them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, Section, optional, required
from airflow_provider_connect_offsets.offsets.requests.values import Text, ago


def _java_pattern(value: object, _param: str) -> str | None:
    return ("" if value is None else str(value)).strip() or None


#: A regular expression that Spark alone matches; Java reads it, and the job refuses what it can't read.
JavaPattern = Annotated[str | None, _java_pattern]


class OrphanSearch(Parameters, section=Section.WHAT):
    """Which stored offsets are searched for."""

    connectors: JavaPattern = optional(
        "Connectors",
        "Regular expression that matches whole names of deleted connectors. Empty: all.",
        example="orders-.*",
        default=None,
    )
    older_than: Text = optional(
        "Older than",
        "ISO 8601 duration. Only connectors whose newest offset is older are found. Empty: any age.",
        example="P30D",
        default="",
    )
    offsets_topic: Text = required(
        "Offsets topic",
        "The offset.storage.topic of the Connect cluster's workers.",
        section=Section.CONNECTIONS,
        example="connect-offsets",
        default="connect-offsets",
    )


class OrphanRequest(OrphanSearch, JsonRecord):
    """Which orphaned offsets to find, and in which topic.

    Attributes:
        topic: The worker's ``offset.storage.topic``.
        written_before: Only connectors none of whose offsets was written since (UTC); None: of any age. All offsets of
            a connector are taken or none: half of them would be worse than either.
    """

    topic: str
    written_before: datetime | None = None

    @classmethod
    def of(cls, search: OrphanSearch, *, now: datetime) -> OrphanRequest:
        """Return the request of a search.

        Args:
            search: What is searched for.
            now: The moment that ``older_than`` counts from.

        Raises:
            InvalidRequest: No topic is given, or ``older_than`` isn't a duration.
        """
        topic, text = search.offsets_topic.strip(), search.older_than.strip()
        if not topic:
            raise InvalidRequest(
                "offsets_topic is empty. Set it to the workers' offset.storage.topic, like connect-offsets."
            )
        try:
            before = ago(text, now=now) if text else None
        except ValueError as error:
            raise InvalidRequest(f"older_than: {text!r} is not an ISO 8601 duration like P30D or PT12H.") from error
        return cls(**search.values(), topic=topic, written_before=before)


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
