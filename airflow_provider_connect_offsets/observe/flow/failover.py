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
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.bisected import bisected, current
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.failback import HomeEvidence, observe_failback, write_return
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings, still_proved
from airflow_provider_connect_offsets.observe.flow.ledger_observed import write_left
from airflow_provider_connect_offsets.observe.flow.observed_groups import (
    Group,
    GroupsOfFlow,
    groups_named,
    groups_of,
    told_syncs,
    write_observation,
    write_told,
)
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    Clusters,
    RemotePartition,
    remote_partitions_left,
    remote_partitions_of,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchored
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory

_NAMED = 3


@dataclass(frozen=True, slots=True)
class FailoverClients:
    """What a failover goes through; ``connect`` is needed where it is planned, ``forward`` in a failback.

    ``connect`` leads to the connectors of the flow that goes the same way, ``forward`` to those of the opposite one.
    ``kept`` and ``forward_kept``: where the resets of the one and the other have kept pairs of offsets; may be empty.
    ``ledger``: where looks at the flow's readiness have kept what is needed without the source; may be empty.
    """

    clusters: Clusters
    connect: Clients | None = None
    forward: Clients | None = None
    kept: str = ""
    forward_kept: str = ""
    ledger: str = ""

    def asked(self, request: FailoverRequest) -> FailoverClients:
        """The same doors, to be looked through as MirrorSource does."""
        isolation = Isolation.READ_COMMITTED if request.reads_committed else Isolation.READ_UNCOMMITTED
        return replace(self, clusters=replace(self.clusters, isolation=isolation))

    def info(self, request: FailoverRequest) -> ConnectorInfo:
        """The flow's MirrorSource; raises :class:`InvalidRequest` where there is no way to it."""
        if self.connect is None:
            raise InvalidRequest("A planned failover needs Connect: connect_conn_id must name its connection.")
        return self.connect.control.info(request.source_connector)


def observe_failover(
    request: FailoverRequest,
    clients: FailoverClients,
    directory: FailoverDirectory,
    *,
    ranges: FailoverDirectory | None = None,
) -> GroupsOfFlow:
    """Look at the flow and write what a translation is made from; changes nothing.

    ranges: where an earlier translation has written ``compare_ranges`` and ``sampled_claims``: those records are read
    as well, which needs a flow that stands still; before they are, :class:`NotDrained` is raised where records are left
    to be replicated. Raises :class:`InvalidRequest` and store errors.
    """
    clients = clients.asked(request)
    write_told(request, clients.clusters, directory)
    if request.mode is Mode.PLANNED:
        found = _planned(request, clients, told_syncs(directory), ranges)
    else:
        found = _unplanned(request, clients)
    if request.forward is not None:
        topics = _concerned(found.of_source, request)
        told = HomeEvidence(told_syncs(directory.forward), clients.forward_kept)
        back = observe_failback(request, clients.forward, clients.clusters, topics, found.remote_partitions, told=told)
        write_return(back, directory, ranges)
        found = replace(found, remote_partitions=back.remote_partitions)
    if ranges is not None and request.compared and clients.clusters.source is not None:
        read_from = write_compared(clients.clusters, found.remote_partitions, ranges, directory)
        found = replace(found, read_from=read_from)
    if request.mode is Mode.UNPLANNED and clients.ledger:
        left = write_left(request, clients.clusters.target, found.remote_partitions, clients.ledger, directory)
        found = replace(found, read_from=left)
    if ranges is not None:
        write_checked_claims(clients.clusters, found.remote_partitions, ranges, directory)
    write_observation(request, directory, found)
    return found


def await_drained(request: FailoverRequest, clients: FailoverClients, *, timeout: float) -> None:
    """Wait until nothing that concerns the groups is left to be replicated; raises :class:`NotDrained`.

    timeout: seconds. MirrorSource stores its offsets every ``offset.flush.interval.ms`` (a minute, by default).
    """
    if not request.source_connector:
        return  # a failback without a flow that leads back
    connect = clients.connect
    if connect is None:
        raise InvalidRequest("A planned failover needs Connect: connect_conn_id must name its connection.")
    topics = _concerned(groups_of(_source(clients), request.groups), request)
    left = replace(connect, timeout=timeout).settle(
        lambda: _left(_remote_partitions(request, clients.asked(request), topics)), until=lambda left: not left
    )
    if left:
        raise NotDrained(
            f"Nothing was stopped, and no group was moved: after {timeout:g} s {_told(left)}. Stop the producers of "
            "these topics; if nothing is produced any more, look at the state of the connector's tasks."
        )


