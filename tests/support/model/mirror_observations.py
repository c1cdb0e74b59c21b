"""Observations of made-up worlds as failovers and readiness runs write them.

World ``i`` is topic ``str(i)``, partition 0; of each world the group ``g<position>`` is at that position, and has
the checkpoint that the world has of a group which stood there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    FLOW_TOPICS,
    KEPT_MAPPINGS,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    REMAINING,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.paths import MARKER, join
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import (
    CONNECTOR_OFFSETS,
    CONNECTORS,
    GROUP_OFFSETS,
    LOG_BOUNDS,
    STORED_RECORDS,
)
from tests.support.model.mirror_compared import digest_of
from tests.support.model.mirror_rows import NOON, ReadFrom, partition_row, proved
from tests.support.model.mirror_world import World
from tests.support.rows.written_failover import text

Rows = list[dict[str, Any]]
_CLASSES = {"mirror": "MirrorSourceConnector", "checkpoint": "MirrorCheckpointConnector"}


def flow_of(side: Side) -> Flow:
    """The flow of the worlds; side: the cluster that offset syncs are on."""
    return Flow(source_alias="source", target_alias="target", syncs_on=side)


def write_failover_observation(
    directory: FailoverDirectory,
    worlds: Sequence[World],
    flow: Flow,
    *,
    planned: bool,
    ledger: str = "",
    read: bool = False,
) -> None:
    """Write what a failover observes of the worlds: planned, of a running flow; else without the source.

    ledger: the directory of the ledger that readiness runs have kept, if any; read: whether the remote
    topics were read.
    """
    request = FailoverRequest.parse(
        planned=planned, flow=flow, groups=".*", source_connector="mirror" if planned else "", min_coverage=0
    )
    files.write_json(directory.request, request.as_json())
    files.write_json(directory.members, {side.value: {} for side in Side})
    _write_common(directory, worlds)
    if planned:
        write_dataset(directory.kept_mappings, KEPT_MAPPINGS, _kept(worlds))
    if ledger:
        newest = max(name for name in files.list_names(ledger) if not name.startswith("."))
        content = files.read_bytes(join(ledger, newest))
        assert content is not None
        files.write_bytes(join(directory.ledger, "part-00000.parquet"), content)
        files.write_bytes(join(directory.ledger, MARKER), b"")
        write_dataset(directory.flow_topics, FLOW_TOPICS, [_topic(*one) for one in enumerate(worlds)])
    partitions = _partitions(worlds, there=planned)
    if read:
        partitions = [{**row, "target_from": row["target_start"]} for row in partitions]
        digests = [row for one in enumerate(worlds) for row in _read(*one)]
        write_dataset(directory.record_digests, RECORD_DIGESTS, digests)
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, partitions)


def write_readiness_observation(
    directory: ReadinessDirectory,
    worlds: Sequence[World],
    flow: Flow,
    *,
    at: datetime = NOON,
    history: str = "",
    thresholds: Mapping[str, Any] | None = None,
) -> None:
    """Write what a readiness run observes of the worlds, of a running flow."""
    request = {"source_connector": "mirror", "checkpoint_connector": "checkpoint", "groups": ""}
    files.write_json(directory.request, {**request, "thresholds": dict(thresholds or {})})
    root = history or join(directory.uri, "_history")
    entry = f"{at:%H%M%S}.parquet"
    kept = {"next_history": join(root, "lag", entry), "next_ledger": join(root, "ledger", entry)}
    files.write_json(directory.snapshot, {"observed_at": at.isoformat(), "flow": flow.as_json(), **kept})
    write_dataset(directory.record_digests, RECORD_DIGESTS, [])
    _write_common(directory, worlds)
    write_dataset(directory.kept_mappings, KEPT_MAPPINGS, _kept(worlds))
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, _partitions(worlds, there=True))
    write_dataset(directory.left_partitions, MIRROR_PARTITIONS, _partitions(worlds, there=False))
    write_dataset(directory.connectors, CONNECTORS, [_connector("mirror", at), _connector("checkpoint", at)])
    write_dataset(directory.connector_offsets, CONNECTOR_OFFSETS, [])
    write_dataset(directory.remaining, REMAINING, [])
    write_dataset(directory.flow_topics, FLOW_TOPICS, [_topic(*one) for one in enumerate(worlds)])
    write_dataset(directory.log_bounds, LOG_BOUNDS, [row for one in enumerate(worlds) for row in _bounds(*one)])


def _write_common(directory: FailoverDirectory | ReadinessDirectory, worlds: Sequence[World]) -> None:
    write_dataset(directory.stored_syncs, STORED_RECORDS, [row for one in enumerate(worlds) for row in _syncs(*one)])
    checkpoints = [row for one in enumerate(worlds) for row in _checkpoints(*one)]
    write_dataset(directory.stored_checkpoints, STORED_RECORDS, checkpoints)
    groups = [_position(number, at) for number, world in enumerate(worlds) for at in range(world.source.end + 1)]
    write_dataset(directory.group_offsets, GROUP_OFFSETS, groups)


def _partitions(worlds: Sequence[World], *, there: bool) -> Rows:
    return [partition_row(number, world, ReadFrom.NONE, there=there) for number, world in enumerate(worlds)]


def _kept(worlds: Sequence[World]) -> Rows:
    return [
        {"topic": str(number), "kafka_partition": 0, **mapping._asdict()}
        for number, world in enumerate(worlds)
        for mapping in proved(world)
    ]


def _syncs(number: int, world: World) -> Iterator[dict[str, Any]]:
    for sync in world.syncs:
        value = struct.pack(">qq", sync.upstream, sync.downstream)
        yield _record(text(str(number)) + struct.pack(">i", 0), value, sync.order)


def _checkpoints(number: int, world: World) -> Iterator[dict[str, Any]]:
    latest = {mapping.upstream: mapping for mapping in world.checkpoints.values()}
    for order, mapping in enumerate(latest.values()):
        key = text(f"g{mapping.upstream}") + text(f"source.{number}") + struct.pack(">i", 0)
        yield _record(key, struct.pack(">hqq", 0, *mapping) + text(""), order)


def _record(key: bytes, value: bytes, offset: int) -> dict[str, Any]:
    position = {"topic": "internal", "kafka_partition": 0, "log_offset": offset, "written_at": NOON}
    return {**position, "key": key, "value": value}


def _read(number: int, world: World) -> Iterator[dict[str, Any]]:
    for offset, record in world.target.records.items():
        where = {"side": "target", "topic": str(number), "kafka_partition": 0, "log_offset": offset}
        yield {**where, "digest": digest_of(world, record)}


def _position(number: int, position: int) -> dict[str, Any]:
    where = {"kafka_cluster": "source", "group": f"g{position}", "topic": str(number), "kafka_partition": 0}
    return {**where, "group_state": "Empty", "offset": position, "metadata": ""}


def _topic(number: int, world: World) -> dict[str, Any]:
    return {
        "topic": str(number),
        "target_topic": f"source.{number}",
        "topic_id": f"source {world.source.incarnation}",
        "target_topic_id": f"target {world.target.incarnation}",
    }


def _bounds(number: int, world: World) -> Iterator[dict[str, Any]]:
    for alias, topic, log in (("source", str(number), world.source), ("target", f"source.{number}", world.target)):
        where = {"kafka_cluster": alias, "topic": topic, "kafka_partition": 0}
        if log is world.source or not world.absent:
            yield {**where, "log_start": log.start, "log_end": log.end}


def _connector(name: str, at: datetime) -> dict[str, Any]:
    return {
        "connect_cluster": "connect",
        "connector": name,
        "connector_type": "source",
        "connector_class": f"org.apache.kafka.connect.mirror.{_CLASSES[name]}",
        "family": f"mirror_{'source' if name == 'mirror' else name}",
        "state": "RUNNING",
        "tasks": '[{"id":0,"state":"RUNNING"}]',
        "config": "{}",
        "observed_at": at,
    }
