"""A failover of consumer groups up to the commit: looks, waiting until all is replicated, and standing still."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotDrained
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.doors import Doors
from airflow_provider_connect_offsets.observe.flow.bisected import bisected, current
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.failback import HomeEvidence, look_back, write_return
from airflow_provider_connect_offsets.observe.flow.flow_look import (
    Group,
    GroupsOfFlow,
    groups_named,
    groups_of,
    told_syncs,
    write_look,
    write_told,
)
from airflow_provider_connect_offsets.observe.flow.kept_pairs import kept_pairs, still_proved
from airflow_provider_connect_offsets.observe.flow.ledger_look import write_left
from airflow_provider_connect_offsets.observe.flow.replicas import (
    Clusters,
    Pair,
    Replica,
    replicas_left,
    replicas_of,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchored
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_PAIRS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_NAMED = 3


@dataclass(frozen=True, slots=True)
class FailoverDoors:
    """What a failover goes through; ``connect`` is needed where it is planned, ``forward`` in a failback.

    ``connect`` leads to the connectors of the flow that goes the same way, ``forward`` to those of the opposite one.
    ``kept`` and ``forward_kept``: where the resets of the one and the other have kept pairs of offsets; may be empty.
    ``ledger``: where looks at the flow's readiness have kept what is needed without the source; may be empty.
    """

    clusters: Clusters
    connect: Doors | None = None
    forward: Doors | None = None
    kept: str = ""
    forward_kept: str = ""
    ledger: str = ""

    def asked(self, request: FailoverRequest) -> FailoverDoors:
        """The same doors, to be looked through as MirrorSource does."""
        isolation = Isolation.READ_COMMITTED if request.reads_committed else Isolation.READ_UNCOMMITTED
        return replace(self, clusters=replace(self.clusters, isolation=isolation))

    def info(self, request: FailoverRequest) -> ConnectorInfo:
        """The flow's MirrorSource; raises :class:`InvalidRequest` where there is no way to it."""
        if self.connect is None:
            raise InvalidRequest("A planned failover needs Connect: connect_conn_id must name its connection.")
        return self.connect.control.info(request.source_connector)


def look(
    request: FailoverRequest,
    doors: FailoverDoors,
    directory: FailoverDirectory,
    *,
    ranges: FailoverDirectory | None = None,
) -> GroupsOfFlow:
    """Look at the flow and write what a translation is made from; changes nothing.

    ranges: where an earlier translation has written ``compare_ranges`` and ``sampled_claims``: those records are read
    as well, which needs a flow that stands still; before they are, :class:`NotDrained` is raised where records are left
    to be replicated. Raises :class:`InvalidRequest` and store errors.
    """
    doors = doors.asked(request)
    write_told(request, doors.clusters, directory)
    if request.mode is Mode.PLANNED:
        found = _planned(request, doors, told_syncs(directory), ranges)
    else:
        found = _unplanned(request, doors)
    if request.forward is not None:
        topics = _concerned(found.of_source, request)
        told = HomeEvidence(told_syncs(directory.forward), doors.forward_kept)
        back = look_back(request, doors.forward, doors.clusters, topics, found.replicas, told=told)
        write_return(back, directory, ranges)
        found = replace(found, replicas=back.replicas)
    if ranges is not None and request.compared and doors.clusters.source is not None:
        read_from = write_compared(doors.clusters, found.replicas, ranges, directory)
        found = replace(found, read_from=read_from)
    if request.mode is Mode.UNPLANNED and doors.ledger:
        left = write_left(request, doors.clusters.target, found.replicas, doors.ledger, directory)
        found = replace(found, read_from=left)
    if ranges is not None:
        write_checked_claims(doors.clusters, found.replicas, ranges, directory)
    write_look(request, directory, found)
    return found


def await_drained(request: FailoverRequest, doors: FailoverDoors, *, patience: float) -> None:
    """Wait until nothing that concerns the groups is left to be replicated; raises :class:`NotDrained`.

    patience: seconds. MirrorSource stores its offsets every ``offset.flush.interval.ms`` (a minute, by default).
    """
    if not request.source_connector:
        return  # a failback without a flow that leads back
    connect = doors.connect
    if connect is None:
        raise InvalidRequest("A planned failover needs Connect: connect_conn_id must name its connection.")
    topics = _concerned(groups_of(_source(doors), request.groups), request)
    left = replace(connect, patience=patience).settle(
        lambda: _left(_replicas(request, doors.asked(request), topics)), until=lambda left: not left
    )
    if left:
        raise NotDrained(
            f"Nothing was stopped, and no group was moved: after {patience:g} s {_told(left)}. Stop the producers of "
            "these topics; if nothing is produced any more, look at the state of the connector's tasks."
        )