def refuse_undrained(remote_partitions: Iterable[RemotePartition]) -> None:
    """Raise :class:`NotDrained` where a record came after the last look, or the connector had not stored its offset."""
    left = _left(remote_partitions)
    if left:
        raise NotDrained(f"No group was moved: with the connector stopped, {_told(left)}. Are its producers stopped?")


def _planned(
    request: FailoverRequest,
    clients: FailoverClients,
    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]],
    ranges: FailoverDirectory | None,
) -> GroupsOfFlow:
    of_source = groups_of(_source(clients), request.groups)
    of_target = groups_named(clients.clusters.target, of_source)
    remote_partitions = _remote_partitions(request, clients, _concerned(of_source, request))
    if ranges is not None:
        refuse_undrained(remote_partitions)  # before anything long is read
    remote_partitions = anchored(clients.clusters, remote_partitions)
    kept = kept_mappings(clients.kept, clients.clusters, remote_partitions) if clients.kept else []
    if ranges is not None:
        proved = {_mapping(row) for row in kept}
        earlier = [row for row in read_dataset(ranges.kept_mappings, KEPT_MAPPINGS) if _mapping(row) not in proved]
        kept += still_proved(earlier, clients.clusters, remote_partitions)
    known = _mappings(remote_partitions, syncs, kept)
    found = bisected(clients.clusters, remote_partitions, known, _lowest(of_source))
    return GroupsOfFlow(of_source, of_target, remote_partitions, kept=[*kept, *found])


def _mapping(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a row of ``kept_mappings`` says."""
    return row["topic"], row["kafka_partition"], row["upstream"], row["downstream"]


def _mappings(
    remote_partitions: Iterable[RemotePartition],
    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]],
    kept: Iterable[Mapping[str, Any]],
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Offset mappings that are known before any record is searched for."""
    mappings: dict[TopicPartition, list[OffsetMapping]] = {}
    for row in kept:
        where = TopicPartition(row["topic"], row["kafka_partition"])
        mappings.setdefault(where, []).append(OffsetMapping(row["upstream"], row["downstream"]))
    return {one.where: current(one, syncs.get(one.where, ()), mappings.get(one.where, ())) for one in remote_partitions}


def _lowest(groups: Mapping[str, Group]) -> dict[TopicPartition, int]:
    """The lowest position of any group, by partition."""
    lowest: dict[TopicPartition, int] = {}
    for group in groups.values():
        for where, committed in group.offsets.items():
            lowest[where] = min(committed.offset, lowest.get(where, committed.offset))
    return lowest


def _unplanned(request: FailoverRequest, clients: FailoverClients) -> GroupsOfFlow:
    """Groups that aren't there yet have neither members nor offsets; the checkpoints name them."""
    of_target = groups_of(clients.clusters.target, request.groups)
    return GroupsOfFlow({}, of_target, remote_partitions_left(request.flow, clients.clusters.target))


def _source(clients: FailoverClients) -> KafkaCluster:
    if clients.clusters.source is None:
        raise InvalidRequest("A planned failover needs the source: source_kafka_conn_id must name its connection.")
    return clients.clusters.source


def _concerned(groups: Mapping[str, Group], request: FailoverRequest) -> set[str]:
    wanted = re.compile(request.topics or ".*")
    return {where.topic for group in groups.values() for where in group.offsets if wanted.fullmatch(where.topic)}


def _remote_partitions(request: FailoverRequest, clients: FailoverClients, topics: set[str]) -> list[RemotePartition]:
    if not request.source_connector:
        return []
    info = clients.info(request)
    return [] if clients.connect is None else remote_partitions_of(info, clients.connect, clients.clusters, topics)


def _left(remote_partitions: Iterable[RemotePartition]) -> list[RemotePartition]:
    return [one for one in remote_partitions if not one.drained]


def _told(left: Sequence[RemotePartition]) -> str:
    named = "; ".join(_behind(one) for one in left[:_NAMED])
    return f"{named}{f'; and {len(left) - _NAMED:,} partitions more' if len(left) > _NAMED else ''}"


def _behind(one: RemotePartition) -> str:
    end = one.source.log_end if one.source else 0
    stored = "nothing is stored" if one.stored is None else f"{one.stored:,} is the last offset that is stored"
    absent = (
        f"the target's {one.target_topic!r} has no such partition, which MirrorSource adds when it starts and every "
        "refresh.topics.interval.seconds"
    )
    told = stored if one.target is not None else absent
    return f"topic {one.where.topic!r}, partition {one.where.partition} ends at {end:,} and {told}"
