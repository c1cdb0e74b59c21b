"""Families of connectors: what their offsets look like, and what "resume at N" means for each.

Every rule about *one* offset stands here and nowhere else; the pipeline calls it. People speak in positions (the next
record to be read); a family converts a position to what its connector stores, and back.

Sources: ``SinkUtils`` (Connect runtime), ``MirrorUtils`` and ``MirrorSourceTask`` (connect-mirror),
``FileStreamSourceConnector.alterOffsets`` (connect-file), KIP-875.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule, Severity

Config = Mapping[str, str]
MAX_LONG = 2**63 - 1
MAX_INT = 2**31 - 1


class ConnectorType(StrEnum):
    """Connect's two kinds of connectors."""

    SOURCE = "source"
    SINK = "sink"


class OffsetReset(StrEnum):
    """Where a Kafka consumer starts without a usable offset (``auto.offset.reset``)."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TopicPartition:
    """A partition of a Kafka topic."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Family:
    """What is common to all families; by itself the rules of a source connector of unknown class."""

    name: ClassVar[str] = "generic_source"
    partition_keys: ClassVar[Mapping[str, type] | None] = None
    offset_keys: ClassVar[Mapping[str, type] | None] = None
    has_positions: ClassVar[bool] = False
    why_no_position: ClassVar[str] = "what its offsets mean is known to the connector alone"

    def position(self, offset: JsonMap | None) -> int | None:
        """Give the next record to be read, None where the offset has none or can't be read."""
        del offset
        return None

    def offset_at(self, position: int) -> dict[str, int] | None:
        """Give what to store so that the record at ``position`` is read next; None: that nothing is stored."""
        raise NotImplementedError(f"{self.name} offsets are no positions: {self.why_no_position}")

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Give the Kafka partition that a source partition stands for, None where it stands for none."""
        del partition
        return None

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int] | None:
        """Give the source partition that stands for a Kafka partition, None where the family has none."""
        del where, config
        return None

    def consumed_topics(self, config: Config) -> str | None:
        """Give a Java pattern that matches whole names of the topics read, None where the configuration hides it."""
        del config
        return None

    def excluded_topics(self, config: Config) -> str | None:
        """Give a Java pattern that matches whole names of topics never read, whatever ``consumed_topics`` says."""
        del config
        return None

    def offset_reset(self, config: Config) -> OffsetReset:
        """Tell where the connector's consumer starts without a stored offset."""
        del config
        return OffsetReset.EARLIEST

    def check(self, partition: JsonMap, offset: JsonMap | None, config: Config) -> Iterator[Finding]:
        """Yield what is wrong with storing ``offset`` for ``partition``."""
        yield from _check_map(partition, self.partition_keys, "partition")
        yield from self._check_partition(partition, config)
        if offset is not None:
            yield from _check_map(offset, self.offset_keys, "offset")
            yield from self._check_offset(offset)

    def _check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        del partition, config
        yield from ()

    def _check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        del offset
        yield from ()


@dataclass(frozen=True, slots=True)
class Sink(Family):
    """Any sink connector: the committed offsets of its consumer group, which are positions already."""

    name: ClassVar[str] = "sink"
    partition_keys: ClassVar[Mapping[str, type]] = {"kafka_topic": str, "kafka_partition": int}
    offset_keys: ClassVar[Mapping[str, type]] = {"kafka_offset": int}
    has_positions: ClassVar[bool] = True

    def position(self, offset: JsonMap | None) -> int | None:
        """``kafka_offset`` is the next record to be read."""
        return _int_field(offset, "kafka_offset")

    def offset_at(self, position: int) -> dict[str, int]:
        """Store the position itself."""
        return {"kafka_offset": position}

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``kafka_topic`` and ``kafka_partition``."""
        return _topic_partition(partition, "kafka_topic", "kafka_partition")

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int]:
        """Write ``kafka_topic`` and ``kafka_partition``."""
        del config
        return {"kafka_topic": where.topic, "kafka_partition": where.partition}

    def consumed_topics(self, config: Config) -> str | None:
        """``topics.regex``, or the list in ``topics``."""
        if config.get("topics.regex"):
            return config["topics.regex"]
        names = [name.strip() for name in config.get("topics", "").split(",") if name.strip()]
        return "|".join(re.escape(name) for name in names) or None

    def offset_reset(self, config: Config) -> OffsetReset:
        """``consumer.override.auto.offset.reset``; a worker's own default is earliest."""
        return _reset(config.get("consumer.override.auto.offset.reset"))


