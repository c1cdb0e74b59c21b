"""Offset mappings that single records prove, about each change of the distance between both logs of a partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters, RemotePartition
from airflow_provider_connect_offsets.observe.flow.single_records import single_records
from airflow_provider_connect_offsets.offsets.bisecting import (
    LogRanges,
    OffsetMapping,
    Search,
    in_turns,
    search,
)
from airflow_provider_connect_offsets.offsets.families import TopicPartition


def bisected(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    known: Mapping[TopicPartition, Sequence[OffsetMapping]],
    lowest: Mapping[TopicPartition, int],
) -> list[dict[str, Any]]:
    """Rows like those of the dataset ``kept_mappings``: mappings that were found, of the partitions of the source.

    known: mappings of each (of ``current``); lowest: the lowest position that is asked for. Old records don't change,
    so that this may be done while the flow runs. Raises store errors.
    """
    listed = [one for one in remote_partitions if one.where in known and one.where in lowest]
    searches = {
        one.where: begun
        for one in listed
        if (begun := searched(one, known[one.where], lowest=lowest[one.where])) is not None
    }
    if clusters.source is None or not searches:
        return []
    with single_records(clusters, listed) as read:
        found = in_turns(searches, read)
    return [
        {"topic": where.topic, "kafka_partition": where.partition, **one._asdict()}
        for where, mappings in found.items()
        for one in dict.fromkeys(mappings)
    ]


def searched(one: RemotePartition, known: Iterable[OffsetMapping], *, lowest: int) -> Search | None:
    """A search of one partition; None where what it finds would prove nothing.

    Records that compaction or a transformation may have taken, or whose timestamps the remote topic sets itself, don't
    show where a distance holds.
    """
    if one.source is None or one.target is None or not one.gapless or one.transformed or not one.timed:
        return None
    logs = LogRanges(range(one.source.log_start, one.source.log_end), range(one.target.log_start, one.target.log_end))
    return search(known, logs, lowest=lowest)


def current(one: RemotePartition, syncs: Sequence[OffsetMapping], kept: Iterable[OffsetMapping]) -> list[OffsetMapping]:
    """Mappings of the logs that are there now.

    syncs: all that are known, in their order; kept: mappings that records have proved
    """
    if one.source is None or one.target is None:
        return []
    told = [*([] if one.origin is None else [one.origin]), *syncs]
    if one.ends_with_stored and one.drained and one.stored is not None and one.stored >= one.source.log_start:
        told.append(OffsetMapping(one.stored, one.target.log_end - 1))
    mapped = [OffsetMapping(*mapping) for mapping in (*_since_created(told, one.source.log_end, one.stored), *kept)]
    return mapped if all(mapping.downstream < one.target.log_end for mapping in mapped) else []


def _since_created(told: Sequence[OffsetMapping], source_end: int, stored: int | None) -> Sequence[OffsetMapping]:
    """Leave out what earlier topics of these names have left: up to where offsets fell, or lay behind the end."""
    begin = 0
    for number, mapping in enumerate(told):
        if max(mapping.upstream, -1 if stored is None else stored) >= source_end:
            begin = number + 1
    for number, (before, after) in enumerate(pairwise(told), 1):
        if after.downstream <= before.downstream and after != before:
            begin = max(begin, number)
    return told[begin:]
