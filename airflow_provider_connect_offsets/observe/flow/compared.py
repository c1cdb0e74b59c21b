"""Reads digests of records of both logs: whole ranges, and both records of sampled claims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any

from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.spans import Digest
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    ReadFrom,
    RemotePartition,
    timed_topics,
)
from airflow_provider_connect_offsets.observe.flow.single_records import mapping_of, mappings_of, records_of
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping, Records, is_same
from airflow_provider_connect_offsets.workspace.datasets import Parts, read_dataset, write_dataset, write_parts
from airflow_provider_connect_offsets.workspace.files import list_names
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    RECORD_DIGESTS,
    SAMPLED_CLAIMS,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

# Most digests in memory at a time, for each side.
_IN_MEMORY = 100_000


def write_compared(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    ranges: FailoverDirectory,
    directory: FailoverDirectory,
) -> dict[TopicPartition, ReadFrom]:
    """Read the requested ranges of both logs, and write the dataset ``record_digests``.

    Partitions that are not drained are left out: it is unknown which record their remote topic ends with.

    Args:
        clusters: Both clusters.
        remote_partitions: The partitions of the flow.
        ranges: Directory with the dataset ``compare_ranges``: the first offsets to read.
        directory: Where to write.

    Returns:
        The offsets from which on both logs were read, by partition of the source.

    Raises:
        InvalidInput: The source is gone.
        StoreError: A cluster does not answer, or refuses.
    """
    requested = {partition_of(row): row for row in read_dataset(ranges.compare_ranges, COMPARE_RANGES)}
    listed = [one for one in remote_partitions if one.where in requested and one.source and one.target and one.drained]
    timed = timed_topics(listed)
    of_source = {one.where: _span(requested[one.where]["source_from"], one.source) for one in listed}
    of_target = {one.on_target: _span(requested[one.where]["target_from"], one.target) for one in listed}
    names = {one.on_target: one.where for one in listed}
    with clusters.spans() as (source, target), write_parts(directory.record_digests, RECORD_DIGESTS) as parts:
        _write_both(
            parts,
            _Read(Side.SOURCE, source.digests(of_source, timed=timed), {one: one for one in of_source}),
            _Read(Side.TARGET, target.digests(of_target, timed=timed), names),
        )
    return {one.where: ReadFrom(of_source[one.where].start, of_target[one.on_target].start) for one in listed}


def write_checked_claims(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    sampled: FailoverDirectory,
    directory: FailoverDirectory,
) -> None:
    """Compare both records of each sampled claim, and write the dataset ``checked_claims``.

    ``same`` is null where nothing is proved: neither record exists, a log does not cover its offset, or records are
    compacted or transformed. Otherwise a record without a counterpart disproves the claim: in the other log, a
    transaction marker has the claimed offset. Writes nothing if the source is gone, or no claims were sampled.

    Args:
        clusters: Both clusters.
        remote_partitions: The partitions of the flow.
        sampled: Directory with the dataset ``sampled_claims``.
        directory: Where to write.

    Raises:
        StoreError: A cluster does not answer, or refuses.
    """
    if clusters.source is None or not list_names(sampled.sampled_claims):
        return
    claims = read_dataset(sampled.sampled_claims, SAMPLED_CLAIMS)
    by_source = {one.where: one for one in remote_partitions}
    covered = [claim for claim in claims if _covers(by_source.get(partition_of(claim)), claim)]
    records = records_of(clusters, by_source.values(), mappings_of(covered))
    for claim in claims:
        claim["same"] = None
    for claim in covered:
        claim["same"] = _is_true(by_source[partition_of(claim)], records[partition_of(claim)], mapping_of(claim))
    write_dataset(directory.checked_claims, CHECKED_CLAIMS, claims)


def _covers(one: RemotePartition | None, claim: Mapping[str, Any]) -> bool:
    return one is not None and one.target_topic == claim["target_topic"] and one.covers(mapping_of(claim))


def _is_true(one: RemotePartition, records: Records, claim: OffsetMapping) -> bool | None:
    exist = (claim.upstream in records.source, claim.downstream in records.target)
    if one.transformed or not one.gapless or not any(exist):
        return None
    return all(exist) and is_same(records, claim)


def _span(start: int, log: LogBounds | None) -> range:
    if log is None:
        return range(start, start)
    first = max(start, log.log_start)
    return range(first, max(log.log_end, first))


@dataclass(frozen=True, slots=True)
class _Read:
    """Digests of one side while they are read; ``names``: partition that is read → partition of the source."""

    side: Side
    digests: Iterable[Digest]
    names: Mapping[TopicPartition, TopicPartition]


def _write_both(parts: Parts, *sides: _Read) -> None:
    """Read both sides at the same time: one side continues while the other waits for its broker."""
    failed = Event()
    with ThreadPoolExecutor(len(sides)) as pool:
        running = [pool.submit(_write_side, parts, one, failed) for one in sides]
    for one in running:
        one.result()


def _write_side(parts: Parts, read: _Read, failed: Event) -> None:
    digests = iter(read.digests)
    try:
        while not failed.is_set() and (some := list(islice(digests, _IN_MEMORY))):
            parts.write(
                side=[read.side.value] * len(some),
                topic=[read.names[one.where].topic for one in some],
                kafka_partition=[one.where.partition for one in some],
                log_offset=[one.offset for one in some],
                digest=[one.digest for one in some],
            )
    except BaseException:
        failed.set()  # ends the other side early
        raise