@dataclass(frozen=True, slots=True)
class MirrorSource(Family):
    """MirrorSourceConnector keeps the last record it replicated, so it resumes one after it.

    There is no stored value for "resume at 0": that is the absence of an offset.
    (``MirrorSourceTask.initializeConsumer`` seeks to ``offset + 1``; KIP-875.)
    """

    name: ClassVar[str] = "mirror_source"
    partition_keys: ClassVar[Mapping[str, type]] = {"cluster": str, "topic": str, "partition": int}
    offset_keys: ClassVar[Mapping[str, type]] = {"offset": int}
    has_positions: ClassVar[bool] = True

    def position(self, offset: JsonMap | None) -> int | None:
        """One after the last replicated record."""
        last = _int_field(offset, "offset")
        return None if last is None else last + 1

    def offset_at(self, position: int) -> dict[str, int] | None:
        """The record before ``position``; nothing for 0."""
        return None if position == 0 else {"offset": position - 1}

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``topic`` and ``partition``."""
        return _topic_partition(partition, "topic", "partition")

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int]:
        """Write ``cluster`` (the source alias), ``topic`` and ``partition``."""
        return {"cluster": _alias(config, "source"), "topic": where.topic, "partition": where.partition}

    def consumed_topics(self, config: Config) -> str | None:
        """``topics``, a list of patterns; unknown where a topic filter of the user's own decides."""
        if not config.get("topic.filter.class", "DefaultTopicFilter").endswith("DefaultTopicFilter"):
            return None
        return _alternatives(config.get("topics", ".*"), r"(?:.*[.])?heartbeats")

    def excluded_topics(self, config: Config) -> str | None:
        """``topics.exclude``, and what MirrorMaker 2 never replicates (``ReplicationPolicy.isInternalTopic``)."""
        excluded = config.get("topics.exclude", r"mm2.*\.internal,.*\.replica,__.*")
        return _alternatives(excluded, r".*[-.]internal", r"__.*", r"[.].*")

    def offset_reset(self, config: Config) -> OffsetReset:
        """``source.consumer.auto.offset.reset``, with or without ``source.``; MirrorMaker 2's default is earliest."""
        names = ("source.consumer.auto.offset.reset", "consumer.auto.offset.reset")
        return _reset(next((config[name] for name in names if config.get(name)), None))

    def _check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        yield from _check_alias(partition, "cluster", config, "source")


@dataclass(frozen=True, slots=True)
class MirrorCheckpoint(Family):
    """MirrorCheckpointConnector stores offsets that its task never reads; only 0 is accepted."""

    name: ClassVar[str] = "mirror_checkpoint"
    partition_keys: ClassVar[Mapping[str, type]] = {"group": str, "topic": str, "partition": int}
    offset_keys: ClassVar[Mapping[str, type]] = {"offset": int}
    why_no_position: ClassVar[str] = "MirrorCheckpoint stores offsets but never reads them"

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``topic`` and ``partition``: of the group's checkpoint, so no place where this connector resumes."""
        return _topic_partition(partition, "topic", "partition")

    def _check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        yield from _check_zero(offset)


@dataclass(frozen=True, slots=True)
class MirrorHeartbeat(Family):
    """MirrorHeartbeatConnector stores offsets that its task never reads; only 0 is accepted."""

    name: ClassVar[str] = "mirror_heartbeat"
    partition_keys: ClassVar[Mapping[str, type]] = {"sourceClusterAlias": str, "targetClusterAlias": str}
    offset_keys: ClassVar[Mapping[str, type]] = {"offset": int}
    why_no_position: ClassVar[str] = "MirrorHeartbeat stores offsets but never reads them"

    def _check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        yield from _check_alias(partition, "sourceClusterAlias", config, "source")
        yield from _check_alias(partition, "targetClusterAlias", config, "target")

    def _check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        yield from _check_zero(offset)


@dataclass(frozen=True, slots=True)
class FileStreamSource(Family):
    """FileStreamSource keeps how many bytes of its file it has read."""

    name: ClassVar[str] = "file_stream_source"
    partition_keys: ClassVar[Mapping[str, type]] = {"filename": str}
    offset_keys: ClassVar[Mapping[str, type]] = {"position": int}
    why_no_position: ClassVar[str] = "its offsets count bytes of a file, not records of a Kafka log"

    def _check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        filename, configured = partition.get("filename"), config.get("file")
        if configured is None:
            message = "the connector reads standard input (no 'file' is configured) and takes no offsets"
            yield Finding(Rule.WRONG_KEYS, Severity.ERROR, message)
        elif isinstance(filename, str) and filename != configured:
            message = f"the connector reads file {configured!r}, so nothing would read an offset of {filename!r}"
            yield Finding(Rule.NOT_CONSUMED, Severity.ERROR, message)


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (Family(), Sink(), MirrorSource(), MirrorCheckpoint(), MirrorHeartbeat(), FileStreamSource())
}

