"""Records that readiness observations keep in case the source is lost, and that a failover without the source uses."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.spans import Digest
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    ReadFrom,
    RemotePartition,
    timed_topics,
)
from airflow_provider_connect_offsets.observe.flow.topic_ids import TopicIds
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import FLOW_TOPICS, MIRROR_LEDGER, RECORD_DIGESTS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.paths import MARKER, join

log = logging.getLogger(__name__)

# How many of the highest positions in each partition, and how many records before each position, are kept.
POSITIONS, BEFORE = 5, 3


def records_before(
    clusters: Clusters, remote_partitions: Iterable[RemotePartition], positions: Mapping[TopicPartition, set[int]]
) -> Iterator[dict[str, Any]]:
    """Read the source's records right before the highest positions, as rows of the dataset ``record_digests``.

    Once these records are replicated, they prove the translated offsets of the positions.

    Args:
        clusters: Both clusters; without a source there are no rows.
        remote_partitions: The partitions of the flow.
        positions: Committed offsets, by partition of the source.

    Raises:
        StoreError: The source does not answer, or refuses.
    """
    if clusters.source is None:
        return
    listed = [one for one in remote_partitions if one.source is not None and one.target is not None]
    offsets: dict[TopicPartition, list[int]] = {}
    for one in listed:
        highest = sorted(positions.get(one.where, ()), reverse=True)[:POSITIONS]
        before = {offset for position in highest for offset in range(position - BEFORE, position)}
        bounds = one.source
        present = sorted(at for at in before if bounds is not None and bounds.log_start <= at < bounds.log_end)
        if present:
            offsets[one.where] = present
    with clusters.source.spans(clusters.isolation) as source:
        for digest in source.digests_at(offsets, timed=timed_topics(listed)):
            yield _digest_row(Side.SOURCE, digest.where, digest)


def write_ledger(
    request: FailoverRequest,
    target: KafkaCluster,
    remote_partitions: Iterable[RemotePartition],
    root: str,
    directory: FailoverDirectory,
) -> dict[TopicPartition, ReadFrom]:
    """Copy the newest ledgers of the flow, and read the remote topics that they know.

    Writes the datasets ``mirror_ledger``, ``flow_topics`` and ``record_digests``; nothing if there is no ledger.
    Remote partitions are read as a whole, as a part proves nothing: the shortest first, as far as the request's limits
    allow.

    Args:
        request: The failover.
        target: The target cluster.
        remote_partitions: The remote partitions of the flow.
        root: URI of the flow's ledgers (``workspace.layout.ledger_root``).
        directory: Where to write.

    Returns:
        The offsets from which on the remote topics were read, by partition of the source.

    Raises:
        DatasetError: A ledger was removed meanwhile.
        StoreError: The target does not answer, or refuses.
    """
    newest = [join(root, name, max(some)) for name in files.list_names(root) if (some := _ledgers(join(root, name)))]
    if not newest:
        return {}
    files.remove_tree(directory.ledger)
    for number, uri in enumerate(newest):
        content = files.read_bytes(uri)
        if content is None:
            raise DatasetError(
                f"{uri} was removed a moment ago. Run mirror_failover once more: it observes the flow again."
            )
        files.write_bytes(join(directory.ledger, f"part-{number:05}.parquet"), content)
    files.write_bytes(join(directory.ledger, MARKER), b"")
    listed = list(remote_partitions)
    names = {one.where.topic: one.target_topic for one in listed}
    ids = TopicIds.observe(names, None, target)
    write_dataset(directory.flow_topics, FLOW_TOPICS, ids.rows(names))
    known = {
        partition_of(row)
        for row in iterate_dataset(directory.ledger, MIRROR_LEDGER)
        if row["kind"] == "log" and row["target_topic_id"] == ids.target.get(row["target_topic"])
    }
    whole = select_whole(request, [one for one in listed if one.where in known])
    return _write_digests(target, whole, directory)


def _ledgers(directory: str) -> list[str]:
    return [name for name in files.list_names(directory) if name.endswith(".parquet") and not name.startswith(".")]


def select_whole(request: FailoverRequest, remote_partitions: Iterable[RemotePartition]) -> list[RemotePartition]:
    """Return the remote partitions whose records are read: the shortest first, as far as the request's limits allow."""
    by_length = sorted(
        (one.target.log_end - one.target.log_start, one.where, one) for one in remote_partitions if one.target
    )
    sums = accumulate(length for length, _, _ in by_length)
    whole = [
        one
        for (length, _, one), so_far in zip(by_length, sums, strict=True)
        if length <= request.compared and so_far <= request.compared_total
    ]
    if len(whole) < len(by_length):
        log.warning(
            "The records of %s exceed compared (%s) or compared_total (%s), so they are not read. Only checkpoints and "
            "the ledger translate positions there.",
            quantify(len(by_length) - len(whole), "remote partition"),
            f"{request.compared:,}",
            f"{request.compared_total:,}",
        )
    return whole


def _write_digests(
    target: KafkaCluster, whole: Sequence[RemotePartition], directory: FailoverDirectory
) -> dict[TopicPartition, ReadFrom]:
    spans = {one.on_target: range(one.target.log_start, one.target.log_end) for one in whole if one.target}
    names = {one.on_target: one.where for one in whole}
    with target.spans() as logs:
        rows = (
            _digest_row(Side.TARGET, names[digest.where], digest)
            for digest in logs.digests(spans, timed=timed_topics(whole))
        )
        write_dataset(directory.record_digests, RECORD_DIGESTS, rows)
    return {names[on_target]: ReadFrom(None, span.start) for on_target, span in spans.items()}


def _digest_row(side: Side, where: TopicPartition, digest: Digest) -> dict[str, Any]:
    """Return a row of ``record_digests``; ``where``: the partition of the source."""
    return {
        "side": side.value,
        "topic": where.topic,
        "kafka_partition": where.partition,
        "log_offset": digest.offset,
        "digest": digest.digest,
    }
