"""Snapshots of a Connect cluster: which connectors, how they are compared and kept, and which one is restored."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.requests.fields import (
    Parameters,
    Section,
    count,
    flag,
    optional,
    required,
)
from airflow_provider_connect_offsets.offsets.requests.values import ALL, Flag, Text, Uri, ago
from airflow_provider_connect_offsets.parameters.connections import ConnectorConnectionParams


class KeptSnapshotsParams(Parameters, section=Section.LIMITS):
    """How many snapshots are kept, and for how long."""

    keep: int = count("Keep", "How many snapshots are kept.", default=30)
    keep_for: Text = optional(
        "Keep for",
        "ISO 8601 duration. Older snapshots are removed, too. Empty: snapshots are kept at any age.",
        example="P90D",
    )

    def earliest_kept(self, *, now: datetime) -> datetime | None:
        """Return the moment before which snapshots are removed; None without ``keep_for``. Raises InvalidRequest."""
        text = self.keep_for.strip()
        try:
            return ago(text, now=now) if text else None
        except ValueError as error:
            raise InvalidRequest(f"keep_for: {text!r} is not an ISO 8601 duration like P90D or PT12H.") from error


class SnapshotConnectionParams(ConnectorConnectionParams, section=Section.CONNECTIONS):
    """The Connect cluster of a snapshot, and the Kafka clusters that its positions refer to."""

    first: ClassVar[tuple[str, ...]] = (*ConnectorConnectionParams.first, "source_kafka_conn_id")

    kafka_conn_id: Text = optional(
        "Kafka connection",
        "Airflow connection of the Kafka cluster that sinks read. Empty: their positions are kept without log ends.",
        example="kafka_default",
    )
    source_kafka_conn_id: Text = optional(
        "Source Kafka connection",
        "Airflow connection of the Kafka cluster that MirrorSources read. Empty: their positions are kept without log "
        "ends.",
        example="kafka_source",
    )


class RestoreSnapshotParams(Parameters, section=Section.WHAT):
    """Which snapshot is restored, and of which connectors."""

    snapshot_uri: Uri = required(
        "Snapshot",
        "URI of a kept snapshot, of the run that took it, or of a run of connector_offsets_change, which restores "
        "what was stored before that change.",
        example="s3a://offsets/…/_snapshots/…",
    )
    connectors: Text = optional(
        "Connectors",
        "Regular expression that matches whole names of connectors in the snapshot. Empty: all.",
        example="orders-.*",
        default=ALL,
    )
    clear_new: Flag = flag(
        "Clear new offsets",
        "Whether to remove offsets of partitions that had no offset in the snapshot; otherwise they stay.",
        section=Section.WHERE,
        default=False,
    )
