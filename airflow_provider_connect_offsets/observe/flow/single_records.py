"""Reads single records of both logs of replicated partitions, and compares them by their digests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from airflow_provider_connect_offsets.kafka.spans import Spans
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition, timed_topics
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping, RecordOffsets, Records
from airflow_provider_connect_offsets.offsets.families import TopicPartition

Read = Callable[[Mapping[TopicPartition, RecordOffsets]], dict[TopicPartition, Records]]

_FIRST, _BEFORE_FIRST = OffsetMapping(0, 0), OffsetMapping(-1, -1)


@contextmanager
def single_records(clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> Iterator[Read]:
    """Yield a function that reads records of both logs at the same time, by partition of the source.

    Raises :class:`InvalidInput` if the source is gone; the function raises store errors.
    """
    listed = list(remote_partitions)
    names, timed = {one.where: one.on_target for one in listed}, timed_topics(listed)
    with clusters.spans() as (source, target), ThreadPoolExecutor(1) as pool:

        def read(requested: Mapping[TopicPartition, RecordOffsets]) -> dict[TopicPartition, Records]:
            of_source = {where: offsets.source for where, offsets in requested.items()}
            of_target = {names[where]: offsets.target for where, offsets in requested.items()}
            reading = pool.submit(_digests, target, of_target, timed)
            records, copies = _digests(source, of_source, timed), reading.result()
            return {where: Records(records.get(where, {}), copies.get(names[where], {})) for where in requested}

        yield read


def records_of(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> dict[TopicPartition, Records]:
    """Read both records of each mapping; raises store errors.

    Args:
        clusters: Both clusters.
        remote_partitions: At least those of ``mappings``.
        mappings: Mappings that both logs cover, by partition of the source.
    """
    requested = {
        where: RecordOffsets(
            frozenset(mapping.upstream for mapping in some), frozenset(mapping.downstream for mapping in some)
        )
        for where, some in mappings.items()
        if some
    }
    with single_records(clusters, [one for one in remote_partitions if one.where in requested]) as read:
        return read(requested)


def same_records(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Return the mappings whose two records exist and have the same digest; arguments as of :func:`records_of`."""
    return {
        where: [mapping for mapping in mappings[where] if is_same(records, mapping)]
        for where, records in records_of(clusters, remote_partitions, mappings).items()
    }


def mapping_of(row: Mapping[str, Any]) -> OffsetMapping:
    """Return the mapping in a dataset's row: its columns ``upstream`` and ``downstream``."""
    return OffsetMapping(row["upstream"], row["downstream"])


def mappings_of(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, list[OffsetMapping]]:
    """Return the mappings in a dataset's rows, by partition of the source."""
    mappings: dict[TopicPartition, list[OffsetMapping]] = {}
    for row in rows:
        mappings.setdefault(partition_of(row), []).append(mapping_of(row))
    return mappings


def mapping_rows(mappings: Mapping[TopicPartition, Iterable[OffsetMapping]]) -> list[dict[str, Any]]:
    """Return the rows of the dataset ``kept_mappings`` for mappings by partition of the source, each once."""
    return [
        {"topic": where.topic, "kafka_partition": where.partition, **one._asdict()}
        for where, some in mappings.items()
        for one in dict.fromkeys(some)
    ]


def is_same(records: Records, mapping: OffsetMapping) -> bool | None:
    """Compare both records of a mapping; None if either does not exist."""
    record, copy = records.source.get(mapping.upstream), records.target.get(mapping.downstream)
    return None if record is None or copy is None else record == copy


def anchored(clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> list[RemotePartition]:
    """Set ``origin`` and ``ends_with_stored``: compare the first and the last records of both logs.

    Without a source the partitions are returned unchanged. Raises store errors.
    """
    listed = list(remote_partitions)
    if clusters.source is None:
        return listed
    last = {one.where: _last(one) for one in listed}
    mappings = {
        one.where: [*([_FIRST] if _begins_at_zero(one) else []), *([mapping] if (mapping := last[one.where]) else [])]
        for one in listed
    }
    same = same_records(clusters, listed, mappings)
    return [
        replace(
            one,
            origin=_BEFORE_FIRST if _begins_at_zero(one) and _FIRST in same.get(one.where, ()) else None,
            ends_with_stored=None if last[one.where] is None else last[one.where] in same[one.where],
        )
        for one in listed
    ]


def _last(one: RemotePartition) -> OffsetMapping | None:
    """Return the last replicated record and the last record of the remote topic, if both exist."""
    if one.source is None or one.target is None or one.stored is None:
        return None
    exists = one.stored >= one.source.log_start and one.target.log_end > one.target.log_start
    return OffsetMapping(one.stored, one.target.log_end - 1) if one.drained and exists else None


def _begins_at_zero(one: RemotePartition) -> bool:
    logs = (one.source, one.target)
    return all(log is not None and log.log_start == 0 and log.log_end > 0 for log in logs)


def _digests(
    logs: Spans, offsets: Mapping[TopicPartition, Iterable[int]], timed: Mapping[str, bool]
) -> dict[TopicPartition, dict[int, bytes]]:
    digests: dict[TopicPartition, dict[int, bytes]] = {}
    for one in logs.digests_at(offsets, timed=timed):
        digests.setdefault(one.where, {})[one.offset] = one.digest
    return digests