def refuse_undrained(replicas: Iterable[Replica]) -> None:
    """Raise :class:`NotDrained` where a record came after the last look, or the connector had not stored its offset."""
    left = _left(replicas)
    if left:
        raise NotDrained(f"No group was moved: with the connector stopped, {_told(left)}. Are its producers stopped?")


def _planned(
    request: FailoverRequest,
    doors: FailoverDoors,
    syncs: Mapping[TopicPartition, Sequence[Pair]],
    ranges: FailoverDirectory | None,
) -> GroupsOfFlow:
    of_source = groups_of(_source(doors), request.groups)
    of_target = groups_named(doors.clusters.target, of_source)
    replicas = _replicas(request, doors, _concerned(of_source, request))
    if ranges is not None:
        refuse_undrained(replicas)  # before anything long is read
    replicas = anchored(doors.clusters, replicas)
    kept = kept_pairs(doors.kept, doors.clusters, replicas) if doors.kept else []
    if ranges is not None:
        proved = {_mapping(row) for row in kept}
        earlier = [row for row in read_dataset(ranges.kept_pairs, KEPT_PAIRS) if _mapping(row) not in proved]
        kept += still_proved(earlier, doors.clusters, replicas)
    known = _mappings(replicas, syncs, kept)
    found = bisected(doors.clusters, replicas, known, _lowest(of_source))
    return GroupsOfFlow(of_source, of_target, replicas, kept=[*kept, *found])


def _mapping(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a row of ``kept_pairs`` says."""
    return row["topic"], row["kafka_partition"], row["upstream"], row["downstream"]


def _mappings(
    replicas: Iterable[Replica],
    syncs: Mapping[TopicPartition, Sequence[Pair]],
    kept: Iterable[Mapping[str, Any]],
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Offset mappings that are known before any record is searched for."""
    pairs: dict[TopicPartition, list[Pair]] = {}
    for row in kept:
        where = TopicPartition(row["topic"], row["kafka_partition"])
        pairs.setdefault(where, []).append(Pair(row["upstream"], row["downstream"]))
    return {one.where: current(one, syncs.get(one.where, ()), pairs.get(one.where, ())) for one in replicas}


def _lowest(groups: Mapping[str, Group]) -> dict[TopicPartition, int]:
    """The lowest position of any group, by partition."""
    lowest: dict[TopicPartition, int] = {}
    for group in groups.values():
        for where, committed in group.offsets.items():
            lowest[where] = min(committed.offset, lowest.get(where, committed.offset))
    return lowest


def _unplanned(request: FailoverRequest, doors: FailoverDoors) -> GroupsOfFlow:
    """Groups that aren't there yet have neither members nor offsets; the checkpoints name them."""
    of_target = groups_of(doors.clusters.target, request.groups)
    return GroupsOfFlow({}, of_target, replicas_left(request.flow, doors.clusters.target))


def _source(doors: FailoverDoors) -> KafkaCluster:
    if doors.clusters.source is None:
        raise InvalidRequest("A planned failover needs the source: source_kafka_conn_id must name its connection.")
    return doors.clusters.source


def _concerned(groups: Mapping[str, Group], request: FailoverRequest) -> set[str]:
    wanted = re.compile(request.topics or ".*")
    return {where.topic for group in groups.values() for where in group.offsets if wanted.fullmatch(where.topic)}


def _replicas(request: FailoverRequest, doors: FailoverDoors, topics: set[str]) -> list[Replica]:
    if not request.source_connector:
        return []
    info = doors.info(request)
    return [] if doors.connect is None else replicas_of(info, doors.connect, doors.clusters, topics)


def _left(replicas: Iterable[Replica]) -> list[Replica]:
    return [one for one in replicas if not one.drained]


def _told(left: Sequence[Replica]) -> str:
    named = "; ".join(_behind(one) for one in left[:_NAMED])
    return f"{named}{f'; and {len(left) - _NAMED:,} partitions more' if len(left) > _NAMED else ''}"


def _behind(one: Replica) -> str:
    end = one.source.log_end if one.source else 0
    stored = "nothing is stored" if one.stored is None else f"{one.stored:,} is the last offset that is stored"
    absent = (
        f"the target's {one.target_topic!r} has no such partition, which MirrorSource adds when it starts and every "
        "refresh.topics.interval.seconds"
    )
    told = stored if one.target is not None else absent
    return f"topic {one.where.topic!r}, partition {one.where.partition} ends at {end:,} and {told}"
