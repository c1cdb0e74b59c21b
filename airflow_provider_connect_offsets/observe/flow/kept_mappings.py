"""Offset mappings that earlier resets of a flow have kept, as far as the records still prove them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters, RemotePartition
from airflow_provider_connect_offsets.observe.flow.single_records import mapping_of, mapping_rows, same_records
from airflow_provider_connect_offsets.observe.flow.topic_ids import TopicIds
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import is_finished, read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.paths import join

log = logging.getLogger(__name__)
# Only the newest resets are read.
_RESETS = 20


def kept_mappings(root: str, clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> list[dict[str, Any]]:
    """Read the mappings of the newest resets whose two records still exist and are the same.

    A topic that was created anew since (its id differs) has none. If a reset has kept no ids, only the records decide.

    Args:
        root: URI of the directory with the datasets ``rewinds`` of the flow's resets; may not exist.
        clusters: Both clusters.
        remote_partitions: The partitions to read mappings of.

    Returns:
        Rows of the dataset ``kept_mappings``.

    Raises:
        StoreError: A cluster does not answer, or refuses.
    """
    by_source = {one.where: one for one in remote_partitions}
    names = {one.where.topic: one.target_topic for one in by_source.values()}
    ids = TopicIds.observed(names, clusters.source, clusters.target)
    mappings = _of_resets(root, by_source, ids) if files.list_names(root) else {}
    return _proved(clusters, by_source.values(), mappings)


def still_proved(
    rows: Iterable[Mapping[str, Any]], clusters: Clusters, remote_partitions: Iterable[RemotePartition]
) -> list[dict[str, Any]]:
    """Return those rows of an earlier dataset ``kept_mappings`` that the records still prove; raises store errors."""
    by_source = {one.where: one for one in remote_partitions}
    mappings: dict[TopicPartition, dict[OffsetMapping, None]] = {}
    for row in rows:
        where, mapping = partition_of(row), mapping_of(row)
        if where in by_source and by_source[where].covers(mapping):
            mappings.setdefault(where, {})[mapping] = None
    return _proved(clusters, by_source.values(), mappings)


def _proved(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> list[dict[str, Any]]:
    return mapping_rows(same_records(clusters, remote_partitions, mappings)) if mappings else []


def _of_resets(
    root: str, by_source: Mapping[TopicPartition, RemotePartition], ids: TopicIds
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Read the mappings of the newest resets, each once, as far as both logs cover them."""
    mappings: dict[TopicPartition, dict[OffsetMapping, None]] = {}
    for name in sorted(files.list_names(root))[-_RESETS:]:
        if not is_finished(join(root, name)):
            log.warning("%s is left out: the reset that wrote it was interrupted.", join(root, name))
            continue
        for row in read_dataset(join(root, name), REWINDS):
            where = partition_of(row)
            if where not in by_source or not _same_topics(row, by_source[where], ids):
                continue
            for mapping in _mappings(row):
                if by_source[where].covers(mapping):
                    mappings.setdefault(where, {})[mapping] = None
    return {where: list(some) for where, some in mappings.items()}


def _same_topics(row: Mapping[str, Any], one: RemotePartition, ids: TopicIds) -> bool:
    """True if both topics have the ids that the row holds; a null id is not compared."""
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
