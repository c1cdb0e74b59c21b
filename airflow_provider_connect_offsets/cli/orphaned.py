"""Orphans: lists offsets whose connector is gone, and removes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC
from pathlib import Path
from uuid import uuid4

from rich.console import Console
from rich.table import Table

from airflow_provider_connect_offsets.cli import importing
from airflow_provider_connect_offsets.cli.journals import own_workspace, shell_owner
from airflow_provider_connect_offsets.cli.messages import progress_bar, tell
from airflow_provider_connect_offsets.cli.opened import WorkerStorage
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.connect.storage.topic_storage import TopicStorage
from airflow_provider_connect_offsets.exceptions import InvalidInput, LeftStopped, StoreError
from airflow_provider_connect_offsets.kafka.topic_reader import Progress, TopicRecord
from airflow_provider_connect_offsets.observe.stored_records import has_offset, moment_of
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.requests.orphans import Orphan
from airflow_provider_connect_offsets.offsets.storage import parse_key
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.paths import join

Orphans = Mapping[str, list[Orphan]]


def show(
    opened: WorkerStorage, *, connectors: frozenset[str], remove: bool, backup: Path | None, workspace: str | None
) -> None:
    """List orphaned offsets of the workers' topic, and remove them if requested.

    Args:
        opened: The workers' storage.
        connectors: Which connectors; empty: all.
        remove: True to write tombstones, after everything was observed once more, as the DAG does.
        backup: File for the removed offsets; None: a new file in this directory.
        workspace: URI of the workspace whose journals the removal uses; None: this user's own.

    Raises:
        InvalidInput: The worker's properties do not name a list of connectors.
        NotRemoved: Some offsets are still stored.
        LeftStopped: It is unknown how many were removed.
        StoreError: A system does not answer, or refuses.
    """
    storage = opened.storage
    if not isinstance(storage, TopicStorage):
        raise InvalidInput(
            f"Can't find orphaned offsets in {opened.name}: a standalone worker stores no list of connectors to "
            "compare them with."
        )
    if not storage.where.config_topic:
        raise InvalidInput(
            f"{opened.config.path}: config.storage.topic is not set, so it is unknown which connectors exist, and "
            "all offsets would look orphaned."
        )
    with OffsetsTopic(storage.where.client, storage.where.offsets_topic) as topic:
        workspace = workspace or own_workspace()
        if remove:
            _finish(opened, topic, workspace)
        with progress_bar(f"Reading {opened.name}") as progress:
            orphans = _search(opened, topic, progress)
        selected = {name: orphans[name] for name in sorted(orphans) if not connectors or name in connectors}
        _print(selected)
        if remove and selected:
            removed = [one for some in selected.values() for one in some]
            _remove(opened, topic, removed, backup=backup, workspace=workspace)


def _finish(opened: WorkerStorage, topic: OffsetsTopic, workspace: str) -> None:
    """Finish a removal whose process died: it may have written all tombstones, and a search would find nothing."""
    from airflow_provider_connect_offsets.operations.orphans import orphans_journal
    from airflow_provider_connect_offsets.operations.registry import make_registry
    from airflow_provider_connect_offsets.saga import settle

    clients = opened.clients(workspace, topic)
    settle(orphans_journal(clients), shell_owner("orphans --remove"), make_registry(clients))


def _remove(
    opened: WorkerStorage, topic: OffsetsTopic, orphans: Sequence[Orphan], *, backup: Path | None, workspace: str
) -> None:
    # Imported here, as a list needs none of it.
    from airflow_provider_connect_offsets.operations.orphans import remove_orphans
    from airflow_provider_connect_offsets.operations.stages.orphans.orphaned_offsets import keep_found

    target, kept = importing.backup_file(backup), list[Path]()

    def keep(documents: Mapping[str, Offsets]) -> None:
        if not kept:  # an earlier attempt of this call has kept all of them
            kept.append(importing.keep_before(documents, target))

    directory = OrphansDirectory(join(workspace, "orphans", uuid4().hex))
    digest = keep_found(directory, orphans)
    clients, owner = opened.clients(workspace, topic), shell_owner("orphans --remove")
    try:
        remove_orphans(directory, clients, owner, digest=digest, keep=keep, kept=str(target))
    except StoreError as error:
        if not kept:
            raise
        raise LeftStopped(
            f"{error} Some of the offsets may have been removed. Run this again, or import {target} to restore them."
        ) from error
    tell(f"Removed the offsets from {opened.name}, and verified that they are gone.")


def _search(opened: WorkerStorage, topic: OffsetsTopic, progress: Progress | None) -> Orphans:
    """Return the last offset of each key whose connector does not exist."""
    last: dict[bytes, TopicRecord] = {}
    for record in topic.records(progress):
        before = last.get(record.key)
        if before is None or before.partition == record.partition or _order(record) >= _order(before):
            last[record.key] = record
    # After the records, so that connectors which were created meanwhile are known.
    existing = opened.control.configured_connectors()
    orphans: dict[str, list[Orphan]] = {}
    for orphan in _offsets(topic.topic, last.values()):
        if orphan.connector not in existing:
            orphans.setdefault(orphan.connector, []).append(orphan)
    return orphans


def _order(record: TopicRecord) -> tuple[int, int]:
    return record.timestamp_ms, record.partition


def _offsets(topic: str, records: Iterable[TopicRecord]) -> Iterator[Orphan]:
    for record in records:
        key = parse_key(record.key)
        if key is not None and has_offset(record):
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


def _print(orphans: Orphans) -> None:
    table = Table("connector", "partitions", "bytes", "last written", "last value")
    for name, some in orphans.items():
        last = max(some, key=lambda one: one.written_at)
        size = sum(one.size_bytes for one in some)
        written = last.written_at.astimezone(UTC).isoformat(timespec="seconds")
        table.add_row(name, f"{len(some):,}", f"{size:,}", written, last.offset)
    if orphans:
        Console().print(table)
    tell(f"Orphaned: offsets of {quantify(len(orphans), 'deleted connector')}.")
