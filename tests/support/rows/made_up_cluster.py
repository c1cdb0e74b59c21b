"""A Kafka cluster in memory with logs that a test writes, to observe flows without servers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.kafka.groups import Committed, GroupState, GroupStatus
from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.remaining import Remaining
from airflow_provider_connect_offsets.kafka.spans import Digest, Isolation
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, canonical_json
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.family import ConnectorType

MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


@dataclass(frozen=True)
class MadeUpLog:
    """One partition: its records by offset, and its log start and end."""

    records: Mapping[int, str]
    start: int = 0
    end: int | None = None

    @classmethod
    def of(cls, *records: str, start: int = 0) -> MadeUpLog:
        """A log without gaps."""
        return cls(dict(enumerate(records, start)), start)

    @property
    def bounds(self) -> LogBounds:
        """Log start and log end offset; the end is after the last record, unless ``end`` is given."""
        return LogBounds(self.start, max(self.records, default=self.start - 1) + 1 if self.end is None else self.end)


class AllSeen(ABC):
    """A cluster whose topics are all seen by its user; :meth:`topics` has them."""

    @abstractmethod
    def topics(self) -> Mapping[str, int]:
        """As of a Kafka cluster."""

    def counts_of(self, names: Iterable[str]) -> dict[str, int]:
        """Those that exist."""
        counts = self.topics()
        return {name: counts[name] for name in names if name in counts}

    def refuse_hidden(self, missing: Iterable[str]) -> None:
        """Nothing is hidden, whatever is ``missing``."""
        del missing


@dataclass
class MadeUpCluster(AllSeen):
    """Topics with a log for each partition, and their settings."""

    topics_held: Mapping[str, list[MadeUpLog]]
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    servers: str = "made-up:9092"

    def topics(self) -> dict[str, int]:
        return {name: len(logs) for name, logs in sorted(self.topics_held.items())}

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        return {name: f"id of {name}" for name in topics if name in self.topics_held}

    def bounds(self, partitions: Iterable[TopicPartition], **_more: Any) -> dict[TopicPartition, LogBounds]:
        return {where: self._log(where).bounds for where in partitions}

    def configs(self, topics: Iterable[str]) -> dict[str, Mapping[str, str]]:
        """Settings of topics; fails for an unknown topic, as Kafka does."""
        names = set(topics)
        assert names <= self.topics_held.keys()
        return {name: self.settings.get(name, {}) for name in names}

    def first_remaining(
        self, positions: Mapping[TopicPartition, int], *, isolation: Isolation = Isolation.READ_UNCOMMITTED
    ) -> dict[TopicPartition, Remaining]:
        del isolation
        left = {
            where: min((at for at in self._log(where).records if at >= start), default=None)
            for where, start in positions.items()
        }
        return {where: Remaining(offset, None) for where, offset in left.items() if offset is not None}

    @contextmanager
    def spans(self, isolation: Isolation = Isolation.READ_COMMITTED) -> Iterator[MadeUpCluster]:
        """Answers as ``kafka.spans.Spans``."""
        del isolation
        yield self

    def digests(self, spans: Mapping[TopicPartition, range], *, timed: Mapping[str, bool]) -> Iterator[Digest]:
        assert {where.topic for where in spans} <= timed.keys()
        for where, span in spans.items():
            yield from self._digests(where, range(span.start, span.stop))

    def digests_at(
        self, offsets: Mapping[TopicPartition, Iterable[int]], *, timed: Mapping[str, bool]
    ) -> Iterator[Digest]:
        assert {where.topic for where in offsets} <= timed.keys()
        for where, some in offsets.items():
            yield from self._digests(where, some)

    def _digests(self, where: TopicPartition, offsets: Iterable[int]) -> Iterator[Digest]:
        records = self._log(where).records
        yield from (Digest(where, at, records[at].encode()) for at in offsets if at in records)

    def _log(self, where: TopicPartition) -> MadeUpLog:
        return self.topics_held[where.topic][where.partition]


class WithReader(MadeUpCluster):
    """A cluster with one group without members, which has read nothing of the topic ``orders``."""

    @property
    def groups(self) -> WithReader:
        """Answers as ``kafka.groups.ConsumerGroups``."""
        return self

    def list_groups(self, _pattern: str) -> list[str]:
        return ["reader"]

    def other_kinds(self, _pattern: str) -> dict[str, str]:
        return {}

    def states(self, names: Iterable[str]) -> dict[str, GroupStatus]:
        return {name: GroupStatus(GroupState.EMPTY, 0) for name in names}

    def offsets_of(self, names: Iterable[str]) -> dict[str, Mapping[TopicPartition, Committed]]:
        return {name: {TopicPartition("orders", 0): Committed(0, "")} for name in names}


@dataclass(frozen=True)
class MadeUpFlow:
    """A MirrorSource between two such clusters, by its stored offsets (of which topic and partition)."""

    source: MadeUpCluster
    target: MadeUpCluster
    stored: Mapping[tuple[str, int], int] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def clusters(self) -> Clusters:
        """Both clusters."""
        return Clusters(cast("KafkaCluster", cast("Any", self.source)), cast("KafkaCluster", cast("Any", self.target)))

    def info(self, connector: str = "mirror") -> ConnectorInfo:
        """The connector, whose aliases are ``here`` and ``there``."""
        aliases = {"source.cluster.alias": "here", "target.cluster.alias": "there"}
        config = {"connector.class": MIRROR_SOURCE, **aliases, **self.config}
        return ConnectorInfo(connector, ConnectorType.SOURCE, config)

    @property
    def clients(self) -> Clients:
        """The clients of its offsets and its configuration."""
        opened = cast("Any", self)
        return Clients(opened, opened, timeout=0)

    def read_offsets(self, _connector: str) -> Offsets:
        """The stored offsets of the connector."""
        return Offsets.of(
            Entry(
                canonical_json({"cluster": "here", "topic": topic, "partition": number}),
                canonical_json({"offset": offset}),
            )
            for (topic, number), offset in self.stored.items()
        )
