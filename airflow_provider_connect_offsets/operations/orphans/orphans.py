"""Offsets whose connector is gone: the snapshot in which they are found, and their removal, proved by reading back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.exceptions import InvalidDocument, InvalidInput, PlanRefused
from airflow_provider_connect_offsets.kafka.topic_reader import TopicRecord
from airflow_provider_connect_offsets.observe.stored_records import moment_of, stored_rows
from airflow_provider_connect_offsets.offsets.document import Offsets, kip199_document, parse_kip199
from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.requests.orphans import Orphan, OrphanRequest
from airflow_provider_connect_offsets.offsets.storage import StoredOffsets, parse_key
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.layout import OrphansDirectory
from airflow_provider_connect_offsets.workspace.schemas import ORPHANS, STORED_RECORDS

Exist = Callable[[], Iterable[str]]
Keep = Callable[[Mapping[str, Offsets]], object]

NAMED = 5
_EXISTS = "it exists again"
_WRITTEN = "an offset of it was written since"
_NO_WAY_BACK = "an offset of it can't be read, so there would be no way back"
_CAME_BACK = "it was created again while its offsets were removed, so check where it resumed"
_STANDS = "after its tombstones an offset of it stands in the topic"

# The last record of a key in each partition of the topic that has one; mostly that is one partition.
Places = dict[int, TopicRecord]


def take_orphan_snapshot(
    request: OrphanRequest, connect: ConnectRest, topic: OffsetsTopic, directory: OrphansDirectory
) -> int:
    """Write ``request.json``, ``stored_records`` and ``known.json``; gives how many records there are. Changes nothing.

    Raises :class:`InvalidInput` where the topic is not there, or lies in another Kafka than the worker's: every offset
    would look orphaned.
    """
    _refuse_other_cluster(connect, topic)
    files.write_json(directory.request, request.as_json())
    count = write_dataset(directory.stored_records, STORED_RECORDS, stored_rows(topic.topic, topic.records()))
    # After the records: whatever connector was created meanwhile is known then.
    known = {"connectors": connect.connectors(), "observed_at": datetime.now(tz=UTC).isoformat()}
    files.write_json(directory.known, known)
    return count


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of the orphaned offsets of ``digest``."""

    digest: str
    removed: Removed
    finished_at: datetime

    def as_json(self) -> dict[str, Any]:
        """Write it for the page."""
        return {
            "digest": self.digest,
            "removed": list(self.removed.connectors),
            "partitions": self.removed.partitions,
            "left": dict(self.removed.left),
            "finished_at": self.finished_at.isoformat(timespec="milliseconds"),
        }


@dataclass(frozen=True, slots=True)
class Removed:
    """Whose orphaned offsets were removed, of how many partitions, and who was left alone, and why."""

    connectors: tuple[str, ...]
    partitions: int
    left: Mapping[str, str]

    def sentence(self, topic: str, *, kept: str) -> str:
        """Say what became of them; ``kept``: where the removed ones were kept."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.left.items():
            reasons.setdefault(reason, []).append(name)
        told = " ".join(f"{_some(names)}: {reason}." for reason, names in reasons.items())
        count = f"{len(self.connectors)} of {len(self.connectors) + len(self.left)}"
        back = f" Removed: {_some(self.connectors)}; the way back is {kept}." if self.connectors else ""
        return (
            f"Topic {topic!r}: orphaned offsets of {count} connectors were removed. {told}{back} Search again for what "
            "is still orphaned."
        )


@dataclass(slots=True)
class _Connector:
    """A connector's orphans by raw key, and why they must not be removed, where that is so."""

    orphans: dict[bytes, Orphan] = field(default_factory=dict)
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """Connectors whose offsets are to be removed, where keys stand, and the way back of each connector."""

    connectors: Mapping[str, _Connector]
    places: Mapping[bytes, Places]
    documents: Mapping[str, Offsets]

    @property
    def wanted(self) -> dict[str, _Connector]:
        """Those that nothing speaks against."""
        return {name: one for name, one in self.connectors.items() if one.reason is None}


