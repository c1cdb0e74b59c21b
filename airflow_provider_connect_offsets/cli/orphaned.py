"""Orphans: offsets that deleted connectors have left behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from pathlib import Path

from rich.console import Console
from rich.table import Table

from airflow_provider_connect_offsets.change.import_stages import Change
from airflow_provider_connect_offsets.change.stored_records import moment_of
from airflow_provider_connect_offsets.cli import importing
from airflow_provider_connect_offsets.cli.opened import Opened
from airflow_provider_connect_offsets.cli.told import counted, progress_bar, tell
from airflow_provider_connect_offsets.exceptions import InvalidInput, LeftStopped, NotRemoved, StoreError
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.orphans import Orphan
from airflow_provider_connect_offsets.offsets.storage import parse_key
from airflow_provider_connect_offsets.stores.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.stores.topic_reader import Progress, TopicRecord
from airflow_provider_connect_offsets.stores.topic_storage import TopicStorage

Found = Mapping[str, list[Orphan]]


def show(opened: Opened, *, connectors: frozenset[str], remove: bool, backup: Path | None) -> None:
    """List what connectors that don't exist have left in the workers' topic; with ``remove`` write tombstones.

    Before that all is looked at again, as the DAG does. Raises :class:`InvalidInput` where nothing says which
    connectors exist, :class:`NotRemoved` where some were left alone, :class:`LeftStopped` where it is not known how
    many were removed, and store errors.
    """
    storage = opened.storage
    if not isinstance(storage, TopicStorage):
        raise InvalidInput(
            f"{opened.name}: a standalone worker keeps no list of connectors to compare its offsets with."
        )
    if not storage.where.config_topic:
        raise InvalidInput(
            f"{opened.config.path}: config.storage.topic is not set, so nobody can tell which connectors exist, and "
            "all offsets would look orphaned."
        )
    with OffsetsTopic(storage.where.client, storage.where.offsets_topic) as topic:
        with progress_bar(f"Reading {opened.name}") as progress:
            orphans = _search(opened, topic, progress)
        found = {name: orphans[name] for name in sorted(orphans) if not connectors or name in connectors}
        _print(found)
        if remove and found:
            _remove(opened, topic, [one for left in found.values() for one in left], backup)


def _remove(opened: Opened, topic: OffsetsTopic, orphans: Iterable[Orphan], backup: Path | None) -> None:
    from airflow_provider_connect_offsets.change.orphans import remove_found  # noqa: PLC0415 - a list needs none of it

    kept: list[Path] = []

    def keep(documents: Mapping[str, Offsets]) -> None:
        changes = [Change(name, before, before.removed()) for name, before in documents.items()]
        kept.append(importing.keep_before(changes, backup))
        tell(f"The offsets of before are kept in {kept[0]}: import that to undo this.")

    try:
        removed = remove_found(orphans, topic, exist=opened.control.configured, keep=keep)
    except StoreError as error:
        if not kept:
            raise
        raise LeftStopped(
            f"{error} Some of the offsets may be removed. Run this again, or import {kept[0]} to undo it."
        ) from error
    if removed.left:
        raise NotRemoved(removed.sentence(topic.topic, kept=str(kept[0]) if kept else ""))
    tell(f"Removed from {opened.name}, and read back.")


def _search(opened: Opened, topic: OffsetsTopic, progress: Progress | None) -> Found:
    """What each connector that doesn't exist has left: the last offset of each key."""
    last: dict[bytes, TopicRecord] = {}
    for record in topic.records(progress):
        before = last.get(record.key)
        if before is None or before.partition == record.partition or _order(record) >= _order(before):
            last[record.key] = record
    # After the records: whatever connector was created meanwhile is known then.
    existing = opened.control.configured()
    left: dict[str, list[Orphan]] = {}
    for orphan in _orphans(topic.topic, last.values()):
        if orphan.connector not in existing:
            left.setdefault(orphan.connector, []).append(orphan)
    return left


def _order(record: TopicRecord) -> tuple[int, int]:
    return record.timestamp_ms, record.partition


def _orphans(topic: str, records: Iterable[TopicRecord]) -> Iterator[Orphan]:
    for record in records:
        key = parse_key(record.key)
        if key is not None and record.value not in (None, b"null"):
            value = record.value or b""
            yield Orphan(
                connector=key.connector,
                partition=key.partition,
                offset=value.decode(errors="replace"),
                topic=topic,
                kafka_partition=record.partition,
                log_offset=record.offset,
                written_at=moment_of(record.timestamp_ms),
                size_bytes=len(record.key) + len(value),
                raw_key=record.key,
            )


def _print(found: Found) -> None:
    table = Table("connector", "partitions", "bytes", "last written", "last value")
    for name, left in found.items():
        last = max(left, key=lambda one: one.written_at)
        size = sum(one.size_bytes for one in left)
        written = last.written_at.astimezone(UTC).isoformat(timespec="seconds")
        table.add_row(name, f"{len(left):,}", f"{size:,}", written, last.offset)
    if found:
        Console().print(table)
    tell(f"Left by what no longer exists: offsets of {counted(len(found), 'connector')}.")
