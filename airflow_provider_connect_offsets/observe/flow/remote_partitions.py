"""Observes both logs of each replicated partition, and how far replication has come."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.lag import Replicated, isolation_of, observe_replicated
from airflow_provider_connect_offsets.observe.partitions import existing_partitions, partitions_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping


@dataclass(frozen=True, slots=True)
class ReadFrom:
    """Offsets from which on both logs of a partition were read.

    Attributes:
        source: First offset read of the source; None if the source is gone.
        target: First offset read of the remote topic.
    """

    source: int | None
    target: int


@dataclass(frozen=True, slots=True)
class RemotePartition:
    """One partition of a replicated topic: both of its logs, and how far replication has come.

    Attributes:
        where: The partition on the source.
        target_topic: The remote topic.
        source: Bounds of the source log; None if the source is gone.
        target: Bounds of the remote topic's log; None if the target lacks the partition.
        stored: Offset of the last replicated record, as MirrorSource has stored it; None: nothing is stored.
        drained: True if no record of the source is left to replicate. Without a remote partition: True if the source
            log holds no record, whatever offset is stored.
        origin: The offsets directly before the first replicated record: (-1, -1) if both logs began with the same
            record; None if unknown.
        ends_with_stored: True if the last record of the remote topic is the record at ``stored``; None: not compared.
        target_last: Offset of the last record of the remote topic, after which there are only transaction markers; None
            if unknown.
        gapless: True if neither topic is compacted.
        transformed: True if the connector has transformations, or a converter that changes bytes.
        timed: True if the remote topic keeps the timestamps of the records.
        contradicted: An offset sync whose two records differ; None if none is known.
    """

    where: TopicPartition
    target_topic: str
    source: LogBounds | None
    target: LogBounds | None
    stored: int | None = None
    drained: bool = False
    origin: OffsetMapping | None = None
    ends_with_stored: bool | None = None
    target_last: int | None = None
    gapless: bool = True
    transformed: bool = False
    timed: bool = True
    contradicted: OffsetMapping | None = None

    @property
    def on_target(self) -> TopicPartition:
        """The partition of the remote topic."""
        return TopicPartition(self.target_topic, self.where.partition)

    def covers(self, mapping: OffsetMapping) -> bool:
        """Whether both logs exist and still cover the mapping's offsets."""
        logs = ((self.source, mapping.upstream), (self.target, mapping.downstream))
        return all(log is not None and log.log_start <= offset < log.log_end for log, offset in logs)

    def row(self, read_from: ReadFrom | None = None) -> dict[str, Any]:
        """Return its row of the dataset ``mirror_partitions``; ``read_from``: None if its records were not read."""
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
            "target_last": self.target_last,
            "gapless": self.gapless,
            "transformed": self.transformed,
            "timed": self.timed,
            "contradicted_upstream": None if self.contradicted is None else self.contradicted.upstream,
            "contradicted_downstream": None if self.contradicted is None else self.contradicted.downstream,
            "source_from": None if read_from is None else read_from.source,
            "target_from": None if read_from is None else read_from.target,
        }


def remote_partitions_of(
    info: ConnectorInfo, clients: Clients, clusters: Clusters, topics: Container[str]
) -> list[RemotePartition]:
    """Observe every partition of ``topics`` that a MirrorSource is configured to replicate, or has an offset for.

    Offsets and logs are read in the order of ``observe.lag.observe_replicated``.

    Args:
        info: The MirrorSource.
        clients: Clients of its Connect cluster.
        clusters: Both clusters of its flow.
        topics: Topics of the source.

    Returns:
        The partitions, whether or not the target has them; empty if the source is gone.

    Raises:
        StoreError: A system does not answer, or refuses.
    """
    if clusters.source is None:
        return []
    # The configured topics are looked up in the source, even if ``clients.logs`` is another cluster.
    observed = observe_replicated(replace(clients, logs=clusters.source), info, selects=lambda topic: topic in topics)
    return remote_partitions_replicated(info, clusters, observed)


def remote_partitions_replicated(
    info: ConnectorInfo, clusters: Clusters, observed: Mapping[TopicPartition, Replicated]
) -> list[RemotePartition]:
    """Observe the remote topics of partitions whose replication was observed by ``observe.lag.observe_replicated``.

    Arguments, result and errors are as in :func:`remote_partitions_of`.
    """
    if clusters.source is None:
        return []
    flow = Flow.of(info.config)
    names = {where: TopicPartition(flow.target_topic(where.topic), where.partition) for where in observed}
    present = existing_partitions(clusters.target, names.values())
    of_target = clusters.target.bounds(present)
    target_configs = clusters.target.configs({where.topic for where in present})
    source_configs = clusters.source.configs({where.topic for where in names})
    absent = {where: observed[where].bounds.log_start for where, copy in names.items() if copy not in of_target}
    unread = clusters.source.first_remaining(absent, isolation=isolation_of(info)) if absent else {}
    transformed = changes_records(info.config)
    return [
        RemotePartition(
            where,
            on_target.topic,
            observed[where].bounds,
            of_target.get(on_target),
            None if (position := observed[where].position) is None else position - 1,
            drained=where not in unread if where in absent else observed[where].lag == 0,
            gapless=not _is_compacted(source_configs[where.topic])
            and not _is_compacted(target_configs.get(on_target.topic, {})),
            transformed=transformed,
            timed=_keeps_timestamps(target_configs.get(on_target.topic, {})),
        )
        for where, on_target in names.items()
    ]


def remote_partitions_without_source(flow: Flow, target: KafkaCluster) -> list[RemotePartition]:
    """Observe the remote topics of a flow whose source is gone: each topic that the flow may have created.

    Raises store errors.
    """
    counts = target.topics()
    named = {name: flow.source_topic(name) for name in counts if not flow.is_internal(name)}
    of_flow = {name: source for name, source in named.items() if source and not flow.is_internal(source)}
    bounds = target.bounds(partitions_of(counts, of_flow))
    configs = target.configs(of_flow)
    return [
        RemotePartition(
            TopicPartition(of_flow[where.topic], where.partition),
            where.topic,
            None,
            log,
            gapless=not _is_compacted(configs[where.topic]),
            timed=_keeps_timestamps(configs[where.topic]),
        )
        for where, log in bounds.items()
    ]


def changes_records(config: Mapping[str, str | None]) -> bool:
    """Whether a MirrorSource writes other bytes than it reads, because of transformations or a converter.

    If the connector's configuration has no converter, the worker's applies, which is unknown here; the records show
    whether it changes bytes.
    """
    converters = (config.get(name) for name in ("key.converter", "value.converter"))
    converts = any(one and one.rpartition(".")[2] != "ByteArrayConverter" for one in converters)
    return bool((config.get("transforms") or "").strip()) or converts


def timed_topics(remote_partitions: Iterable[RemotePartition]) -> dict[str, bool]:
    """Return, by topic name on either side, whether the remote topic keeps the timestamps of the records."""
    return {name: one.timed for one in remote_partitions for name in (one.target_topic, one.where.topic)}


def _is_compacted(config: Mapping[str, str]) -> bool:
    return "compact" in config.get("cleanup.policy", "")


def _keeps_timestamps(config: Mapping[str, str]) -> bool:
    return config.get("message.timestamp.type") != "LogAppendTime"
