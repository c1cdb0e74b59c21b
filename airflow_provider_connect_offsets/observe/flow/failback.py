"""Observes the forward flow of a failback: the flow that replicated the records to the cluster that groups leave.

Home is the cluster that the groups return to, the forward flow's source. With ``IdentityReplicationPolicy`` remote
topics keep their names. Then a log on the other cluster holds copies of the home cluster's records, followed by records
that were produced on the other cluster. The log on the home cluster holds the records that were produced there,
followed by copies of the other cluster's records. The digests of the records show at which offsets these parts begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    ReadFrom,
    RemotePartition,
    remote_partitions_of,
    timed_topics,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchor
from airflow_provider_connect_offsets.observe.lag import isolation_of
from airflow_provider_connect_offsets.observe.partitions import partitions_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Policy
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS, RETURN_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

# How many offsets beyond the last sync are searched for the last record from home.
_BEYOND = 200


@dataclass(frozen=True, slots=True)
class Copies:
    """Where the home cluster's log begins to hold copies of the other cluster's records.

    Attributes:
        origin: The offsets directly before the first copied record: upstream on the other cluster, downstream on the
            home cluster.
        left_behind: How many records of home lie between the last replicated record and the copies.
    """

    origin: OffsetMapping
    left_behind: int


@dataclass(frozen=True, slots=True)
class HomeEvidence:
    """What is known about the forward flow before its logs are read.

    Attributes:
        syncs: Its offset syncs that are compared, the newest of each partition last.
        kept: URI of the datasets ``rewinds`` of its resets; empty: none.
    """

    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]] = field(default_factory=dict)
    kept: str = ""

    def last_sync(self, where: TopicPartition) -> OffsetMapping | None:
        """Return the newest offset sync of a partition on the home cluster; None if the partition has none."""
        syncs = self.syncs.get(where)
        return syncs[-1] if syncs else None


@dataclass(frozen=True, slots=True)
class ObservedFailback:
    """Both flows between home and the cluster that groups leave.

    Attributes:
        clusters: The clusters of the forward flow; its target is the cluster that groups leave.
        evidence: What was known before the logs were read.
        compares: True if ranges of records are compared.
        kept: Rows of the dataset ``kept_mappings`` of the forward flow.
        logs: Bounds of the logs that groups leave.
        forward: The forward flow's remote partitions whose last record from home is known.
        remote_partitions: The remote partitions of the flow that leads back.
        copies: Where copies begin on the home cluster, by partition that groups leave.
    """

    clusters: Clusters
    evidence: HomeEvidence
    compares: bool
    kept: Sequence[Mapping[str, Any]]
    logs: Mapping[TopicPartition, LogBounds]
    forward: Sequence[RemotePartition]
    remote_partitions: Sequence[RemotePartition]
    copies: Mapping[TopicPartition, Copies] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the dataset ``return_partitions``."""
        ends = {one.on_target: one.target.log_end for one in self.forward if one.target is not None}
        return [
            {
                "topic": where.topic,
                "kafka_partition": where.partition,
                "log_end": bounds.log_end,
                "forward_end": ends.get(where),
                "copied_from": None if where not in self.copies else self.copies[where].origin.upstream + 1,
                "left_behind": None if where not in self.copies else self.copies[where].left_behind,
            }
            for where, bounds in self.logs.items()
        ]


def observe_failback(
    request: FailoverRequest,
    clients: Clients | None,
    clusters: Clusters,
    topics: set[str],
    remote_partitions: Sequence[RemotePartition],
    *,
    evidence: HomeEvidence,
) -> ObservedFailback:
    """Observe the forward flow of a failback; changes nothing.

    Args:
        request: The failback.
        clients: Clients of the forward flow's connectors.
        clusters: The clusters of the flow that leads back.
        topics: Topics of the cluster that groups leave.
        remote_partitions: Remote partitions of the flow that leads back.
        evidence: What is known about the forward flow.

    Raises:
        InvalidRequest: The forward flow, its connectors or its cluster are not named.
        StoreError: A system does not answer, or refuses.
    """
    away = clusters.source
    if clients is None or request.forward is None or away is None:
        raise InvalidRequest(
            "A failback needs the forward flow, which replicated the records before the failover. Set "
            "forward_connector to its MirrorSourceConnector."
        )
    flow = request.forward
    info = clients.control.info(request.forward_connector)
    forward_clusters = Clusters(clusters.target, away, isolation_of(info))
    homes = {home for topic in topics if (home := flow.source_topic(topic)) is not None}
    # The forward flow is stopped: it replicates nothing beyond its stored offset, even if the home cluster has more.
    # Partitions without a remote partition concern no group.
    replicated = [one for one in remote_partitions_of(info, clients, forward_clusters, homes) if one.target is not None]
    forward = [replace(one, drained=one.stored is not None) for one in replicated]
    logs = away.bounds(partitions_of(away.counts_of(topics), topics))
    copies: dict[TopicPartition, Copies] = {}
    if flow.policy is Policy.IDENTITY:
        forward = _set_ends(forward_clusters, forward, evidence)
        copies = _copies(forward_clusters, forward, logs)
        mixed = {one.on_target for one in forward}
        remote_partitions = [
            replace(one, origin=copies[one.where].origin if one.where in copies else None)
            if one.where in mixed
            else one
            for one in remote_partitions
        ]
    forward = anchor(forward_clusters, forward, evidence.syncs)
    kept = kept_mappings(evidence.kept, forward_clusters, forward) if evidence.kept else []
    return ObservedFailback(
        forward_clusters, evidence, request.compared > 0, kept, logs, forward, remote_partitions, copies
    )


