"""Digests of records of a source partition and of its remote topic, read where they add to what is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.spans import Digest, Span, Spans
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    Clusters,
    ReadFrom,
    RemotePartition,
    timed_topics,
)
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.workspace.datasets import Parts, read_dataset, write_dataset, writing_parts
from airflow_provider_connect_offsets.workspace.files import list_names
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    RECORD_DIGESTS,
    SAMPLED_CLAIMS,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

# Of how many records the digests are held in memory at a time, for each side.
_IN_MEMORY = 100_000


def write_compared(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    ranges: FailoverDirectory,
    directory: FailoverDirectory,
) -> dict[TopicPartition, ReadFrom]:
    """Read both logs from where the dataset ``compare_ranges`` of ``ranges`` begins, and write ``record_digests``.

    Only of remote topics of which it is known where they end, as nothing is told by the others. Gives the offsets from
    which on both logs were read, by partition of the source. Raises store errors.
    """
    if clusters.source is None:
        raise InvalidInput("The source's records can't be compared, as it is gone.")
    rows = read_dataset(ranges.compare_ranges, COMPARE_RANGES)
    wanted = {TopicPartition(row["topic"], row["kafka_partition"]): row for row in rows}
    known = [one for one in remote_partitions if one.source is not None and one.target is not None and one.drained]
    asked = [one for one in known if one.where in wanted]
    timed = timed_topics(asked)
    of_source = {one.where: _span(wanted[one.where]["source_from"], one.source) for one in asked}
    of_target = {one.on_target: _span(wanted[one.where]["target_from"], one.target) for one in asked}
    names = {one.on_target: one.where for one in asked}
    with (
        clusters.source.spans(clusters.isolation) as source,
        clusters.target.spans() as target,
        writing_parts(directory.record_digests, RECORD_DIGESTS) as parts,
    ):
        _write_both(
            parts,
            _Read(Side.SOURCE, source.digests(of_source, timed=timed), {one: one for one in of_source}),
            _Read(Side.TARGET, target.digests(of_target, timed=timed), names),
        )
    return {one.where: ReadFrom(of_source[one.where].start, of_target[one.on_target].start) for one in asked}


def write_checked_claims(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    sampled: FailoverDirectory,
    directory: FailoverDirectory,
) -> None:
    """Compare both records of each claim in the dataset ``sampled_claims`` of ``sampled``; write ``checked_claims``.

    A record that is not there (deleted by retention, compacted, a transaction's marker) proves nothing, nor do the ends
    of the logs. Raises store errors.
    """
    if clusters.source is None or not list_names(sampled.sampled_claims):
        return
    claims = read_dataset(sampled.sampled_claims, SAMPLED_CLAIMS)
    known = {one.where: one for one in remote_partitions}
    held = [claim for claim in claims if _holds(known.get(_place(claim, "topic")), claim)]
    timed = timed_topics([known[where] for where in {_place(claim, "topic") for claim in held}])
    with clusters.source.spans(clusters.isolation) as source, clusters.target.spans() as target:
        records = _digests_at(source, held, "topic", "upstream", timed)
        copies = _digests_at(target, held, "target_topic", "downstream", timed)
    for claim in claims:
        record = records.get((_place(claim, "topic"), claim["upstream"]))
        copy = copies.get((_place(claim, "target_topic"), claim["downstream"]))
        claim["same"] = None if record is None or copy is None else record == copy
    write_dataset(directory.checked_claims, CHECKED_CLAIMS, claims)


def _place(claim: Mapping[str, Any], topic: str) -> TopicPartition:
    return TopicPartition(claim[topic], claim["kafka_partition"])


def _holds(remote_partition: RemotePartition | None, claim: Mapping[str, Any]) -> bool:
    """Whether both logs reach over the claim's offsets."""
    if remote_partition is None or remote_partition.target_topic != claim["target_topic"]:
        return False
    logs = ((remote_partition.source, claim["upstream"]), (remote_partition.target, claim["downstream"]))
    return all(log is not None and log.log_start <= offset < log.log_end for log, offset in logs)


def _digests_at(
    logs: Spans, claims: Iterable[Mapping[str, Any]], topic: str, offset: str, timed: Mapping[str, bool]
) -> dict[tuple[TopicPartition, int], bytes]:
    """Digests of the records at one end of the claims: at which column, of the topic in which column."""
    wanted: dict[TopicPartition, list[int]] = {}
    for claim in claims:
        wanted.setdefault(_place(claim, topic), []).append(claim[offset])
    return {(one.where, one.offset): one.digest for one in logs.digests_at(wanted, timed=timed)}


def _span(start: int, log: LogBounds | None) -> Span:
    if log is None:
        return Span(start, start)
    begins = max(start, log.log_start)
    return Span(begins, max(log.log_end, begins))


@dataclass(frozen=True, slots=True)
class _Read:
    """Digests of one side as they are read; ``names``: partitions of the source, by those that are read."""

    side: Side
    digests: Iterable[Digest]
    names: Mapping[TopicPartition, TopicPartition]


def _write_both(parts: Parts, *sides: _Read) -> None:
    """Read both sides at the same time: the one goes on while the other waits for its broker."""
    failed = Event()
    with ThreadPoolExecutor(len(sides)) as pool:
        running = [pool.submit(_write_side, parts, one, failed) for one in sides]
    for one in running:
        one.result()


def _write_side(parts: Parts, read: _Read, failed: Event) -> None:
    left = iter(read.digests)
    try:
        while not failed.is_set() and (some := list(islice(left, _IN_MEMORY))):
            parts.write(
                side=[read.side.value] * len(some),
                topic=[read.names[one.where].topic for one in some],
                kafka_partition=[one.where.partition for one in some],
                log_offset=[one.offset for one in some],
                digest=[one.digest for one in some],
            )
    except BaseException:
        failed.set()  # so that nobody waits for the other side
        raise
