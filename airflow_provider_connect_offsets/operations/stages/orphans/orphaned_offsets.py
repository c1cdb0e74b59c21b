"""Offsets whose connector is gone: their snapshot, and their removal, verified by reading back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import cast

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.connect.storage.storage_control import StorageControl
from airflow_provider_connect_offsets.exceptions import InvalidDocument, InvalidInput, PlanRefused
from airflow_provider_connect_offsets.kafka.topic_reader import TopicRecord
from airflow_provider_connect_offsets.observe.stored_records import has_offset, moment_of, stored_rows
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_document, parse_kip199
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.requests.orphans import Orphan, OrphanRequest
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets, parse_key
from airflow_provider_connect_offsets.words import join_first, quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS, STORED_RECORDS

Exist = Callable[[], Iterable[str]]
Keep = Callable[[Mapping[str, Offsets]], object]

NAMED = 5
_EXISTS = "it exists again"
_WRITTEN = "one of its offsets was written after the search"
_UNREADABLE = "one of its offsets can't be read, so the removal could not be undone"
_CREATED_AGAIN = "it was created again while its offsets were removed, so check where it resumed"
_STORED = "the topic still has one of its offsets after the tombstones"

# The last record of a key in each partition of the topic that has one; usually that is one partition.
LastRecords = dict[int, TopicRecord]


def take_orphan_snapshot(
    request: OrphanRequest, connect: ConnectRest, topic: OffsetsTopic, directory: OrphansDirectory
) -> int:
    """Write ``request.json``, the dataset ``stored_records`` and ``known.json``; changes nothing.

    Returns:
        How many records the topic has.

    Raises:
        InvalidInput: The topic does not exist, or is not in the worker's Kafka cluster: every offset would look
            orphaned.
        StoreError: A system does not answer, or refuses.
    """
    _refuse_other_cluster(connect, topic)
    files.write_json(directory.request, request.as_json())
    count = write_dataset(directory.stored_records, STORED_RECORDS, stored_rows(topic.topic, topic.records()))
    # After the records, so that connectors which were created meanwhile are known.
    known = {"connectors": connect.connectors(), "observed_at": datetime.now(tz=UTC).isoformat()}
    files.write_json(directory.known, known)
    return count


@dataclass(frozen=True, slots=True)
class Removal(JsonRecord):
    """Which orphaned offsets were removed, written to ``outcome.json`` for the report.

    Attributes:
        digest: Digest of the approved orphans.
        removed: Connectors whose offsets were removed.
        partitions: How many source partitions these had.
        left: Connector → why its offsets were left.
        finished_at: When it ended.
    """

    digest: str
    removed: tuple[str, ...]
    partitions: int
    left: Mapping[str, str]
    finished_at: datetime

    def sentence(self, topic: str, *, kept: str) -> str:
        """Describe what was removed and what was left; ``kept``: the file to import to undo it."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.left.items():
            reasons.setdefault(reason, []).append(name)
        left = " ".join(f"{_join_names(names)}: {reason}." for reason, names in reasons.items())
        count = f"{len(self.removed)} of {quantify(len(self.removed) + len(self.left), 'connector')}"
        removed = f" Removed: {_join_names(self.removed)}. To undo the removal, import {kept}." if self.removed else ""
        return (
            f"Topic {topic!r}: orphaned offsets of {count} were removed. {left}{removed} Search again to "
            "find what is still orphaned."
        )


@dataclass(slots=True)
class _Connector:
    """A connector's orphans by raw key, and why they must not be removed; None: they may be."""

    orphans: dict[bytes, Orphan] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """Connectors with orphans, the last records of all keys, and each connector's offsets for undoing the removal."""

    connectors: Mapping[str, _Connector]
    last: Mapping[bytes, LastRecords]
    documents: Mapping[str, Offsets]

    @property
    def removable_connectors(self) -> dict[str, _Connector]:
        """The connectors whose orphaned offsets may be removed."""
        return {name: one for name, one in self.connectors.items() if one.reason is None}


