"""Restore a snapshot: read it back whole, check that it still fits, and make a request of it for each connector."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidInput, InvalidRequest
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.snapshot import ObservedConnector, observe_connectors
from airflow_provider_connect_offsets.offsets.kept_config import kept_config
from airflow_provider_connect_offsets.offsets.requests.patterns import typed_pattern
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.fleet import select
from airflow_provider_connect_offsets.words import join_first, quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS, dataset_schema
from airflow_provider_connect_offsets.workspace.series import read_record
from airflow_provider_connect_offsets.workspace.snapshots import ComparisonDirectory, KeptSnapshot, SnapshotDirectory

#: What the plans restore; an offset that is null is removed.
RESTORED_OFFSETS = dataset_schema("restored_offsets", connector="string", partition="string", offset="string?")
_NAMED = 10
_ALIAS = "source.cluster.alias"


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot as it was read back.

    Attributes:
        uri: Its directory.
        cluster: Id of the Kafka cluster of its Connect cluster.
        connectors: Connector → its row of dataset ``connectors``.
        offsets: Connector → partition → offset, without partitions that had none.
        unread: Connectors whose offsets could not be read when it was taken.
    """

    uri: str
    cluster: str
    connectors: Mapping[str, Mapping[str, Any]]
    offsets: Mapping[str, Mapping[str, str]]
    unread: Sequence[str]


@dataclass(frozen=True, slots=True)
class SnapshotRestore:
    """What is to be restored.

    Attributes:
        requests: A request for each connector.
        notes: Paragraphs for the approver about all other connectors.
        observed: The connectors as they are now.
    """

    requests: tuple[Request, ...]
    notes: tuple[str, ...]
    observed: Mapping[str, ObservedConnector]


def read_snapshot(uri: str) -> StoredSnapshot:
    """Read a kept snapshot, a run's snapshot, or the state that a change observed before it planned.

    Raises:
        InvalidInput: There is no complete snapshot, or it has another format version.
        DatasetError: It is damaged.
    """
    pointer = files.read_json_if_any(ComparisonDirectory(uri.rstrip("/")).kept)
    snapshot = SnapshotDirectory(uri.rstrip("/") if pointer is None else KeptSnapshot.from_json(pointer).uri)
    record = read_record(snapshot) if files.exists(snapshot.record) else None
    # The remains of a snapshot that was removed have neither; they must not pass for the whole snapshot.
    if record is None and not any(map(files.exists, (snapshot.request, FleetDirectory(snapshot.uri).listing))):
        raise InvalidInput(
            f"snapshot_uri: {snapshot.uri} has no complete snapshot (snapshot.json is missing). Nothing was changed."
        )
    connectors = {row["connector"]: row for row in read_dataset(snapshot.connectors, CONNECTORS)}
    rows = read_dataset(snapshot.connector_offsets, CONNECTOR_OFFSETS)
    if record is not None and (record.connectors, record.offsets) != (len(connectors), len(rows)):
        raise InvalidInput(
            f"snapshot_uri: {snapshot.uri} is damaged. It has {quantify(len(rows), 'offset')} of "
            f"{quantify(len(connectors), 'connector')}, but was written with {record.offsets} of {record.connectors}. "
            "Nothing was changed."
        )
    if not connectors:
        raise InvalidInput(f"snapshot_uri: {snapshot.uri} has no connectors. Nothing was changed.")
    offsets: dict[str, dict[str, str]] = {name: {} for name in connectors}
    for row in rows:
        if row["offset"] is not None:
            offsets[row["connector"]][row["partition"]] = row["offset"]
    cluster = next(iter(connectors.values()))["connect_cluster"]
    return StoredSnapshot(snapshot.uri, cluster, connectors, offsets, () if record is None else tuple(record.unread))


