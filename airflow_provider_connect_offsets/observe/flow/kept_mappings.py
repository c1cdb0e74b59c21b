"""Pairs of offsets that earlier resets of a flow have kept, for translations that come after them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters, RemotePartition
from airflow_provider_connect_offsets.observe.flow.rewinds import TopicIds
from airflow_provider_connect_offsets.observe.flow.single_records import same_records
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import is_finished, read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.paths import join

log = logging.getLogger(__name__)
# Of so many resets, the last ones.
_RESETS = 20


def kept_mappings(root: str, clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> list[dict[str, Any]]:
    """Rows of the dataset ``kept_mappings``; only pairs of which both records are still there, and the same.

    root: where the datasets ``rewinds`` of the flow's resets lie. Of topics that were created anew since, by their ids,
    none is given; where a reset has kept no ids, only the records tell. Raises store errors.
    """
    there = {one.where: one for one in remote_partitions}
    told = _told(root, there, _ids(clusters, there.values())) if files.list_names(root) else {}
    return _proved(clusters, there.values(), told)


def still_proved(
    rows: Iterable[Mapping[str, Any]], clusters: Clusters, remote_partitions: Iterable[RemotePartition]
) -> list[dict[str, Any]]:
    """Rows of the dataset ``kept_mappings`` that an earlier look has written, as far as the records still prove them.

    Raises store errors.
    """
    there = {one.where: one for one in remote_partitions}
    told: dict[TopicPartition, dict[OffsetMapping, None]] = {}
    for row in rows:
        where, mapping = (
            TopicPartition(row["topic"], row["kafka_partition"]),
            OffsetMapping(row["upstream"], row["downstream"]),
        )
        if where in there and _within(there[where], mapping):
            told.setdefault(where, {})[mapping] = None
    return _proved(clusters, there.values(), told)


def _proved(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> list[dict[str, Any]]:
    found = same_records(clusters, remote_partitions, mappings) if mappings else {}
    return [
        {"topic": where.topic, "kafka_partition": where.partition, **mapping._asdict()}
        for where, some in found.items()
        for mapping in some
    ]


def _ids(clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> TopicIds:
    listed = list(remote_partitions)
    source = {} if clusters.source is None else clusters.source.logs.topic_ids({one.where.topic for one in listed})
    return TopicIds(source, clusters.target.logs.topic_ids({one.target_topic for one in listed}))


def _told(
    root: str, there: Mapping[TopicPartition, RemotePartition], ids: TopicIds
) -> dict[TopicPartition, list[OffsetMapping]]:
    """What the resets say of these remote topics, each pair once, as far as it lies in both logs."""
    found: dict[TopicPartition, dict[OffsetMapping, None]] = {}
    for name in sorted(files.list_names(root))[-_RESETS:]:
        if not is_finished(join(root, name)):
            log.warning("Nothing is taken from %s: the reset that wrote it ended before its time.", join(root, name))
            continue
        for row in read_dataset(join(root, name), REWINDS):
            where = TopicPartition(row["topic"], row["kafka_partition"])
            if where not in there or not _same_topics(row, there[where], ids):
                continue
            for mapping in _mappings(row):
                if _within(there[where], mapping):
                    found.setdefault(where, {})[mapping] = None
    return {where: list(mappings) for where, mappings in found.items()}


def _same_topics(row: Mapping[str, Any], one: RemotePartition, ids: TopicIds) -> bool:
    """Whether both topics have the ids that they had when the row was written, as far as it tells."""
    kept = (
        (row["topic_id"], ids.source.get(one.where.topic)),
        (row["target_topic_id"], ids.target.get(one.target_topic)),
    )
    return all(then is None or then == now for then, now in kept)


def _mappings(row: Mapping[str, Any]) -> Iterator[OffsetMapping]:
    for moment in ("closing", "opening"):
        upstream, downstream = row[f"{moment}_upstream"], row[f"{moment}_downstream"]
        if upstream is not None and downstream is not None:
            yield OffsetMapping(upstream, downstream)


def _within(one: RemotePartition, mapping: OffsetMapping) -> bool:
    source, target = one.source, one.target
    return (
        source is not None
        and target is not None
        and source.log_start <= mapping.upstream < source.log_end
        and target.log_start <= mapping.downstream < target.log_end
    )
