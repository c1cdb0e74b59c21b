"""A made-up observation of a flow, written for the translation."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    KEPT_MAPPINGS,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import GROUP_OFFSETS, STORED_RECORDS

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
FLOW = Flow(source_alias="here", target_alias="there")
# Group, its offset in which partition of ``orders`` on the source, and the one on the target.
GROUPS: Sequence[tuple[str, int, int, int | None]] = (
    ("between", 0, 70, None),
    ("at the end", 0, 100, None),
    ("behind", 1, 10, None),
    ("busy", 0, 60, None),
    ("reading", 0, 60, None),
    ("ahead", 0, 70, 90),
    ("there", 0, 70, 70),
)


def text(content: str) -> bytes:
    """A string in the format of Java's DataOutput."""
    raw = content.encode()
    return struct.pack(">h", len(raw)) + raw


def write_observation(
    directory: FailoverDirectory,
    *,
    planned: bool = True,
    ends_with_stored: bool = True,
    kept: Sequence[tuple[int, int, int]] = (),
    contradicted: tuple[int, int] | None = None,
    groups: Sequence[tuple[str, int, int, int | None]] = GROUPS,
    again: int = 0,
    **requested: Any,
) -> None:
    """Two partitions of 100 records each, replicated to the end; syncs of the first one only.

    kept: offset mappings that a reset has kept: partition, upstream, downstream; contradicted: an offset sync of the
    first partition whose records differ; again: how many records of the second one were replicated twice.
    """
    connector = "mirror" if planned else ""
    # Syncs that are on the source go with it.
    flow = replace(FLOW, syncs_on=Side.SOURCE if planned else Side.TARGET)
    request = FailoverRequest.parse(planned=planned, flow=flow, groups=".*", source_connector=connector, **requested)
    files.write_json(directory.request, request.as_json())
    files.write_json(directory.members, {"source": {"reading": "Stable"}, "target": {"busy": "Stable"}})
    syncs = [_record(text("orders") + struct.pack(">i", 0), struct.pack(">qq", at, at), at) for at in (0, 50)]
    write_dataset(directory.stored_syncs, STORED_RECORDS, syncs)
    key = text("between") + text("here.orders") + struct.pack(">i", 0)
    checkpoint = _record(key, struct.pack(">hqq", 0, 60, 51) + text(""), 60)
    write_dataset(directory.stored_checkpoints, STORED_RECORDS, [checkpoint])
    of_source = [_offset("here", name, "orders", number, offset) for name, number, offset, _ in groups]
    of_target = [_offset("there", name, "here.orders", number, at) for name, number, _, at in groups if at is not None]
    if planned:
        names = ("kafka_partition", "upstream", "downstream")
        unread = {"next_upstream": None, "next_downstream": None}
        mappings = [{"topic": "orders", **unread, **dict(zip(names, mapping, strict=True))} for mapping in kept]
        write_dataset(directory.kept_mappings, KEPT_MAPPINGS, mappings)
    elsewhere = _offset("here", "elsewhere", "payments", 0, 5)
    write_dataset(directory.group_offsets, GROUP_OFFSETS, [*of_source, *of_target, elsewhere])
    partitions = [_partition(number, planned) for number in (0, 1)]
    partitions[1]["target_end"] += again
    partitions[1]["target_last"] = partitions[1]["target_end"] - 1 if planned else None
    if not ends_with_stored:
        partitions[0]["ends_with_stored"] = False
    if contradicted is not None:
        upstream, downstream = contradicted
        partitions[0] |= {"contradicted_upstream": upstream, "contradicted_downstream": downstream}
    write_dataset(directory.mirror_partitions, MIRROR_PARTITIONS, partitions)


def write_digests(directory: FailoverDirectory, *, other: int | None = None) -> None:
    """Both logs from offset 50 on; the record at ``other`` of the remote topic is not the source's."""
    rows = [
        {"side": side, "topic": "orders", "kafka_partition": 0, "log_offset": at, "digest": digest}
        for at in range(50, 100)
        for side, digest in (("source", b"%d" % at), ("target", b"x" if at == other else b"%d" % at))
    ]
    write_dataset(directory.record_digests, RECORD_DIGESTS, rows)


def write_checked_claims(directory: FailoverDirectory, *outcomes: tuple[int, int, bool | None]) -> None:
    """Results of claims on the first partition: upstream, downstream, and whether the records are the same."""
    partition = {"topic": "orders", "target_topic": "here.orders", "kafka_partition": 0}
    rows = [{**partition, "upstream": up, "downstream": down, "same": same} for up, down, same in outcomes]
    write_dataset(directory.checked_claims, CHECKED_CLAIMS, rows)


def _record(key: bytes, value: bytes, offset: int) -> dict[str, Any]:
    position = {"topic": "internal", "kafka_partition": 0, "log_offset": offset, "written_at": NOON}
    return {**position, "key": key, "value": value}


def _offset(cluster: str, group: str, topic: str, partition: int, offset: int) -> dict[str, Any]:
    where = {"kafka_cluster": cluster, "group": group, "topic": topic, "kafka_partition": partition}
    return {**where, "group_state": "Empty", "offset": offset, "metadata": ""}


def _partition(number: int, planned: bool) -> dict[str, Any]:  # noqa: FBT001 - a row's own columns follow from it
    source = {"source_start": 0, "source_end": 100, "stored": 99} if planned else {}
    return {
        "topic": "orders",
        "target_topic": "here.orders",
        "kafka_partition": number,
        "source_start": None,
        "source_end": None,
        "stored": None,
        **source,
        "drained": planned,
        "target_start": 0,
        "target_end": 100,
        "origin_upstream": None,
        "origin_downstream": None,
        "ends_with_stored": True if planned else None,
        "target_last": 99 if planned else None,
        "contradicted_upstream": None,
        "contradicted_downstream": None,
        "gapless": True,
        "transformed": False,
        "timed": True,
        "source_from": 50 if number == 0 else None,
        "target_from": 50 if number == 0 else None,
    }
