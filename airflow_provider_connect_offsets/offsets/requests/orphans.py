"""Orphaned offsets: what a deleted connector leaves behind in the offsets topic, and which of it was asked for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.request import parse_duration


@dataclass(frozen=True, slots=True)
class OrphanRequest:
    """Which orphaned offsets are looked for, and where.

    ``connectors`` is a pattern that must match whole names; None selects all. ``written_before``: only connectors of
    whose offsets none was written since; half of a connector's offsets would be worse than all or none.
    """

    topic: str
    connectors: str | None = None
    written_before: datetime | None = None

    @classmethod
    def parse(cls, *, topic: str, connectors: str = "", older_than: str = "", now: datetime) -> OrphanRequest:
        """Read what a person typed; raises :class:`InvalidRequest`."""
        if not topic.strip():
            raise InvalidRequest("offsets_topic: name the worker's offset.storage.topic, like connect-offsets.")
        text = older_than.strip()
        try:
            before = (now - parse_duration(text)).astimezone(UTC) if text else None
        except (ValueError, OverflowError) as error:
            raise InvalidRequest(f"older_than: {text!r} is no ISO 8601 duration, like P30D or PT12H.") from error
        return cls(topic.strip(), connectors or None, before)

    def as_json(self) -> dict[str, Any]:
        """Write it for a dataset; :meth:`from_json` reads it."""
        before = None if self.written_before is None else self.written_before.isoformat()
        return {"topic": self.topic, "connectors": self.connectors, "written_before": before}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> OrphanRequest:
        """Read what :meth:`as_json` wrote."""
        before = fields["written_before"]
        return cls(fields["topic"], fields["connectors"], None if before is None else datetime.fromisoformat(before))


@dataclass(frozen=True, slots=True)
class Orphan:
    """One row of the dataset ``orphans``: the last record of a key whose connector is gone, as it stands there."""

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
        """SHA-256 (hex) of which record of which key it is; Spark's job works it out as well."""
        fields = (self.topic, str(self.kafka_partition), str(self.log_offset), self.raw_key.hex().upper())
        return hashlib.sha256("\n".join(fields).encode()).hexdigest()
