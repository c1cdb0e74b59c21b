"""Reads single records of both logs of replicated partitions, and compares them by their digests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from airflow_provider_connect_offsets.kafka.spans import Spans
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition, timed_topics
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping, RecordOffsets, Records, is_same

Read = Callable[[Mapping[TopicPartition, RecordOffsets]], dict[TopicPartition, Records]]

_FIRST, _BEFORE_FIRST = OffsetMapping(0, 0), OffsetMapping(-1, -1)
# How many offsets at the remote topic's log end are searched for its last record: with exactly-once delivery the log
# ends with a transaction marker, and markers of aborted transactions may come before it.
_TAIL = 16
# Most offset syncs of a partition whose records are compared.
_SYNCS = 16


@contextmanager
def open_records(clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> Iterator[Read]:
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
        remote_partitions: At least the partitions of ``mappings``.
        mappings: Mappings that both logs cover, by partition of the source.
    """
    requested = {
        where: RecordOffsets(
            frozenset(mapping.upstream for mapping in some), frozenset(mapping.downstream for mapping in some)
        )
        for where, some in mappings.items()
        if some
    }
    with open_records(clusters, [one for one in remote_partitions if one.where in requested]) as read:
        return read(requested)


def select_same_records(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Return the mappings whose two records exist and have the same digest; arguments as in :func:`records_of`."""
    return {
        where: [mapping for mapping in mappings[where] if is_same(records, mapping)]
        for where, records in records_of(clusters, remote_partitions, mappings).items()
    }


def mapping_of(row: Mapping[str, Any]) -> OffsetMapping:
    """Return the mapping in a dataset's row: its columns ``upstream`` and ``downstream``."""
    return OffsetMapping(row["upstream"], row["downstream"], row.get("next_upstream"), row.get("next_downstream"))


def mappings_of(rows: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, list[OffsetMapping]]:
    """Return the mappings in a dataset's rows, by partition of the source."""
    mappings: dict[TopicPartition, list[OffsetMapping]] = {}
    for row in rows:
        mappings.setdefault(partition_of(row), []).append(mapping_of(row))
    return mappings


def mapping_rows(mappings: Mapping[TopicPartition, Iterable[OffsetMapping]]) -> list[dict[str, Any]]:
    """Return mappings as rows of the dataset ``kept_mappings``, without duplicates.

    Args:
        mappings: Offset mappings, by partition of the source.
    """
    return [
        {"topic": where.topic, "kafka_partition": where.partition, **one._asdict()}
        for where, some in mappings.items()
        for one in dict.fromkeys(some)
    ]


def anchor(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]] | None = None,
) -> list[RemotePartition]:
    """Compare the first and the last records of both logs, and records that offset syncs map to one another.

    Sets ``origin``, ``ends_with_stored``, ``target_last`` and ``contradicted``. Without a source the partitions are
    returned unchanged. Raises store errors.

    Args:
        clusters: Both clusters.
        remote_partitions: The partitions.
        syncs: Offset syncs, by partition of the source.
    """
    listed = list(remote_partitions)
    if clusters.source is None:
        return listed
    compared = {one.where: _sample((syncs or {}).get(one.where, ()), one) for one in listed}
    requested = {one.where: _requested_offsets(one, compared[one.where]) for one in listed}
    with open_records(clusters, listed) as read:
        records = read({where: some for where, some in requested.items() if some.source or some.target})
    nothing = Records({}, {})
    return [_anchor(one, records.get(one.where, nothing), compared[one.where]) for one in listed]


def _requested_offsets(one: RemotePartition, compared: Collection[OffsetMapping]) -> RecordOffsets:
    """Return the offsets of the first and last records, and of the records that offset syncs name."""
    mappings = [*([_FIRST] if _begins_at_zero(one) else []), *compared]
    last = [one.stored] if one.stored is not None and _ends_are_known(one) else []
    tail = (
        range(max(one.target.log_start, one.target.log_end - _TAIL), one.target.log_end) if last and one.target else ()
    )
    return RecordOffsets(
        frozenset([*(mapping.upstream for mapping in mappings), *last]),
        frozenset([*(mapping.downstream for mapping in mappings), *tail]),
    )


def _anchor(one: RemotePartition, records: Records, compared: Collection[OffsetMapping]) -> RemotePartition:
    known = _ends_are_known(one)
    last = max(records.target, default=None) if known else None
    ends = None if last is None or one.stored is None else is_same(records, OffsetMapping(one.stored, last))
    return replace(
        one,
        origin=_BEFORE_FIRST if _begins_at_zero(one) and is_same(records, _FIRST) else None,
        ends_with_stored=bool(ends) if known else None,
        target_last=last,
        contradicted=next((mapping for mapping in compared if is_same(records, mapping) is False), None),
    )


def _sample(syncs: Sequence[OffsetMapping], one: RemotePartition) -> list[OffsetMapping]:
    """Return some of the syncs whose two records should be equal, spread evenly over all of these."""
    covered = [] if one.transformed else [mapping for mapping in syncs if one.covers(mapping)]
    step = max(1, -(-len(covered) // _SYNCS))
    return covered[::-1][::step]


def _ends_are_known(one: RemotePartition) -> bool:
    """Whether both the last replicated record and a last record of the remote topic should exist."""
    if one.source is None or one.target is None or one.stored is None:
        return False
    exists = one.stored >= one.source.log_start and one.target.log_end > one.target.log_start
    return one.drained and exists


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
