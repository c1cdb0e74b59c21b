"""Both logs of each replicated partition, how far replication has come in it, and whether their offsets go together."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.spans import Isolation
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import Replicated, isolation_of, replicated
from airflow_provider_connect_offsets.offsets.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Side


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of a flow; ``source`` is None where it is gone. ``isolation``: which records MirrorSource reads."""

    source: KafkaCluster | None
    target: KafkaCluster
    isolation: Isolation = Isolation.READ_UNCOMMITTED

    def on(self, side: Side) -> KafkaCluster | None:
        """The cluster on that side."""
        return self.source if side is Side.SOURCE else self.target


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """The offsets from which on the records of both logs of a partition were read; None: the source is gone."""

    source: int | None
    target: int


@dataclass(frozen=True, slots=True)
class RemotePartition:
    """One partition of a replicated topic: both of its logs, and how far replication has come.

    ``source`` is None where the source is gone, ``target`` where the target lacks the partition: its remote topic has
    fewer, or is not there at all. Such a partition is drained where its source log holds no record, whatever is stored.
    ``stored`` is the last offset that was replicated, as MirrorSource has stored it; ``origin`` what lies directly
    before all that it has replicated, where that is known: -1 and -1 where both logs began with the same record.
    ``ends_with_stored``: whether the last record of the remote topic is that at ``stored``, None where they were not
    compared; ``gapless``: neither topic is compacted; ``transformed``: the connector has transformations; ``timed``:
    the remote topic keeps the timestamps of the records.
    """

    where: TopicPartition
    target_topic: str
    source: LogBounds | None
    target: LogBounds | None
    stored: int | None = None
    drained: bool = False
    origin: OffsetMapping | None = None
    ends_with_stored: bool | None = None
    gapless: bool = True
    transformed: bool = False
    timed: bool = True

    @property
    def on_target(self) -> TopicPartition:
        """The same partition of the remote topic."""
        return TopicPartition(self.target_topic, self.where.partition)

    def row(self, read_from: ReadFrom | None) -> dict[str, Any]:
        """Its row in the dataset ``mirror_partitions``."""
        return {
            "topic": self.where.topic,
            "target_topic": self.target_topic,
            "kafka_partition": self.where.partition,
            "source_start": None if self.source is None else self.source.log_start,
            "source_end": None if self.source is None else self.source.log_end,
            "stored": self.stored,
            "drained": self.drained,
            "target_start": None if self.target is None else self.target.log_start,
            "target_end": None if self.target is None else self.target.log_end,
            "origin_upstream": None if self.origin is None else self.origin.upstream,
            "origin_downstream": None if self.origin is None else self.origin.downstream,
            "ends_with_stored": self.ends_with_stored,
            "gapless": self.gapless,
            "transformed": self.transformed,
            "timed": self.timed,
            "source_from": None if read_from is None else read_from.source,
            "target_from": None if read_from is None else read_from.target,
        }


def remote_partitions_of(
    info: ConnectorInfo, clients: Clients, clusters: Clusters, topics: Container[str]
) -> list[RemotePartition]:
    """Look at every partition of ``topics`` that MirrorSource ``info`` replicates, at both of its logs.

    That is what it is configured to replicate and what it has an offset for, whether or not the target has it. Drained
    is one of whose source no record is left to read; in what order all is read: ``observe.lag.replicated``.
    """
    if clusters.source is None:
        return []
    # What it is configured to replicate is looked up at the source, whatever cluster the doors lead to.
    clients = replace(clients, logs=clusters.source.logs)
    found = replicated(clients, info, clusters.source.logs, selects=lambda topic: topic in topics)
    return remote_partitions_found(info, clusters, found)


def remote_partitions_found(
    info: ConnectorInfo, clusters: Clusters, found: Mapping[TopicPartition, Replicated]
) -> list[RemotePartition]:
    """Look at the remote topics of partitions of which it is known how far they are replicated.

    found: of ``observe.lag.replicated``, by partition of the source. Raises store errors.
    """
    if clusters.source is None:
        return []
    flow = Flow.of(info.config)
    asked = {where: TopicPartition(flow.target_topic(where.topic), where.partition) for where in found}
    of_target, copied = _remote_topics(clusters.target, asked.values())
    of_source = clusters.source.logs.configs({where.topic for where in asked})
    absent = {where: found[where].bounds.log_start for where, on_target in asked.items() if on_target not in of_target}
    unread = clusters.source.logs.first_remaining(absent, isolation=isolation_of(info.config)) if absent else {}
    transformed = bool((info.config.get("transforms") or "").strip())
    return [
        RemotePartition(
            where,
            on_target.topic,
            found[where].bounds,
            of_target.get(on_target),
            None if (position := found[where].position) is None else position - 1,
            drained=where not in unread if where in absent else _drained(found[where]),
            gapless=not _compacted(of_source[where.topic]) and not _compacted(copied.get(on_target.topic, {})),
            transformed=transformed,
            timed=_timed(copied.get(on_target.topic, {})),
        )
        for where, on_target in asked.items()
    ]


def remote_partitions_left(flow: Flow, target: KafkaCluster) -> list[RemotePartition]:
    """Look at the remote topics where the source is gone: each topic of the target that this flow may have made."""
    counts = target.logs.topics()
    named = {name: flow.source_topic(name) for name in counts if not flow.is_internal(name)}
    asked = {
        TopicPartition(name, number): TopicPartition(source, number)
        for name, source in named.items()
        if source and not flow.is_internal(source)
        for number in range(counts[name])
    }
    bounds = target.logs.bounds(asked)
    configs = target.logs.configs({where.topic for where in asked})
    return [
        RemotePartition(
            asked[where],
            where.topic,
            None,
            found,
            gapless=not _compacted(configs[where.topic]),
            timed=_timed(configs[where.topic]),
        )
        for where, found in bounds.items()
    ]


def timed_topics(remote_partitions: Iterable[RemotePartition]) -> dict[str, bool]:
    """Tell of each topic (by its name on either side) whether its remote topic keeps the timestamps of the records."""
    return {name: one.timed for one in remote_partitions for name in (one.target_topic, one.where.topic)}


def _remote_topics(
    target: KafkaCluster, asked: Iterable[TopicPartition]
) -> tuple[Mapping[TopicPartition, LogBounds], Mapping[str, Mapping[str, str]]]:
    """Look up bounds and settings of those partitions that the target has."""
    counts = target.logs.topics()
    there = [where for where in asked if where.partition < counts.get(where.topic, 0)]
    return target.logs.bounds(there), target.logs.configs({where.topic for where in there})


def _drained(found: Replicated) -> bool:
    return found.known and found.first is None


def _compacted(config: Mapping[str, str]) -> bool:
    return "compact" in config.get("cleanup.policy", "")


def _timed(config: Mapping[str, str]) -> bool:
    return config.get("message.timestamp.type") != "LogAppendTime"