def existing_on(connect: ConnectRest, topic: OffsetsTopic) -> Exist:
    """Ask the workers which connectors exist, once they were found to belong to the topic's cluster."""

    def exist() -> list[str]:
        _refuse_other_cluster(connect, topic)
        return connect.connectors()

    return exist


def keep_found(directory: OrphansDirectory, orphans: Sequence[Orphan]) -> str:
    """Write the dataset ``orphans`` of what was found without a snapshot; gives its digest, by which it is approved."""
    write_dataset(directory.orphans, ORPHANS, [asdict(orphan) for orphan in orphans])
    return plan_digest(orphan.digest() for orphan in orphans)


def remove_approved(
    directory: OrphansDirectory, topic: OffsetsTopic, *, exist: Exist, digest: str, keep: Keep | None = None
) -> Removal:
    """Write a tombstone for every orphan, and prove that none of them is left; ``digest``: of those that were approved.

    exist: names of the connectors that exist now; keep: writes the way back, besides ``removed.json``. First everything
    is looked at once more, and what a person needs for the way back is written. A connector that exists again, or of
    which anything was written since, is left alone. Run again, it ends in the same.

    Raises :class:`PlanRefused` (nothing was removed), and store errors, after which some may be removed.
    """

    def kept(documents: Mapping[str, Offsets]) -> None:
        if keep is not None:
            keep(documents)
        _keep_way_back(directory, documents)

    removed = _remove(_approved(directory, digest), topic, exist=exist, keep=kept)
    removal = Removal(digest, removed, finished_at=datetime.now(tz=UTC))
    files.write_json(directory.outcome, removal.as_json())
    return removal


def left_to_remove(directory: OrphansDirectory, topic: OffsetsTopic, *, exist: Exist, digest: str) -> int | None:
    """How many of the approved offsets stand that are orphaned still; None where no tombstone can have been written.

    Raises as :func:`remove_approved`.
    """
    if files.read_json_if_any(directory.removed) is None:
        return None
    judged = _judged(_approved(directory, digest), topic, exist=exist)
    return sum(len(_standing(judged.places, key)) for one in judged.wanted.values() for key in one.orphans)


def _remove(orphans: Iterable[Orphan], topic: OffsetsTopic, *, exist: Exist, keep: Keep) -> Removed:
    """Look at everything once more, write a tombstone for each orphan that is still one, and prove that none is left.

    keep: writes the way back, before the first tombstone. Raises store errors, after which some may be removed: run it
    again.
    """
    judged = _judged(orphans, topic, exist=exist)
    wanted = judged.wanted
    if wanted:
        keep({name: judged.documents[name] for name in wanted})
        standing = {key: _standing(judged.places, key) for one in wanted.values() for key in one.orphans}
        topic.remove_keys(standing, whose=", ".join(sorted(wanted)[:NAMED]))
        _prove(wanted, places=_places(topic), exist=set(exist()))
    return Removed(
        connectors=tuple(sorted(name for name, one in wanted.items() if one.reason is None)),
        partitions=sum(len(one.orphans) for one in wanted.values() if one.reason is None),
        left={name: one.reason for name, one in sorted(judged.connectors.items()) if one.reason is not None},
    )


def _judged(orphans: Iterable[Orphan], topic: OffsetsTopic, *, exist: Exist) -> _Judged:
    """Look at everything once more, and set the reasons to leave connectors alone."""
    connectors: dict[str, _Connector] = {}
    for orphan in orphans:
        connectors.setdefault(orphan.connector, _Connector()).orphans[orphan.raw_key] = orphan
    places = _places(topic)
    existing = set(exist())
    documents = {name: _judge(name, one, places, existing) for name, one in connectors.items()}
    _judge_others(connectors, places)
    return _Judged(connectors, places, documents)