def lister_of(control: ConnectorControl, topic: OffsetsTopic) -> Exist:
    """Return a function that lists the existing connectors.

    Over REST it raises :class:`InvalidInput` if the worker belongs to another Kafka cluster than the topic.
    """
    if isinstance(control, StorageControl):
        return control.configured_connectors

    def exist() -> list[str]:
        _refuse_other_cluster(cast("ConnectRest", control), topic)
        return control.connectors()

    return exist


def keep_found(directory: OrphansDirectory, orphans: Sequence[Orphan]) -> str:
    """Write the dataset ``orphans`` of a run that takes no snapshot, and return the digest to approve."""
    write_dataset(directory.orphans, ORPHANS, [asdict(orphan) for orphan in orphans])
    return plan_digest(orphan.digest() for orphan in orphans)


def remove_approved(
    directory: OrphansDirectory, topic: OffsetsTopic, *, exist: Exist, digest: str, keep: Keep | None = None
) -> Removal:
    """Write a tombstone for every approved orphan, and verify that no orphan has an offset any more; may be repeated.

    First observes everything again. Keeps the removed offsets in ``removed.json``, which can be imported to undo the
    removal. Leaves a connector alone if it exists again, or if one of its offsets was written since.

    Args:
        directory: Directory of the run.
        topic: The offsets topic.
        exist: Returns the names of the connectors that exist now.
        digest: Digest of the approved orphans.
        keep: Writes the removed offsets elsewhere as well; None: nowhere else.

    Raises:
        PlanRefused: The orphans are not the approved ones; nothing was removed.
        StoreError: Some may be removed.
    """

    def keep_removed(documents: Mapping[str, Offsets]) -> None:
        if keep is not None:
            keep(documents)
        _keep_removed(directory, documents)

    judged = _judge_all(read_approved(directory, digest), topic, exist=exist)
    _remove(judged, topic, exist=exist, keep=keep_removed)
    removed = judged.removable_connectors
    removal = Removal(
        digest,
        removed=tuple(sorted(removed)),
        partitions=sum(len(one.orphans) for one in removed.values()),
        left={name: one.reason for name, one in sorted(judged.connectors.items()) if one.reason is not None},
        finished_at=datetime.now(tz=UTC),
    )
    files.write_json(directory.outcome, removal.as_json())
    return removal


def count_left(directory: OrphansDirectory, topic: OffsetsTopic, *, exist: Exist, digest: str) -> int | None:
    """Count the approved offsets that are stored and still orphaned; None if no tombstone can have been written.

    Raises as :func:`remove_approved`.
    """
    if files.read_json_if_any(directory.removed) is None:
        return None
    judged = _judge_all(read_approved(directory, digest), topic, exist=exist)
    return sum(
        len(_with_offset(judged.last, key)) for one in judged.removable_connectors.values() for key in one.orphans
    )


def _remove(judged: _Judged, topic: OffsetsTopic, *, exist: Exist, keep: Keep) -> None:
    """Remove what may be removed, and set the reasons of connectors that still have an offset then."""
    removable = judged.removable_connectors
    if not removable:
        return
    keep({name: judged.documents[name] for name in removable})  # before the first tombstone
    stored = {key: _with_offset(judged.last, key) for one in removable.values() for key in one.orphans}
    topic.remove_keys(stored, whose=", ".join(sorted(removable)[:NAMED]))
    _prove(removable, last=_read_last_records(topic), exist=set(exist()))


def _judge_all(orphans: Iterable[Orphan], topic: OffsetsTopic, *, exist: Exist) -> _Judged:
    """Observe everything once more, and set the reasons to leave connectors alone."""
    connectors: dict[str, _Connector] = {}
    for orphan in orphans:
        connectors.setdefault(orphan.connector, _Connector()).orphans[orphan.raw_key] = orphan
    last = _read_last_records(topic)
    existing = set(exist())
    documents = {name: _judge(name, one, last, existing) for name, one in connectors.items()}
    _judge_others(connectors, last)
    return _Judged(connectors, last, documents)


