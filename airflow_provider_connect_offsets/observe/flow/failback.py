"""What a failback needs beside the flow that leads back: the flow that brought the records to where the groups are.

Where remote topics keep their names (``IdentityReplicationPolicy``), a log holds what came from home and, behind that,
what was produced on the spot; and the log at home holds its own records and, behind them, copies of the others. So
both ends are looked for, by the records themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.spans import Span
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    Clusters,
    ReadFrom,
    RemotePartition,
    remote_partitions_of,
    timed_topics,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchored
from airflow_provider_connect_offsets.observe.lag import isolation_of
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Policy
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS, RETURN_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

# Records beyond the last sync among which the last one from home is looked for.
_BEYOND = 200


@dataclass(frozen=True, slots=True)
class Copies:
    """Where copies of what a cluster holds begin at home.

    ``origin``: what lies directly before them, on either side; ``left_behind``: records of home's own that lie between
    those that were replicated and the copies.
    """

    origin: OffsetMapping
    left_behind: int


@dataclass(frozen=True, slots=True)
class HomeEvidence:
    """What tells of the flow from home before its logs are looked at.

    ``syncs``: its offset syncs, of ``flow_look.told_syncs``; ``kept``: where its resets have kept pairs of offsets.
    """

    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]] = field(default_factory=dict)
    kept: str = ""

    def last_sync(self, where: TopicPartition) -> OffsetMapping | None:
        """The newest sync of a partition of the source; None where there is none."""
        found = self.syncs.get(where)
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Back:
    """What was seen of both ways.

    ``here``: the logs that groups leave; ``forward``: remote topics that were made there, as far as it is known where
    they end, by topics of home; ``remote_partitions``: those that the flow makes which leads back. ``kept``: rows of
    the dataset ``kept_mappings`` of the flow from home.
    """

    clusters: Clusters
    told: HomeEvidence
    compares: bool
    kept: Sequence[Mapping[str, Any]]
    here: Mapping[TopicPartition, LogBounds]
    forward: Sequence[RemotePartition]
    remote_partitions: Sequence[RemotePartition]
    copies: Mapping[TopicPartition, Copies] = field(default_factory=dict)

    def rows(self) -> list[dict[str, Any]]:
        """Rows of the dataset ``return_partitions``."""
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
            for where, bounds in self.here.items()
        ]


def observe_failback(
    request: FailoverRequest,
    clients: Clients | None,
    clusters: Clusters,
    topics: set[str],
    remote_partitions: Sequence[RemotePartition],
    *,
    told: HomeEvidence,
) -> Back:
    """Look at the flow that brought records of ``topics`` to the cluster that groups leave; changes nothing.

    doors: to its connectors; clusters and ``remote_partitions``: of the way back; told: of the flow from home. Raises
    :class:`InvalidRequest` and store errors.
    """
    away = clusters.source
    if clients is None or request.forward is None or away is None:
        raise InvalidRequest("A failback needs the flow that brought the records: forward_connector must name it.")
    flow = request.forward
    info = clients.control.info(request.forward_connector)
    there = Clusters(clusters.target, away, isolation_of(info.config))
    homes = {home for topic in topics if (home := flow.source_topic(topic)) is not None}
    # As it is stopped, nothing comes behind what it has stored, whatever is left at home. No group was in a partition
    # that is at home only.
    looked_at = [one for one in remote_partitions_of(info, clients, there, homes) if one.target is not None]
    made = [replace(one, drained=one.stored is not None) for one in looked_at]
    counts = away.logs.topics()
    here = away.logs.bounds(TopicPartition(topic, n) for topic in topics for n in range(counts.get(topic, 0)))
    copies: dict[TopicPartition, Copies] = {}
    if flow.policy is Policy.IDENTITY:
        made = _ended(there, made, told)
        copies = _copies(there, made, here)
        mixed = {one.on_target for one in made}
        remote_partitions = [
            replace(one, origin=copies[one.where].origin if one.where in copies else None)
            if one.where in mixed
            else one
            for one in remote_partitions
        ]
    made = anchored(there, made)
    mappings = kept_mappings(told.kept, there, made) if told.kept else []
    return Back(there, told, request.compared > 0, mappings, here, made, remote_partitions, copies)


def write_return(back: Back, directory: FailoverDirectory, ranges: FailoverDirectory | None) -> None:
    """Write what was seen, beside what belongs to the flow that leads back; ``ranges`` as ``failover.look`` has it."""
    own, clusters = directory.forward, back.clusters
    read_from: dict[TopicPartition, ReadFrom] = {}
    if ranges is not None and back.compares:
        read_from = write_compared(clusters, _replicated_only(back), ranges.forward, own)
    if ranges is not None:
        write_checked_claims(clusters, back.forward, ranges.forward, own)
    write_dataset(own.kept_mappings, KEPT_MAPPINGS, back.kept)
    write_dataset(own.mirror_partitions, MIRROR_PARTITIONS, [one.row(read_from.get(one.where)) for one in back.forward])
    write_dataset(directory.return_partitions, RETURN_PARTITIONS, back.rows())


def _replicated_only(back: Back) -> list[RemotePartition]:
    """The same remote topics, their sources cut off behind all of which a copy may stand: home has gone on since.

    A flow that broke off has stored less than it has replicated, but no more of it than stands behind its last sync.
    """
    return [
        replace(one, source=replace(one.source, log_end=min(one.source.log_end, _come_to(one.stored, log, sync))))
        if one.source is not None and log is not None and one.stored is not None and sync is not None
        else one
        for one in back.forward
        for log, sync in [(one.target, back.told.last_sync(one.where))]
    ]


def _come_to(stored: int, log: LogBounds, sync: OffsetMapping) -> int:
    """Before which offset everything lies that may have been replicated, with room for gaps."""
    behind = max(log.log_end - sync.downstream, 0)
    return max(stored + 1, sync.upstream + 2 * behind + _BEYOND)


def _ended(clusters: Clusters, made: Iterable[RemotePartition], told: HomeEvidence) -> list[RemotePartition]:
    """Find where the part of each log ends that the flow from home has written; leave out where that isn't found.

    Its last record is that at the stored offset, which lies a little behind the last sync.
    """
    source = clusters.source
    listed = list(made)
    last = {one.where: sync for one in listed if (sync := told.last_sync(one.where)) is not None}
    asked = {
        one.where: (one, one.target, one.stored)
        for one in listed
        if one.where in last and one.stored is not None and one.source and one.source.log_start <= one.stored
        if one.target is not None
    }
    if source is None or not asked:
        return []
    timed = timed_topics([one for one, _, _ in asked.values()])
    with source.spans(clusters.isolation) as logs:
        spans = {where: Span(stored, stored + 1) for where, (_, _, stored) in asked.items()}
        wanted = {one.where: one.digest for one in logs.digests(spans, timed=timed)}
    with clusters.target.spans() as logs:
        spans = {one.on_target: _about(log, last[one.where], stored) for one, log, stored in asked.values()}
        found = {
            one.where: one.offset for one in logs.digests(spans, timed=timed) if one.digest == wanted.get(one.where)
        }
    return [
        replace(one, target=replace(log, log_end=found[one.on_target] + 1))
        for one, log, _ in asked.values()
        if one.on_target in found
    ]


def _about(log: LogBounds, sync: OffsetMapping, stored: int) -> Span:
    """Where the copy of the record at ``stored`` may stand: behind the sync, with room for gaps and repetitions."""
    start = min(max(sync.downstream, log.log_start), log.log_end)
    return Span(start, min(start + 2 * max(stored - sync.upstream, 0) + _BEYOND, log.log_end))


def _copies(
    clusters: Clusters, made: Iterable[RemotePartition], here: Mapping[TopicPartition, LogBounds]
) -> dict[TopicPartition, Copies]:
    """Find where copies of each log begin at home: of what was produced on the spot, or of the log as a whole.

    Looked for behind the last record that was replicated from home.
    """
    source = clusters.source
    beyond = {
        one.where: Span(max(one.stored + 1, one.source.log_start), one.source.log_end)
        for one in made
        if one.source is not None and one.stored is not None and one.stored + 1 < one.source.log_end
    }
    if source is None or not beyond:
        return {}
    remote_partitions = {one.where: one for one in made if one.where in beyond}
    timed = timed_topics(remote_partitions.values())
    firsts = [
        (one, (one.target.log_end, here[one.on_target].log_start))
        for one in remote_partitions.values()
        if one.target is not None
    ]
    ours: dict[TopicPartition, dict[bytes, int]] = {}
    with clusters.target.spans() as logs:
        for number in range(2):  # of the two, the first is looked for first
            spans = {
                one.on_target: Span(starts[number], starts[number] + 1)
                for one, starts in firsts
                if starts[number] < here[one.on_target].log_end
            }
            for digest in logs.digests(spans, timed=timed):
                ours.setdefault(digest.where, {}).setdefault(digest.digest, digest.offset)
    found: dict[TopicPartition, Copies] = {}
    passed: dict[TopicPartition, int] = {}
    with source.spans(clusters.isolation) as logs:
        for digest in logs.digests(beyond, timed=timed):
            where = remote_partitions[digest.where].on_target
            begins = ours.get(where, {}).get(digest.digest)
            if begins is not None and where not in found:
                found[where] = Copies(OffsetMapping(begins - 1, digest.offset - 1), passed.get(where, 0))
            passed[where] = passed.get(where, 0) + 1
    return found