def write_failback(back: ObservedFailback, directory: FailoverDirectory, ranges: FailoverDirectory | None) -> None:
    """Write the observed forward flow into ``directory``; ``ranges``: as in ``failover.observe_failover``."""
    own, clusters = directory.forward_directory, back.clusters
    read_from: dict[TopicPartition, ReadFrom] = {}
    if ranges is not None and back.compares:
        read_from = write_compared(clusters, _cut_to_replicated(back), ranges.forward_directory, own)
    if ranges is not None:
        write_checked_claims(clusters, back.forward, ranges.forward_directory, own)
    write_dataset(own.kept_mappings, KEPT_MAPPINGS, back.kept)
    write_dataset(own.mirror_partitions, MIRROR_PARTITIONS, [one.row(read_from.get(one.where)) for one in back.forward])
    write_dataset(directory.return_partitions, RETURN_PARTITIONS, back.rows())


def _cut_to_replicated(back: ObservedFailback) -> list[RemotePartition]:
    """Cut each source off after the last record that may have been replicated, as home may have later records.

    An interrupted flow has stored less than it has replicated, but its last sync limits how much it has replicated.
    """
    return [
        replace(
            one, source=replace(one.source, log_end=min(one.source.log_end, _replicated_end(one.stored, log, sync)))
        )
        if one.source is not None and log is not None and one.stored is not None and sync is not None
        else one
        for one in back.forward
        for log, sync in [(one.target, back.evidence.last_sync(one.where))]
    ]


def _replicated_end(stored: int, log: LogBounds, sync: OffsetMapping) -> int:
    """Return the offset before which all records lie that may have been replicated, with room for gaps."""
    after_sync = max(log.log_end - sync.downstream, 0)
    return max(stored + 1, sync.upstream + 2 * after_sync + _BEYOND)


def _set_ends(clusters: Clusters, forward: Iterable[RemotePartition], evidence: HomeEvidence) -> list[RemotePartition]:
    """Set each target's log end to the end of the records from home; leave out partitions whose end is not found.

    The last record from home is the record at the stored offset, a little after the last sync.
    """
    source = clusters.source
    listed = list(forward)
    last = {one.where: sync for one in listed if (sync := evidence.last_sync(one.where)) is not None}
    searched = {
        one.where: (one, one.target, one.stored)
        for one in listed
        if one.where in last and one.stored is not None and one.source and one.source.log_start <= one.stored
        if one.target is not None
    }
    if source is None or not searched:
        return []
    timed = timed_topics([one for one, _, _ in searched.values()])
    with source.spans(clusters.isolation) as logs:
        spans = {where: range(stored, stored + 1) for where, (_, _, stored) in searched.items()}
        expected = {one.where: one.digest for one in logs.digests(spans, timed=timed)}
    with clusters.target.spans() as logs:
        spans = {one.on_target: _search_span(log, last[one.where], stored) for one, log, stored in searched.values()}
        ends = {
            one.where: one.offset for one in logs.digests(spans, timed=timed) if one.digest == expected.get(one.where)
        }
    return [
        replace(one, target=replace(log, log_end=ends[one.on_target] + 1))
        for one, log, _ in searched.values()
        if one.on_target in ends
    ]


def _search_span(log: LogBounds, sync: OffsetMapping, stored: int) -> range:
    """Return where the copy of the record at ``stored`` may be: after the sync, with room for gaps and repetitions."""
    start = min(max(sync.downstream, log.log_start), log.log_end)
    return range(start, min(start + 2 * max(stored - sync.upstream, 0) + _BEYOND, log.log_end))


def _copies(
    clusters: Clusters, forward: Iterable[RemotePartition], logs_away: Mapping[TopicPartition, LogBounds]
) -> dict[TopicPartition, Copies]:
    """Find where the copies of each log begin on the home cluster, after the last record replicated from there.

    The first copy is a copy of the first record produced away, or else of the first record of the whole log.
    """
    source = clusters.source
    beyond = {
        one.where: range(max(one.stored + 1, one.source.log_start), one.source.log_end)
        for one in forward
        if one.source is not None and one.stored is not None and one.stored + 1 < one.source.log_end
    }
    if source is None or not beyond:
        return {}
    remote_partitions = {one.where: one for one in forward if one.where in beyond}
    timed = timed_topics(remote_partitions.values())
    starts = [
        (one, (one.target.log_end, logs_away[one.on_target].log_start))
        for one in remote_partitions.values()
        if one.target is not None
    ]
    away: dict[TopicPartition, dict[bytes, int]] = {}
    with clusters.target.spans() as logs:
        for number in range(2):  # the first record produced away takes precedence over the first of the whole log
            spans = {
                one.on_target: range(both[number], both[number] + 1)
                for one, both in starts
                if both[number] < logs_away[one.on_target].log_end
            }
            for digest in logs.digests(spans, timed=timed):
                away.setdefault(digest.where, {}).setdefault(digest.digest, digest.offset)
    copies: dict[TopicPartition, Copies] = {}
    passed: dict[TopicPartition, int] = {}
    with source.spans(clusters.isolation) as logs:
        for digest in logs.digests(beyond, timed=timed):
            where = remote_partitions[digest.where].on_target
            offset = away.get(where, {}).get(digest.digest)
            if offset is not None and where not in copies:
                copies[where] = Copies(OffsetMapping(offset - 1, digest.offset - 1), passed.get(where, 0))
            passed[where] = passed.get(where, 0) + 1
    return copies
