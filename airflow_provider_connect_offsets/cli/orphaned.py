"""Orphans: offsets that deleted connectors have left behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from airflow_provider_connect_offsets.cli import importing
from airflow_provider_connect_offsets.cli.opened import Opened
from airflow_provider_connect_offsets.cli.told import counted, progress_bar, tell
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.storage import parse_key
from airflow_provider_connect_offsets.stores.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.stores.topic_reader import TopicRecord
from airflow_provider_connect_offsets.stores.topic_storage import TopicStorage


@dataclass(slots=True)
class Left:
    """What one connector has left: how much, when it was last written, and the last value."""

    partitions: int = 0
    size: int = 0
    last: TopicRecord | None = None

    def add(self, record: TopicRecord) -> None:
        """Count a record."""
        self.partitions += 1
        self.size += len(record.key) + len(record.value or b"")
        if self.last is None or record.timestamp_ms >= self.last.timestamp_ms:
            self.last = record


def show(opened: Opened, *, connectors: frozenset[str], remove: bool, backup: Path | None) -> None:
    """List what connectors that don't exist have left in the workers' topic; with ``remove`` write tombstones.

    Raises :class:`InvalidInput` for a standalone worker, which keeps no list of connectors, and store errors.
    """
    storage = opened.storage
    if not isinstance(storage, TopicStorage):
        raise InvalidInput(
            f"{opened.name}: a standalone worker keeps no list of connectors to compare its offsets with."
        )
    left = _left_behind(opened, storage)
    found = {name: left[name] for name in sorted(left) if not connectors or name in connectors}
    _print(found)
    if remove and found:
        changes = [
            importing.Change(name, before, before.removed()) for name, before in storage.read_all() if name in found
        ]
        tell(f"The offsets of before are kept in {importing.keep_before(changes, backup)}: import that to undo this.")
        importing.write(opened, changes)
        tell(f"Removed from {opened.name}, and read back.")


def _left_behind(opened: Opened, storage: TopicStorage) -> dict[str, Left]:
    existing = opened.control.configured()
    last: dict[bytes, TopicRecord] = {}
    with (
        progress_bar(f"Reading {opened.name}") as progress,
        OffsetsTopic(storage.where.client, storage.where.offsets_topic) as topic,
    ):
        for record in topic.records(progress):
            last[record.key] = record
    left: dict[str, Left] = {}
    for record in last.values():
        key = parse_key(record.key)
        if key is not None and record.value is not None and key.connector not in existing:
            left.setdefault(key.connector, Left()).add(record)
    return left


def _print(found: dict[str, Left]) -> None:
    table = Table("connector", "partitions", "bytes", "last written", "last value")
    for name, left in found.items():
        last = left.last
        written = datetime.fromtimestamp(last.timestamp_ms / 1000, tz=UTC).isoformat(timespec="seconds") if last else ""
        value = (last.value or b"").decode(errors="replace") if last else ""
        table.add_row(name, f"{left.partitions:,}", f"{left.size:,}", written, value)
    if found:
        Console().print(table)
    tell(f"Left by what no longer exists: offsets of {counted(len(found), 'connector')}.")
