"""The exact offset mappings at which a flow is stopped: resets keep them, later translations read them.

Two mappings of one generation translate all offsets between them. A reset that moves a partition back ends one
generation (its closing mapping) and begins another (its opening mapping); in a partition that it leaves alone, both
mappings belong to the same generation. Only mappings that the records of both logs still prove are returned.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import remote_bounds
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition
from airflow_provider_connect_offsets.observe.flow.single_records import (
    mapping_of,
    mapping_rows,
    mappings_of,
    select_same_records,
)
from airflow_provider_connect_offsets.observe.flow.topic_ids import TopicIds
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import is_finished, read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.paths import join

log = logging.getLogger(__name__)
# Only the newest resets are read.
_RESETS = 20


def keep_rewinds(run: ResetDirectory, plan: OffsetPlan, at_stop: Offsets, clients: Clients, flow: Flow) -> None:
    """Write the dataset ``rewinds``; the flow must be stopped on ``at_stop``. Raises store errors."""
    names = {row.topic: flow.target_topic(row.topic) for row in plan.rows if row.topic is not None}
    source, target = clients.both_clusters.on(Side.SOURCE), clients.both_clusters.target
    bounds = remote_bounds(target, flow, set(names), replicated=set(names))
    ends = {where: one.log_end for where, one in bounds.items()}
    ids = TopicIds.observe(names, source, target)
    write_dataset(run.rewinds, REWINDS, rewinds(plan, at_stop, ends, flow, now=datetime.now(tz=UTC), ids=ids))


def rewinds(
    plan: OffsetPlan,
    at_stop: Offsets,
    ends: dict[TopicPartition, int],
    flow: Flow,
    *,
    now: datetime,
    ids: TopicIds,
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the dataset ``rewinds``.

    Args:
        plan: The reset.
        at_stop: The offsets at which the MirrorSource is stopped.
        ends: Log end offsets of the remote topics; a missing partition does not exist yet and ends at 0.
        flow: The flow.
        now: The time of the stop.
        ids: Ids of the topics.
    """
    stored = at_stop.by_partition()
    for row in plan.rows:
        if row.topic is None or row.kafka_partition is None:
            continue
        end = ends.get(TopicPartition(flow.target_topic(row.topic), row.kafka_partition), 0)
        position = plan.family.position_in(stored.get(row.partition))
        closes = position is not None and end > 0
        yield {
            "topic": row.topic,
            "kafka_partition": row.kafka_partition,
            "closing_upstream": position - 1 if closes and position is not None else None,
            "closing_downstream": end - 1 if closes else None,
            "opening_upstream": _opening_offset(row, position),
            "opening_downstream": end,
            "written_at": now,
            "topic_id": ids.source.get(row.topic),
            "target_topic_id": ids.target.get(flow.target_topic(row.topic)),
        }


def append_rewinds(run: ResetDirectory, root: str, *, digest: str) -> str:
    """Copy the run's dataset ``rewinds`` into the directory with the datasets of all resets of the flow.

    A repeated call writes the same dataset once more.

    Args:
        run: Directory of the run.
        root: URI of the directory for all resets.
        digest: Digest of the plan; part of the new dataset's name.

    Returns:
        URI of the new dataset.
    """
    rows = read_dataset(run.rewinds, REWINDS)
    stopped_at = min((row["written_at"] for row in rows), default=datetime.now(tz=UTC))
    uri = join(root, f"{stopped_at:%Y%m%dT%H%M%S}Z-{digest[:12]}")
    write_dataset(uri, REWINDS, rows)
    return uri


def kept_mappings(root: str, clusters: Clusters, remote_partitions: Iterable[RemotePartition]) -> list[dict[str, Any]]:
    """Read the mappings of the newest resets whose two records still exist and are the same.

    A topic that has been recreated since (its id differs) has no mappings. If a reset has kept no ids, only the records
    decide.

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
    ids = TopicIds.observe(names, clusters.source, clusters.target)
    mappings = _of_resets(root, by_source, ids) if files.list_names(root) else {}
    return _prove(clusters, by_source.values(), mappings)


def prove_again(
    rows: Iterable[Mapping[str, Any]], clusters: Clusters, remote_partitions: Iterable[RemotePartition]
) -> list[dict[str, Any]]:
    """Return the rows of an earlier dataset ``kept_mappings`` that the records still prove; raises store errors.

    Of the mappings between which all records were read, the last mapping of a partition proves all others: old records
    don't change.
    """
    by_source = {one.where: one for one in remote_partitions}
    known = (row for row in rows if partition_of(row) in by_source)
    covered = mappings_of(row for row in known if by_source[partition_of(row)].covers(mapping_of(row)))
    proofs = {where: _proofs(some) for where, some in covered.items()}
    proved = select_same_records(
        clusters, by_source.values(), {where: {*some.values()} for where, some in proofs.items()}
    )
    return mapping_rows(
        {where: [one for one in covered[where] if proofs[where][one] in some] for where, some in proved.items()}
    )


def _proofs(mappings: Collection[OffsetMapping]) -> dict[OffsetMapping, OffsetMapping]:
    """Return for each mapping the mapping whose two records prove it."""
    last = max((one for one in mappings if one.next_downstream is not None), key=attrgetter("downstream"), default=None)
    return {one: one if one.next_downstream is None or last is None else last for one in mappings}


def _prove(
    clusters: Clusters,
    remote_partitions: Iterable[RemotePartition],
    mappings: Mapping[TopicPartition, Collection[OffsetMapping]],
) -> list[dict[str, Any]]:
    return mapping_rows(select_same_records(clusters, remote_partitions, mappings)) if mappings else []


def _of_resets(
    root: str, by_source: Mapping[TopicPartition, RemotePartition], ids: TopicIds
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Read the mappings of the newest resets, as far as both logs cover them."""
    mappings: dict[TopicPartition, list[OffsetMapping]] = {}
    for name in sorted(files.list_names(root))[-_RESETS:]:
        if not is_finished(join(root, name)):
            log.warning(
                "The offset mappings in %s are not used, because the reset that wrote them was interrupted.",
                join(root, name),
            )
            continue
        for row in read_dataset(join(root, name), REWINDS):
            where = partition_of(row)
            if where not in by_source or not _has_same_topics(row, by_source[where], ids):
                continue
            for mapping in _mappings(row):
                if by_source[where].covers(mapping):
                    mappings.setdefault(where, []).append(mapping)
    return mappings


def _has_same_topics(row: Mapping[str, Any], one: RemotePartition, ids: TopicIds) -> bool:
    """Whether both topics have the ids that the row holds; a null id is not compared."""
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


def _opening_offset(row: PlanRow, position: int | None) -> int | None:
    """Return the offset of the next record to be replicated; None if ``auto.offset.reset`` decides."""
    return position if row.action is Action.KEEP else row.after_position
