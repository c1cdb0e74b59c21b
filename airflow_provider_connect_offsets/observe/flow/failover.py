"""Observes a failover of consumer groups until the commit, and waits until its flow is drained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotDrained
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.bisected import SearchLimits, bisect, current_mappings
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.failback import HomeEvidence, observe_failback, write_failback
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings, prove_again
from airflow_provider_connect_offsets.observe.flow.ledger_observed import write_ledger
from airflow_provider_connect_offsets.observe.flow.observed_groups import (
    Group,
    GroupsOfFlow,
    groups_named,
    groups_of,
    lost_positions,
    read_syncs,
    write_internal_records,
    write_observation,
)
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    RemotePartition,
    remote_partitions_of,
    remote_partitions_without_source,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchor, mapping_of, mappings_of
from airflow_provider_connect_offsets.observe.partitions import partition_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest, Mode
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.offsets.requests.patterns import matches_topic
from airflow_provider_connect_offsets.words import join_first
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import KEPT_MAPPINGS, MIRROR_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, ledger_root, rewinds_root

_NAMED = 3


def _isolate(clients: Clients, request: FailoverRequest) -> Clients:
    """Return a copy of the clients that reads the same records as the request's MirrorSource."""
    isolation = Isolation.READ_COMMITTED if request.reads_committed else Isolation.READ_UNCOMMITTED
    return replace(clients, clusters=replace(clients.both_clusters, isolation=isolation))


def _source(clients: Clients) -> KafkaCluster:
    """Return the source; raises :class:`InvalidRequest` if there is none."""
    if clients.both_clusters.source is None:
        raise InvalidRequest("A planned failover needs the source cluster: set source_kafka_conn_id to its connection.")
    return clients.both_clusters.source


def _rewinds_of(clients: Clients | None, connector: str) -> str:
    """Return the URI of the datasets ``rewinds`` of a flow's resets; empty without its connector."""
    if clients is None or not (clients.has_connect and connector):
        return ""
    return rewinds_root(clients.workspace, cluster=clients.cluster, connector=connector)


def _ledger_of(clients: Clients, request: FailoverRequest) -> str:
    """Return the URI of the ledgers that readiness observations wrote."""
    return ledger_root(
        clients.workspace,
        target_cluster=clients.both_clusters.target.cluster_id(),
        source_alias=request.flow.source_alias,
        target_alias=request.flow.target_alias,
    )


def observe_failover(
    request: FailoverRequest,
    clients: Clients,
    directory: FailoverDirectory,
    *,
    ranges: FailoverDirectory | None = None,
) -> GroupsOfFlow:
    """Observe the flow, and write the datasets that a translation is made from; changes nothing.

    Args:
        request: The failover.
        clients: Its clients.
        directory: Where to write.
        ranges: Directory of an earlier translation, which requested records in ``compare_ranges`` and
            ``sampled_claims``: these are read as well. The flow must be stopped. None: no records are requested.

    Raises:
        NotDrained: With ``ranges``: records are left to replicate. Nothing that takes long was read.
        InvalidRequest: The request needs a connection that is not given, or moves what may not be changed here.
        StoreError: A system does not answer, or refuses.
    """
    clients = _isolate(clients, request)
    clusters = clients.both_clusters
    write_internal_records(request, clusters, directory)
    if request.mode is Mode.PLANNED:
        observed = _observe_planned(request, clients, read_syncs(directory), ranges)
    else:
        observed = _observe_unplanned(request, clients)
    named = observed.of_source or {name: one for name, one in observed.of_target.items() if not one.kind}
    clients.guards.refuse_names(Named.GROUP, sorted(named))
    clients.guards.refuse_names(Named.TOPIC, sorted({one.target_topic for one in observed.remote_partitions}))
    if request.forward is not None:
        topics = _concerned_topics(observed.of_source, request)
        compared = _compared_syncs(
            read_syncs(directory.forward_directory), None if ranges is None else ranges.forward_directory
        )
        evidence = HomeEvidence(compared, _rewinds_of(clients.forward, request.forward_connector))
        back = observe_failback(
            request, clients.forward, clusters, topics, observed.remote_partitions, evidence=evidence
        )
        write_failback(back, directory, ranges)
        observed = replace(observed, remote_partitions=back.remote_partitions)
    if ranges is not None and request.compared and clusters.source is not None:
        read_from = write_compared(clusters, observed.remote_partitions, ranges, directory)
        observed = replace(observed, read_from=read_from)
    if request.mode is Mode.UNPLANNED:
        ledger = _ledger_of(clients, request)
        read_from = write_ledger(request, clusters.target, observed.remote_partitions, ledger, directory)
        observed = replace(observed, read_from=read_from)
    if ranges is not None:
        write_checked_claims(clusters, observed.remote_partitions, ranges, directory)
    write_observation(request, directory, observed)
    return observed


def await_drained(request: FailoverRequest, clients: Clients, *, timeout: float) -> None:
    """Wait until no record that concerns the groups is left to replicate.

    MirrorSource stores its offsets every ``offset.flush.interval.ms`` (a minute, by default).

    Args:
        request: The failover. For a failback without a flow that leads back, the function returns at once.
        clients: Its clients.
        timeout: Seconds to wait.

    Raises:
        NotDrained: Records are left after ``timeout``; nothing was stopped.
        InvalidRequest: A connection is missing.
        StoreError: A system does not answer, or refuses.
    """
    if not request.source_connector:
        return
    waiting = replace(clients, timeout=timeout)
    topics = _concerned_topics(groups_of(_source(clients), request.groups), request)
    undrained = waiting.settle(
        lambda: _undrained_partitions(_remote_partitions(request, _isolate(clients, request), topics)),
        until=lambda some: not some,
    )
    if undrained:
        raise NotDrained(
            f"Nothing was stopped, and no group was moved. After {timeout:g} s, replication is not complete: "
            f"{_describe_undrained(undrained)}. Stop the producers of these topics. If they are already stopped, check "
            "the state of the connector's tasks."
        )