def restore_of(
    snapshot: StoredSnapshot, pattern: str, clients: Clients, fleet: FleetDirectory, *, clear_new: bool, now: datetime
) -> SnapshotRestore:
    """Write the offsets to restore under ``fleet``, and return a request for each connector; changes nothing else.

    Args:
        snapshot: The snapshot.
        pattern: Pattern for whole names of its connectors.
        clients: Clients of the Connect cluster.
        fleet: The directory of the restore.
        clear_new: Whether partitions that have an offset now and had none then are cleared; else they stay.
        now: The time of the requests.

    Raises:
        InvalidRequest: The snapshot is of another cluster, nothing is selected, or a connector has changed so that the
            offsets in the snapshot mean something else.
        StoreError: Connect does not answer, or refuses.
    """
    if snapshot.cluster != clients.cluster:
        raise InvalidRequest(
            f"snapshot_uri: {snapshot.uri} is of a Connect cluster on Kafka cluster {snapshot.cluster}, but "
            f"connect_conn_id leads to a Connect cluster on Kafka cluster {clients.cluster}. Nothing was changed."
        )
    selected = select(snapshot.connectors, pattern)
    existing = set(clients.control.connectors())
    observed = observe_connectors([name for name in selected if name in existing], clients)
    known = {name: one.info for name, one in observed.items()}
    _refuse_changed(snapshot, known)
    restored, new, empty = {}, [], []
    for name in known:
        then = snapshot.offsets[name]
        since = sorted(observed[name].offsets.by_partition().keys() - then.keys())
        new += [f"{name} ({len(since)})"] if since else []
        changes: dict[str, str | None] = {**then, **(dict.fromkeys(since) if clear_new else {})}
        if changes:
            restored[name] = changes
        else:
            empty.append(name)
    fate = "is removed (clear_new is true)" if clear_new else "stays (clear_new is false)"
    notes = _notes(
        {
            "Not restored, because they no longer exist": [name for name in selected if name not in known],
            "Not restored, because the snapshot could not read their offsets": _matching_names(
                snapshot.unread, pattern
            ),
            "Left unchanged, because they had no offsets in the snapshot": empty,
            "Read other topics now than at the snapshot": [
                name for name, info in known.items() if _reads_other(snapshot, info)
            ],
            f"Partitions that had no offset in the snapshot, and whose present offset {fate}": new,
        }
    )
    if not restored:
        raise InvalidRequest(f"There is nothing to restore from {snapshot.uri}. {' '.join(notes)}")
    uri = join(fleet.uri, RESTORED_OFFSETS.name)
    write_dataset(uri, RESTORED_OFFSETS, _rows(restored))
    requests = tuple(Request.parse(connector=name, to=To.FILE, value=uri, now=now) for name in restored)
    return SnapshotRestore(requests, notes, observed)


def _rows(restored: Mapping[str, Mapping[str, str | None]]) -> Iterator[dict[str, str | None]]:
    for name, changes in restored.items():
        for partition, offset in changes.items():
            yield {"connector": name, "partition": partition, "offset": offset}


def _refuse_changed(snapshot: StoredSnapshot, known: Mapping[str, ConnectorInfo]) -> None:
    """Raise :class:`InvalidRequest` if a connector had another class or source cluster in the snapshot."""
    changed = []
    for name, info in known.items():
        then, settings = snapshot.connectors[name], kept_config(info.config)
        if then["connector_class"] != info.connector_class:
            changed.append(f"{name} was a {then['connector_class']}, and is a {info.connector_class} now")
        elif (alias := _config(then).get(_ALIAS)) != settings.get(_ALIAS):
            changed.append(f"{name} read cluster {alias!r}, and reads cluster {settings.get(_ALIAS)!r} now")
    if changed:
        raise InvalidRequest(
            "Nothing was changed, because these connectors can't use the offsets of the snapshot: "
            f"{join_first(changed, _NAMED, separator='; ')}. To restore the others, select them with connectors."
        )


def _notes(named: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(f"{what}: {join_first(names, _NAMED)}." for what, names in named.items() if names)


def _matching_names(names: Sequence[str], pattern: str) -> list[str]:
    requested = typed_pattern(pattern, param="connectors")
    return [name for name in names if requested.matches(name)]


def _reads_other(snapshot: StoredSnapshot, info: ConnectorInfo) -> bool:
    """Whether the configuration selects other topics than at the time of the snapshot."""
    then, now = _config(snapshot.connectors[info.name]), kept_config(info.config)
    consumed, excluded = info.family.consumed_topics, info.family.excluded_topics
    return (consumed(then), excluded(then)) != (consumed(now), excluded(now))


def _config(row: Mapping[str, Any]) -> Mapping[str, str]:
    settings: Mapping[str, str] = json.loads(row["config"])
    return settings
