"""Single records of both logs of replicated partitions, compared by their digests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.kafka.spans import Spans
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    Clusters,
    RemotePartition,
    timed_topics,
)
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping, RecordOffsets, Records
from airflow_provider_connect_offsets.offsets.families import TopicPartition

Read = Callable[[Mapping[TopicPartition, RecordOffsets]], dict[TopicPartition, Records]]

_FIRST, _BEGINNING = OffsetMapping(0, 0), OffsetMapping(-1, -1)


@contextmanager
def single_records(clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> Iterator[Read]:
    """Yield a function that reads records of both logs at the same time, by partition of the source.

    Raises :class:`InvalidInput` if the source is gone; the function raises store errors.
    """
    if clusters.source is None:
        raise InvalidInput("The source's records can't be compared, as it is gone.")
    listed = list(remote_partitions)
    names, timed = {one.where: one.on_target for one in listed}, timed_topics(listed)
    with (
        clusters.source.spans(clusters.isolation) as source,
        clusters.target.spans() as target,
        ThreadPoolExecutor(1) as pool,
    ):

        def read(asked: Mapping[TopicPartition, RecordOffsets]) -> dict[TopicPartition, Records]:
            of_source = {where: offsets.source for where, offsets in asked.items()}
            of_target = {names[where]: offsets.target for where, offsets in asked.items()}
            reading = pool.submit(_digests, target, of_target, timed)
            records, copies = _digests(source, of_source, timed), reading.result()
            return {where: Records(records.get(where, {}), copies.get(names[where], {})) for where in asked}

        yield read


def same_records(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Return the pairs of which both records are there and have the same digest; raises store errors.

    pairs: within both logs, by partition of the source.
    """
    asked = {
        where: RecordOffsets(
            frozenset(mapping.upstream for mapping in some), frozenset(mapping.downstream for mapping in some)
        )
        for where, some in mappings.items()
        if some
    }
    with single_records(clusters, [one for one in remote_partitions if one.where in asked]) as read:
        found = read(asked)
    return {
        where: [mapping for mapping in mappings[where] if _is_same(records, mapping)]
        for where, records in found.items()
    }


def anchored(clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> list[RemotePartition]:
    """Compare the first and the last records of both logs, which show whether their offsets belong together."""
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
            origin=_BEGINNING if _begins_at_zero(one) and _FIRST in same.get(one.where, ()) else None,
            ends_with_stored=None if last[one.where] is None else last[one.where] in same[one.where],
        )
        for one in listed
    ]


def _last(one: RemotePartition) -> OffsetMapping | None:
    """The last record that was replicated and the last one of the remote topic, where there are both."""
    if one.source is None or one.target is None or one.stored is None:
        return None
    is_there = one.stored >= one.source.log_start and one.target.log_end > one.target.log_start
    return OffsetMapping(one.stored, one.target.log_end - 1) if one.drained and is_there else None


def _begins_at_zero(one: RemotePartition) -> bool:
    logs = (one.source, one.target)
    return all(log is not None and log.log_start == 0 and log.log_end > 0 for log in logs)


def _is_same(records: Records, mapping: OffsetMapping) -> bool:
    record = records.source.get(mapping.upstream)
    return record is not None and record == records.target.get(mapping.downstream)


def _digests(
    logs: Spans, offsets: Mapping[TopicPartition, Iterable[int]], timed: Mapping[str, bool]
) -> dict[TopicPartition, dict[int, bytes]]:
    found: dict[TopicPartition, dict[int, bytes]] = {}
    for one in logs.digests_at(offsets, timed=timed):
        found.setdefault(one.where, {})[one.offset] = one.digest
    return found