def refuse_undrained(remote_partitions: Iterable[RemotePartition]) -> None:
    """Raise :class:`NotDrained` if records are left to replicate, or offsets were not stored before the stop."""
    undrained = _undrained_partitions(remote_partitions)
    if undrained:
        raise NotDrained(
            "No group was moved. The connector is stopped, but replication is not complete: "
            f"{_describe_undrained(undrained)}. Check that the producers of these topics are stopped."
        )


def _observe_planned(
    request: FailoverRequest,
    clients: Clients,
    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]],
    ranges: FailoverDirectory | None,
) -> GroupsOfFlow:
    clusters, of_source = clients.both_clusters, groups_of(_source(clients), request.groups)
    of_target = groups_named(clusters.target, of_source)
    remote_partitions = _remote_partitions(request, clients, _concerned_topics(of_source, request))
    if ranges is not None:
        refuse_undrained(remote_partitions)  # before anything long is read
    remote_partitions = anchor(clusters, remote_partitions, _compared_syncs(syncs, ranges))
    root = _rewinds_of(clients, request.source_connector)
    kept = kept_mappings(root, clusters, remote_partitions) if root else []
    if ranges is not None:
        proved = {(partition_of(row), mapping_of(row)) for row in kept}
        rows = read_dataset(ranges.kept_mappings, KEPT_MAPPINGS)
        earlier = [row for row in rows if (partition_of(row), mapping_of(row)) not in proved]
        kept += prove_again(earlier, clusters, remote_partitions)
    matched = {partition_of(row) for row in kept if row["next_downstream"] is not None}
    unmatched = [one for one in remote_partitions if one.where not in matched]
    known = _mappings(unmatched, syncs, kept)
    limits = SearchLimits(reads_whole=ranges is None, timeout=request.search_timeout)
    searched = bisect(clusters, unmatched, known, _lowest_positions(of_source), limits)
    unmovable = lost_positions(_source(clients), request.groups)
    return GroupsOfFlow(of_source, of_target, remote_partitions, kept=[*kept, *searched], unmovable=unmovable)


def _compared_syncs(
    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]], ranges: FailoverDirectory | None
) -> Mapping[TopicPartition, Sequence[OffsetMapping]]:
    """Return the offset syncs whose records are compared.

    While the flow is stopped, these are the newest sync of each partition, and syncs that the preview found
    contradicted.
    """
    if ranges is None:
        return syncs
    newest = {where: list(some[-1:]) for where, some in syncs.items()}
    for row in read_dataset(ranges.mirror_partitions, MIRROR_PARTITIONS):
        if row["contradicted_upstream"] is not None:
            mapping = OffsetMapping(row["contradicted_upstream"], row["contradicted_downstream"])
            newest.setdefault(partition_of(row), []).insert(0, mapping)
    return newest


def _mappings(
    remote_partitions: Iterable[RemotePartition],
    syncs: Mapping[TopicPartition, Sequence[OffsetMapping]],
    kept: Iterable[Mapping[str, Any]],
) -> dict[TopicPartition, list[OffsetMapping]]:
    """Return the offset mappings that are known before any record is searched."""
    mappings = mappings_of(kept)
    return {
        one.where: current_mappings(one, syncs.get(one.where, ()), mappings.get(one.where, ()))
        for one in remote_partitions
    }


def _lowest_positions(groups: Mapping[str, Group]) -> dict[TopicPartition, int]:
    """Return the lowest position of any group, by partition."""
    lowest: dict[TopicPartition, int] = {}
    for group in groups.values():
        for where, committed in group.offsets.items():
            lowest[where] = min(committed.offset, lowest.get(where, committed.offset))
    return lowest


def _observe_unplanned(request: FailoverRequest, clients: Clients) -> GroupsOfFlow:
    """Observe without the source: the checkpoints name the groups that do not exist on the target yet."""
    target = clients.both_clusters.target
    of_target = groups_of(target, request.groups) | groups_named(target, target.groups.other_kinds(request.groups))
    return GroupsOfFlow({}, of_target, remote_partitions_without_source(request.flow, clients.both_clusters.target))


def _concerned_topics(groups: Mapping[str, Group], request: FailoverRequest) -> set[str]:
    topics = {where.topic for group in groups.values() for where in group.offsets}
    return {topic for topic in topics if matches_topic(request.topics, topic)}


def _remote_partitions(request: FailoverRequest, clients: Clients, topics: set[str]) -> list[RemotePartition]:
    if not request.source_connector:
        return []
    info = clients.control.info(request.source_connector)
    return remote_partitions_of(info, clients, clients.both_clusters, topics)


def _undrained_partitions(remote_partitions: Iterable[RemotePartition]) -> list[RemotePartition]:
    return [one for one in remote_partitions if not one.drained]


def _describe_undrained(undrained: Sequence[RemotePartition]) -> str:
    return join_first([_describe_behind(one) for one in undrained], _NAMED, separator="; ")


def _describe_behind(one: RemotePartition) -> str:
    end = one.source.log_end if one.source else 0
    stored = "no offset is stored" if one.stored is None else f"the last stored offset is {one.stored:,}"
    absent = (
        f"the target topic {one.target_topic!r} does not have this partition yet (MirrorSource adds partitions when it "
        "starts, and every refresh.topics.interval.seconds)"
    )
    reason = stored if one.target is not None else absent
    return f"topic {one.where.topic!r}, partition {one.where.partition} ends at {end:,} and {reason}"
