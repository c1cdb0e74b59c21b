"""Keeps the records on which a sink has failed, before any of them is skipped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.kafka.topic_reader import FullRecord
from airflow_provider_connect_offsets.observe.failed_records import FailedRecord, Place, Way
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.datasets import read_newest, remove_older, write_newest
from airflow_provider_connect_offsets.workspace.files import exists, list_names
from airflow_provider_connect_offsets.workspace.layout import PoisonDirectory
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.schemas import POISON_RECORDS

# Columns that show what a record holds.
_CONTENT = ("key", "value", "headers", "message")


@dataclass(frozen=True, slots=True)
class KeptRecords:
    """The records of one run, as datasets ``poison_records``.

    Attributes:
        directory: The run's directory.
        connector: The sink.
        content: Whether key, value, headers and the error's message are kept; else only sizes and a digest.
    """

    directory: PoisonDirectory
    connector: str
    content: bool = True

    def rows(self) -> list[dict[str, Any]]:
        """Read what was kept so far; raises :class:`DatasetError`."""
        return read_newest(self.directory.poison_records, POISON_RECORDS) or []

    def add(self, records: Iterable[FailedRecord]) -> None:
        """Make records durable; a record that was kept before stays as it was."""
        rows = self.rows()
        known = {_place(row) for row in rows}
        added = [self._row(one) for one in records if one.place not in known]
        if added:
            write_newest(self.directory.poison_records, POISON_RECORDS, [*rows, *added])

    def read_found(self) -> list[FailedRecord]:
        """Return the records that an earlier task of the run has found, without their content."""
        return [
            FailedRecord(
                FullRecord(TopicPartition(row["topic"], row["kafka_partition"]), row["offset"], 0, None, None),
                row["position"],
                passed=0,
                way=Way(row["way"]),
                why=row["why"],
            )
            for row in self.rows()
            if row["connector"] == self.connector
        ]

    def passed_places(self, positions: Mapping[TopicPartition, int | None]) -> list[Place]:
        """Return the places of kept records that lie before the positions: they were skipped."""
        return [one.place for one in self.read_found() if (positions.get(one.record.where) or 0) > one.record.offset]

    def _row(self, failed: FailedRecord) -> dict[str, Any]:
        record = failed.record
        sizes = {"key_size": _size(record.key), "value_size": _size(record.value), "headers_count": len(record.headers)}
        content = {
            "key": record.key,
            "value": record.value,
            "headers": _headers(record),
            "message": failed.message or None,
        }
        return {
            "connector": self.connector,
            "topic": record.where.topic,
            "kafka_partition": record.where.partition,
            "offset": record.offset,
            "written_at": datetime.fromtimestamp(max(record.timestamp_ms, 0) / 1000, tz=UTC),  # -1: it has none
            "position": failed.position,
            "way": failed.way.value,
            "why": failed.why,
            **sizes,
            "digest": _digest(record),
            **(content if self.content else {}),
            "kept_at": datetime.now(tz=UTC),
        }


def forget_content(dag: str, *, before: datetime) -> Iterator[PoisonDirectory]:
    """Remove the content of records that runs of a DAG kept, and yield each run's directory: its report is outdated.

    The place of each record, its sizes and its digest stay. Earlier datasets are removed only after the caller has
    written the report again: if the process dies in between, the next one finds them.

    Args:
        dag: URI of the DAG's directory.
        before: Content that was kept before this time is removed.

    Raises:
        DatasetError: A dataset is damaged.
        WorkspaceUnwritable, WorkspaceUnreadable: It can't be replaced, or read.
    """
    for directory in _directories(dag):
        kept = read_newest(directory.poison_records, POISON_RECORDS) or []
        outdated = [row for row in kept if row["kept_at"] < before and any(row[name] is not None for name in _CONTENT)]
        if outdated:
            cleared = [{**row, **(dict.fromkeys(_CONTENT) if row in outdated else {})} for row in kept]
            write_newest(directory.poison_records, POISON_RECORDS, cleared)
        is_over = all(row["kept_at"] < before for row in kept)
        if outdated or (is_over and len(list_names(directory.poison_records)) > 1):
            yield directory
            remove_older(directory.poison_records)


def _directories(dag: str) -> Iterator[PoisonDirectory]:
    """Yield the directories of runs, and of their parts, that have kept records."""
    for run in (join(dag, name) for name in list_names(dag)):
        names = list_names(run)
        for uri in [run, *(join(run, name) for name in names)]:
            directory = PoisonDirectory(uri)
            if exists(directory.poison_records):
                yield directory


def _place(row: Mapping[str, Any]) -> Place:
    return row["topic"], row["kafka_partition"], row["offset"]


def _size(content: bytes | None) -> int | None:
    return None if content is None else len(content)


def _headers(record: FullRecord) -> str:
    pairs = [[name, None if value is None else base64.b64encode(value).decode()] for name, value in record.headers]
    return json.dumps(pairs, separators=(",", ":"))


def _digest(record: FullRecord) -> str:
    digest = hashlib.sha256()
    for part in (record.key, record.value):
        digest.update(b"-" if part is None else b"%d:%b" % (len(part), part))
    return digest.hexdigest()