def _approved(directory: OrphansDirectory, digest: str) -> list[Orphan]:
    orphans = [Orphan(**row) for row in iterate_dataset(directory.orphans, ORPHANS)]
    found = plan_digest(orphan.digest() for orphan in orphans)
    if found != digest:
        raise PlanRefused(
            f"Nothing was removed. The orphaned offsets in {directory.uri} are not those that were approved: their "
            f"digest is {found}, not {digest}. Search again."
        )
    return orphans


def _refuse_other_cluster(connect: ConnectRest, topic: OffsetsTopic) -> None:
    workers, found = connect.version().kafka_cluster_id, topic.cluster_id()
    if workers != found:
        raise InvalidInput(
            f"Nothing was read or removed. The Connect worker works on Kafka cluster {workers!r}, but {topic.servers} "
            f"is cluster {found!r}, where all offsets would look orphaned. Let kafka_conn_id lead to the worker's."
        )


def _places(topic: OffsetsTopic) -> dict[bytes, Places]:
    places: dict[bytes, Places] = {}
    for record in topic.records():
        places.setdefault(record.key, {})[record.partition] = record
    return places


def _has_offset(record: TopicRecord) -> bool:
    return record.value not in (None, b"null")


def _standing(places: Mapping[bytes, Places], key: bytes) -> list[int]:
    """The partitions in which an offset stands under ``key``."""
    return [number for number, record in places.get(key, {}).items() if _has_offset(record)]


def _judge(name: str, one: _Connector, places: Mapping[bytes, Places], exist: set[str]) -> Offsets:
    """Set the reason to leave a connector alone, where there is one; gives its offsets for the way back."""
    offsets = Offsets()
    try:
        offsets = StoredOffsets({key: orphan.offset.encode() for key, orphan in one.orphans.items()}).offsets_of(name)
    except InvalidDocument:
        one.reason = _NO_WAY_BACK
    owners = {key and key.connector for key in map(parse_key, one.orphans)}
    if owners != {name}:
        one.reason = _NO_WAY_BACK
    if any(_is_newer(record, orphan) for key, orphan in one.orphans.items() for record in places.get(key, {}).values()):
        one.reason = _WRITTEN
    if name in exist:
        one.reason = _EXISTS
    return offsets


def _is_newer(record: TopicRecord, orphan: Orphan) -> bool:
    """Whether an offset was written after the one that was found; a tombstone may be what an earlier attempt wrote."""
    if not _has_offset(record):
        return False
    if record.partition == orphan.kafka_partition:
        return record.offset > orphan.log_offset
    return moment_of(record.timestamp_ms) > orphan.written_at


def _judge_others(connectors: Mapping[str, _Connector], places: Mapping[bytes, Places]) -> None:
    """Leave connectors alone that have an offset under a key that was not found before."""
    found = {key for one in connectors.values() for key in one.orphans}
    for raw, standing in places.items():
        last = max(standing.values(), key=lambda record: (record.timestamp_ms, record.partition))
        if raw in found or not _has_offset(last):
            continue
        key = parse_key(raw)
        if key is not None and key.connector in connectors and connectors[key.connector].reason is None:
            connectors[key.connector].reason = _WRITTEN


def _keep_way_back(directory: OrphansDirectory, documents: Mapping[str, Offsets]) -> None:
    """Write what is about to be removed; what an earlier attempt wrote stays, as it may have removed it."""
    before = parse_kip199(files.read_json_if_any(directory.removed) or {})
    files.write_bytes(directory.removed, kip199_document({**before, **documents}).encode())


def _prove(wanted: Mapping[str, _Connector], *, places: Mapping[bytes, Places], exist: set[str]) -> None:
    """Set the reason of connectors of which anything is left, or that came back meanwhile."""
    for name, one in wanted.items():
        if name in exist:
            one.reason = _CAME_BACK
        elif any(_standing(places, key) for key in one.orphans):
            one.reason = _STANDS


def _some(names: Iterable[str]) -> str:
    there = sorted(names)
    more = f" and {len(there) - NAMED} more" if len(there) > NAMED else ""
    return ", ".join(map(repr, there[:NAMED])) + more