_SOURCE_CLASSES: Mapping[str, str] = {
    "MirrorSourceConnector": MirrorSource.name,
    "MirrorCheckpointConnector": MirrorCheckpoint.name,
    "MirrorHeartbeatConnector": MirrorHeartbeat.name,
    "FileStreamSourceConnector": FileStreamSource.name,
    "FileStreamSource": FileStreamSource.name,
}
_PACKAGES = ("org.apache.kafka.connect.mirror", "org.apache.kafka.connect.file", "")


def family_of(connector_type: ConnectorType, connector_class: str) -> Family:
    """Give the family of a connector by its type and class (fully qualified, or the alias Connect allows)."""
    if connector_type is ConnectorType.SINK:
        return FAMILIES[Sink.name]
    package, _, simple = connector_class.rpartition(".")
    known = package in _PACKAGES
    simple = simple if simple in _SOURCE_CLASSES else f"{simple}Connector"
    return FAMILIES[_SOURCE_CLASSES.get(simple, Family.name) if known else Family.name]


# Connectors that are known to keep (or also keep) their position outside of Connect's offsets.
_EXTERNAL = (
    ("iceberg", "the snapshot summaries of its Iceberg tables and its control topic"),
    ("couchbase", "the stream offsets that Couchbase's DCP keeps"),
    ("io.debezium.connector.postgresql", "its PostgreSQL replication slot"),
    ("io.debezium.connector.mysql", "its schema history topic"),
    ("io.debezium.connector.sqlserver", "its schema history topic"),
    ("io.confluent.connect.hdfs", "the file names it has written"),
    ("io.confluent.connect.s3", "the object names it has written"),
)


def external_offsets(connector_class: str) -> str | None:
    """Say where else a connector of this class keeps its position, None where nothing is known."""
    name = connector_class.lower()
    return next((where for part, where in _EXTERNAL if part in name), None)


def _check_map(value: JsonMap, keys: Mapping[str, type] | None, what: str) -> Iterator[Finding]:
    for field, content in value.items():
        if isinstance(content, dict | list):
            message = f"{what} field {field!r} may only hold a primitive value, not {json.dumps(content)[:80]}"
            yield Finding(Rule.NESTED_VALUE, Severity.ERROR, message)
    if keys is None:
        return
    if set(value) != set(keys):
        expected, found = ", ".join(sorted(keys)), ", ".join(sorted(value)) or "none"
        yield Finding(Rule.WRONG_KEYS, Severity.ERROR, f"the {what} must have the keys {expected}, and has {found}")
    for field, kind in keys.items():
        if field in value and not isinstance(value[field], dict | list):
            yield from _check_field(what, field, value[field], kind)


def _check_field(what: str, field: str, content: object, kind: type) -> Iterator[Finding]:
    shown = json.dumps(content, ensure_ascii=False)
    if kind is str and (not isinstance(content, str) or not content):
        yield Finding(Rule.WRONG_TYPE, Severity.ERROR, f"{what} field {field!r} must be a text, not {shown}")
    if kind is int:
        limit = MAX_INT if what == "partition" else MAX_LONG
        if isinstance(content, bool) or not isinstance(content, int) or content > limit:
            message = f"{what} field {field!r} must be a whole number up to {limit}, not {shown}"
            yield Finding(Rule.WRONG_TYPE, Severity.ERROR, message)
        elif content < 0:
            yield Finding(Rule.NEGATIVE, Severity.ERROR, f"{what} field {field!r} is negative: {shown}")


def _check_alias(partition: JsonMap, field: str, config: Config, side: str) -> Iterator[Finding]:
    found, configured = partition.get(field), _alias(config, side)
    if isinstance(found, str) and found != configured:
        message = f"the {side} cluster alias is {found!r}, but the connector is configured with {configured!r}"
        yield Finding(Rule.FOREIGN_ALIAS, Severity.ERROR, message)


def _check_zero(offset: JsonMap) -> Iterator[Finding]:
    value = offset.get("offset")
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        yield Finding(
            Rule.ONLY_ZERO, Severity.ERROR, f"the offset must be 0, not {value}; the connector never reads it"
        )


def _alias(config: Config, side: str) -> str:
    return config.get(f"{side}.cluster.alias") or side


def _alternatives(patterns: str, *more: str) -> str:
    listed = [pattern.strip() for pattern in patterns.split(",") if pattern.strip()]
    return "|".join(f"(?:{pattern})" for pattern in (*listed, *more))


def _reset(value: str | None) -> OffsetReset:
    return OffsetReset(value) if value in set(OffsetReset) else OffsetReset.EARLIEST


def _int_field(offset: JsonMap | None, field: str) -> int | None:
    value = None if offset is None else offset.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _topic_partition(partition: JsonMap, topic_field: str, partition_field: str) -> TopicPartition | None:
    topic, number = partition.get(topic_field), partition.get(partition_field)
    if isinstance(topic, str) and isinstance(number, int) and not isinstance(number, bool):
        return TopicPartition(topic, number)
    return None
