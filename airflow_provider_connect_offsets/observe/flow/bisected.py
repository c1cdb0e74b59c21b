"""Searches single records of both logs for the offsets at which the distance between the logs changes."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, at_intervals
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition
from airflow_provider_connect_offsets.observe.flow.single_records import mapping_rows, open_records
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.mappings.bisecting import (
    LogRanges,
    OffsetMapping,
    RecordOffsets,
    Records,
    Search,
    in_turns,
    search,
)
from airflow_provider_connect_offsets.offsets.mappings.matching import match, ranges_to_match
from airflow_provider_connect_offsets.offsets.requests.failover import DEFAULT_SEARCH_TIMEOUT
from airflow_provider_connect_offsets.words import join_first, quantify

log = logging.getLogger(__name__)

_NAMED = 3


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How long a search for offset mappings may take.

    Attributes:
        reads_whole: Whether to read all records of a partition that has few; too slow while a flow is stopped.
        timeout: Seconds after which no more records are requested; partitions whose search has not ended are left out,
            and named in the log.
        clock: Measures ``timeout``.
    """

    reads_whole: bool = True
    timeout: float = DEFAULT_SEARCH_TIMEOUT
    clock: Clock = SYSTEM_CLOCK


_USUAL = SearchLimits()


def bisect(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    known: Mapping[TopicPartition, Sequence[OffsetMapping]],
    lowest: Mapping[TopicPartition, int],
    limits: SearchLimits = _USUAL,
) -> list[dict[str, Any]]:
    """Search the partitions for offset mappings.

    Old records don't change, so this may be done while the flow runs.

    Args:
        clusters: Both clusters.
        remote_partitions: The partitions.
        known: Known mappings of each partition (from ``current_mappings``); a partition without an entry is not
            searched.
        lowest: The lowest requested position of each partition; a partition without an entry is not searched.
        limits: How long the search may take.

    Returns:
        Rows of the dataset ``kept_mappings``; empty if the source is gone.

    Raises:
        StoreError: A cluster does not answer, or refuses.
    """
    listed = [one for one in remote_partitions if one.where in known and one.where in lowest]
    searches = {
        one.where: begun
        for one in listed
        if (begun := begin_search(one, known[one.where], lowest=lowest[one.where], reads_whole=limits.reads_whole))
        is not None
    }
    if clusters.source is None or not searches:
        return []
    deadline, reports = limits.clock.now() + limits.timeout, at_intervals(limits.clock)
    with open_records(clusters, listed) as read:

        def within(requested: Mapping[TopicPartition, RecordOffsets]) -> dict[TopicPartition, Records] | None:
            if limits.clock.now() >= deadline:
                _warn_of_unsearched(requested, timeout=limits.timeout)
                return None
            if reports():
                done, partitions = len(searches) - len(requested), quantify(len(searches), "partition")
                log.info("Searched %d of %s for offset mappings.", done, partitions)
            return read(requested)

        return mapping_rows(in_turns(searches, within))


def _warn_of_unsearched(unsearched: Iterable[TopicPartition], *, timeout: float) -> None:
    names = [f"topic {where.topic!r}, partition {where.partition}" for where in sorted(unsearched)]
    log.warning(
        "search_timeout: the search for offset mappings ended after %g s. It is unfinished in %s: %s. Groups that read "
        "these partitions may read more records again than necessary, but they skip none.",
        timeout,
        quantify(len(names), "partition"),
        join_first(names, _NAMED, separator="; "),
    )


def begin_search(
    one: RemotePartition, known: Iterable[OffsetMapping], *, lowest: int, reads_whole: bool = True
) -> Search | None:
    """Begin the search of one partition; None if its result would prove nothing.

    If there are few records, all are read. Among many, compaction and transformations may drop records, and a remote
    topic that sets timestamps itself changes digests: then equal distances at two offsets do not prove the distance
    between these offsets.
    """
    if one.source is None or one.target is None:
        return None
    logs = LogRanges(range(one.source.log_start, one.source.log_end), range(one.target.log_start, one.target.log_end))
    mappings = list(known)
    short = ranges_to_match(mappings, logs, lowest=lowest) if reads_whole else None
    if short is not None:
        return match(mappings, short, may_repeat=not one.timed or short.source.start > one.source.log_start)
    return search(mappings, logs, lowest=lowest) if one.gapless and not one.transformed and one.timed else None


def current_mappings(
    one: RemotePartition, syncs: Sequence[OffsetMapping], kept: Iterable[OffsetMapping]
) -> list[OffsetMapping]:
    """Return the mappings of the current topics, without those of earlier topics of the same names.

    Args:
        one: The partition.
        syncs: All its offset syncs, in their order.
        kept: Mappings that records have proved.

    Returns:
        Empty if either log is missing, or a mapping lies beyond the remote topic's log end.
    """
    if one.source is None or one.target is None:
        return []
    known = [*([] if one.origin is None else [one.origin]), *syncs]
    if one.ends_with_stored and one.drained and one.stored is not None and one.stored >= one.source.log_start:
        last = one.target.log_end - 1 if one.target_last is None else one.target_last
        known.append(OffsetMapping(one.stored, last))
    mapped = [
        OffsetMapping(*mapping) for mapping in (*_select_since_created(known, one.source.log_end, one.stored), *kept)
    ]
    return mapped if all(mapping.downstream < one.target.log_end for mapping in mapped) else []


def _select_since_created(
    known: Sequence[OffsetMapping], source_end: int, stored: int | None
) -> Sequence[OffsetMapping]:
    """Leave out mappings of earlier topics: up to the last mapping beyond the log end, or before a fall of offsets."""
    begin = 0
    for number, mapping in enumerate(known):
        if max(mapping.upstream, -1 if stored is None else stored) >= source_end:
            begin = number + 1
    for number, (before, after) in enumerate(pairwise(known), 1):
        if after.downstream <= before.downstream and after != before:
            begin = max(begin, number)
    return known[begin:]
