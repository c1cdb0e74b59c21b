"""What looks at a flow's readiness keep for the loss of its source, and what a failover without it finds of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.spans import Span
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    Clusters,
    ReadFrom,
    RemotePartition,
    timed_topics,
)
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import FLOW_TOPICS, MIRROR_LEDGER, RECORD_DIGESTS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.paths import MARKER, join

# Of so many of the highest positions in each partition the records before them are kept, and how many of each.
POSITIONS, BEFORE = 5, 3


def records_before(
    clusters: Clusters, remote_partitions: Iterable[RemotePartition], positions: Mapping[TopicPartition, set[int]]
) -> Iterator[dict[str, Any]]:
    """Digests of the source's records right before the highest positions, as rows of ``record_digests``.

    They prove where these positions are in the remote topic, once the records have come there. Raises store errors.
    """
    if clusters.source is None:
        return
    known = [one for one in remote_partitions if one.source is not None and one.target is not None]
    wanted: dict[TopicPartition, list[int]] = {}
    for one in known:
        highest = sorted(positions.get(one.where, ()), reverse=True)[:POSITIONS]
        before = {offset for position in highest for offset in range(position - BEFORE, position)}
        log = one.source
        there = sorted(offset for offset in before if log is not None and log.log_start <= offset < log.log_end)
        if there:
            wanted[one.where] = there
    with clusters.source.spans(clusters.isolation) as source:
        for digest in source.digests_at(wanted, timed=timed_topics(known)):
            yield _digest_row(Side.SOURCE, digest.where, digest.offset, digest.digest)


def write_left(
    request: FailoverRequest,
    target: KafkaCluster,
    remote_partitions: Iterable[RemotePartition],
    root: str,
    directory: FailoverDirectory,
) -> dict[TopicPartition, ReadFrom]:
    """Take over the ledgers of the flow's looks, where there are any, and read the remote topics that they tell of.

    root: of ``workspace.layout.ledger_root``. Writes the datasets ``mirror_ledger``, ``flow_topics`` and
    ``record_digests``. Only remote partitions of up to ``compared`` records are read, whole, as less proves nothing.
    Gives the offsets from which on they were read, by partition of the source. Raises store errors.
    """
    newest = [join(root, name, max(found)) for name in files.list_names(root) if (found := _ledgers(join(root, name)))]
    if not newest:
        return {}
    files.remove_tree(directory.ledger)
    for number, uri in enumerate(newest):
        content = files.read_bytes(uri)
        if content is None:
            raise DatasetError(f"{uri} was there a moment ago, and is gone: run mirror_failover again, to look anew")
        files.write_bytes(join(directory.ledger, f"part-{number:05}.parquet"), content)
    files.write_bytes(join(directory.ledger, MARKER), b"")
    listed = list(remote_partitions)
    names = {one.where.topic: one.target_topic for one in listed}
    ids = target.logs.topic_ids(names.values())
    topics = [
        {"topic": topic, "target_topic": remote, "topic_id": None, "target_topic_id": ids.get(remote)}
        for topic, remote in names.items()
    ]
    write_dataset(directory.flow_topics, FLOW_TOPICS, topics)
    told = {
        TopicPartition(row["topic"], row["kafka_partition"])
        for row in iterate_dataset(directory.ledger, MIRROR_LEDGER)
        if row["kind"] == "log" and row["target_topic_id"] == ids.get(row["target_topic"])
    }
    return _read_whole(target, [one for one in listed if one.where in told], request.compared, directory)


def _ledgers(directory: str) -> list[str]:
    return [name for name in files.list_names(directory) if name.endswith(".parquet") and not name.startswith(".")]


def _read_whole(
    target: KafkaCluster, remote_partitions: Iterable[RemotePartition], compared: int, directory: FailoverDirectory
) -> dict[TopicPartition, ReadFrom]:
    asked = [one for one in remote_partitions if one.target and one.target.log_end - one.target.log_start <= compared]
    spans = {one.on_target: Span(one.target.log_start, one.target.log_end) for one in asked if one.target}
    names = {one.on_target: one.where for one in asked}
    with target.spans() as logs:
        rows = (
            _digest_row(Side.TARGET, names[found.where], found.offset, found.digest)
            for found in logs.digests(spans, timed=timed_topics(asked))
        )
        write_dataset(directory.record_digests, RECORD_DIGESTS, rows)
    return {names[on_target]: ReadFrom(None, span.start) for on_target, span in spans.items()}


def _digest_row(side: Side, where: TopicPartition, offset: int, digest: bytes) -> dict[str, Any]:
    place = {"topic": where.topic, "kafka_partition": where.partition, "log_offset": offset}
    return {"side": side.value, **place, "digest": digest}
