"""Bounded replays: the clone's configuration, the plan of its ranges, and how far it has come.

A replay delivers the records of an interval of time once more by a temporary connector, the clone. The original keeps
running, so nothing that it or its consumers keep may be shared with the clone: neither name nor consumer group, neither
offset syncs nor settings of remote topics.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets, canonical_json
from airflow_provider_connect_offsets.offsets.families import MirrorSource, Sink, TopicPartition, family_named
from airflow_provider_connect_offsets.offsets.family import Config, Family, is_default
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.plan import plan_digest
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest

# Turns off what a MirrorSource writes in addition to records (MirrorSourceConfig; KIP-1031), and its search for topics.
_QUIET_MIRROR = {
    "emit.offset-syncs.enabled": "false",
    "heartbeats.replication.enabled": "false",
    "refresh.topics.enabled": "false",
    "sync.topic.acls.enabled": "false",
    "sync.topic.configs.enabled": "false",
    # No offset is stored for position 0 (``MirrorSource.offset_at``).
    "source.consumer.auto.offset.reset": "earliest",
}


class ReplayAction(StrEnum):
    """What a replay does with a partition.

    REPLAY: deliver its records of the interval. AT_END: deliver none; the clone reads its topic, and starts at the log
    end. LEAVE_OUT: the clone does not read its topic.
    """

    REPLAY = "replay"
    AT_END = "at_end"
    LEAVE_OUT = "leave_out"


@dataclass(frozen=True, slots=True)
class ReplayRow:
    """One row of the dataset ``replay_plan``.

    Attributes:
        connector: Name of the connector.
        clone: Name of its clone.
        family: Name of its family.
        partition: Source partition (canonical JSON).
        topic: Its Kafka topic.
        kafka_partition: Its Kafka partition.
        begins: Position at which the clone starts.
        ends: Position at which the interval ends.
        action: What is done with the partition.
        reason: Why; shown in reports.
    """

    connector: str
    clone: str
    family: str
    partition: str
    topic: str
    kafka_partition: int
    begins: int
    ends: int
    action: ReplayAction
    reason: str

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the row without its reason, as the Spark job computes it too."""
        fields = (self.connector, self.clone, self.partition, str(self.begins), str(self.ends), self.action.value)
        return hashlib.sha256("\n".join(fields).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Range(JsonRecord):
    """The offsets of a partition that are delivered: from ``begins`` to before ``ends``; none if they are equal."""

    topic: str
    partition: int
    begins: int
    ends: int

    @property
    def where(self) -> TopicPartition:
        """The Kafka partition."""
        return TopicPartition(self.topic, self.partition)

    def count_delivered(self, position: int) -> int:
        """Return how many offsets of the range a clone at ``position`` has delivered."""
        return max(0, min(position, self.ends) - self.begins)

    def count_beyond(self, position: int) -> int:
        """Return how many offsets after the range a clone at ``position`` has delivered."""
        return max(0, position - self.ends)


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """The plan of a replay.

    Attributes:
        request: The request that it answers.
        rows: A row for each partition, sorted by topic and number.
        digest: Identifies the plan.
        observed_at: When the logs were observed.
        config: The kept settings that the connector had then; None if unknown.
    """

    request: ReplayRequest
    rows: tuple[ReplayRow, ...]
    digest: str
    observed_at: datetime
    config: Config | None = None

    @classmethod
    def of(
        cls,
        request: ReplayRequest,
        rows: Iterable[ReplayRow],
        *,
        observed_at: datetime,
        config: Config | None = None,
    ) -> ReplayPlan:
        """Make a plan from its rows."""
        ordered = tuple(sorted(rows, key=lambda row: (row.topic, row.kafka_partition)))
        return cls(request, ordered, plan_digest(row.digest() for row in ordered), observed_at, config)

    @property
    def family(self) -> Family:
        """Family of the connector."""
        return family_named(self.rows[0].family if self.rows else Family.name)

    @property
    def _read_rows(self) -> Iterator[ReplayRow]:
        """The rows of partitions that the clone reads."""
        return (row for row in self.rows if row.action is not ReplayAction.LEAVE_OUT)

    def ranges(self) -> tuple[Range, ...]:
        """Return the ranges of all partitions that the clone reads."""
        return tuple(Range(row.topic, row.kafka_partition, row.begins, row.ends) for row in self._read_rows)

    def topics(self) -> list[str]:
        """Return the names of the topics that the clone reads."""
        return sorted({row.topic for row in self._read_rows})

    def starts(self) -> Offsets:
        """Return the offsets at which the clone starts; None for a position that is not stored."""
        offsets = ((row.partition, self.family.offset_at(row.begins)) for row in self._read_rows)
        return Offsets.of(Entry(one, None if offset is None else canonical_json(offset)) for one, offset in offsets)


def refuse_unbounded(connector: str, family: Family, config: Config) -> None:
    """Raise :class:`InvalidRequest` for a connector that can't be cloned for an interval; the message says why."""
    class_name = config.get("connector.class", "")
    if family.name not in {Sink.name, MirrorSource.name}:
        raise InvalidRequest(
            f"Nothing was created: {connector!r} is a {class_name}, and {family.why_no_position}. So a time "
            "interval can't limit what it reads. Only sinks and MirrorSourceConnectors can be replayed."
        )
    if family.name == MirrorSource.name and not is_default(config, "topic.filter.class", "DefaultTopicFilter"):
        raise InvalidRequest(
            f"Nothing was created: {connector!r} chooses its topics by topic.filter.class="
            f"{config['topic.filter.class']}, so a clone can't be restricted to some of these topics."
        )


def clone_config(config: Config, family: Family, topics: Iterable[str]) -> dict[str, str]:
    """Return the configuration of a clone that reads ``topics`` only.

    Args:
        config: The original's configuration, with secrets.
        family: Its family, which :func:`refuse_unbounded` has not refused.
        topics: Names of topics.
    """
    kept = {name: value for name, value in config.items() if name != "name"}
    names = sorted(topics)
    if family.name == MirrorSource.name:
        # MirrorMaker 2 refuses settings of offset syncs where none are emitted (MirrorSourceConnector.validate).
        rest = {name: value for name, value in kept.items() if not name.startswith("offset-syncs")}
        # These are patterns: of the characters that a topic's name may have, only the dot has a meaning in them.
        return {**rest, **_QUIET_MIRROR, "topics": ",".join(name.replace(".", "[.]") for name in names)}
    rest = {name: value for name, value in kept.items() if name not in {"consumer.override.group.id", "topics.regex"}}
    return {**rest, "topics": ",".join(names)}