def read_approved(directory: OrphansDirectory, digest: str) -> list[Orphan]:
    """Read the approved orphans; raises :class:`PlanRefused` if they have another digest."""
    orphans = [Orphan(**row) for row in iterate_dataset(directory.orphans, ORPHANS)]
    stored = plan_digest(orphan.digest() for orphan in orphans)
    if stored != digest:
        raise PlanRefused(
            f"Nothing was removed. The orphaned offsets in {directory.uri} are not the approved ones: their "
            f"digest is {stored}, not {digest}. Search again."
        )
    return orphans


def _refuse_other_cluster(connect: ConnectRest, topic: OffsetsTopic) -> None:
    of_worker, of_topic = connect.version().kafka_cluster_id, topic.cluster_id()
    if of_worker != of_topic:
        raise InvalidInput(
            f"Nothing was read or removed. The Connect worker uses Kafka cluster {of_worker!r}, but {topic.servers} "
            f"is cluster {of_topic!r}, where all offsets would look orphaned. Set kafka_conn_id to the worker's "
            "cluster."
        )


def _read_last_records(topic: OffsetsTopic) -> dict[bytes, LastRecords]:
    last: dict[bytes, LastRecords] = {}
    for record in topic.records():
        last.setdefault(record.key, {})[record.partition] = record
    return last


def _with_offset(last: Mapping[bytes, LastRecords], key: bytes) -> list[int]:
    """Return the partitions whose last record of ``key`` stores an offset."""
    return [number for number, record in last.get(key, {}).items() if has_offset(record)]


def _judge(name: str, one: _Connector, last: Mapping[bytes, LastRecords], exist: set[str]) -> Offsets:
    """Set the reason to leave a connector alone, if there is one; returns its offsets for undoing the removal."""
    offsets = Offsets()
    try:
        offsets = StoredOffsets({key: orphan.offset.encode() for key, orphan in one.orphans.items()}).offsets_of(name)
    except InvalidDocument:
        one.reason = _UNREADABLE
    if {key and key.connector for key in map(parse_key, one.orphans)} != {name}:
        one.reason = _UNREADABLE
    if any(_is_newer(record, orphan) for key, orphan in one.orphans.items() for record in last.get(key, {}).values()):
        one.reason = _WRITTEN
    if name in exist:
        one.reason = _EXISTS
    return offsets


def _is_newer(record: TopicRecord, orphan: Orphan) -> bool:
    """Whether an offset was written after the orphan; tombstones don't count, as an earlier attempt writes them."""
    if not has_offset(record):
        return False
    if record.partition == orphan.kafka_partition:
        return record.offset > orphan.log_offset
    return moment_of(record.timestamp_ms) > orphan.written_at


def _judge_others(connectors: Mapping[str, _Connector], last: Mapping[bytes, LastRecords]) -> None:
    """Leave connectors alone that have an offset under a key which is not among the orphans."""
    known = {key for one in connectors.values() for key in one.orphans}
    for raw, records in last.items():
        newest = max(records.values(), key=lambda record: (record.timestamp_ms, record.partition))
        if raw in known or not has_offset(newest):
            continue
        key = parse_key(raw)
        if key is not None and key.connector in connectors and connectors[key.connector].reason is None:
            connectors[key.connector].reason = _WRITTEN


def _keep_removed(directory: OrphansDirectory, documents: Mapping[str, Offsets]) -> None:
    """Write what is about to be removed; offsets of an earlier attempt stay, as it may have removed them."""
    before = parse_kip199(files.read_json_if_any(directory.removed) or {})
    files.write_bytes(directory.removed, kip199_document({**before, **documents}).encode())


def _prove(removed: Mapping[str, _Connector], *, last: Mapping[bytes, LastRecords], exist: set[str]) -> None:
    """Set the reason of connectors that still have an offset, or were created again meanwhile."""
    for name, one in removed.items():
        if name in exist:
            one.reason = _CREATED_AGAIN
        elif any(_with_offset(last, key) for key in one.orphans):
            one.reason = _STORED


def _join_names(names: Iterable[str]) -> str:
    return join_first([repr(name) for name in sorted(names)], NAMED)
