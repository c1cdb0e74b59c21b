"""Families of connectors: the format of their offsets, and what "resume at N" means for each.

Every rule about *one* offset is in a family and nowhere else; the pipeline calls it. People name positions (the next
record to be read); a family converts a position to what its connector stores, and back. ``family`` has what all
families share, ``mirror`` those of MirrorMaker 2.

Sources: ``SinkUtils`` (Connect runtime), ``FileStreamSourceConnector.alterOffsets`` (connect-file), KIP-875.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.document import JsonMap, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.family import (
    MAX_INT,
    MAX_LONG,
    Config,
    ConnectorType,
    Family,
    Keys,
    OffsetReset,
    TopicPartition,
    error,
    plain,
    topic_partition,
    whole_field,
)
from airflow_provider_connect_offsets.offsets.mirror import MirrorCheckpoint, MirrorHeartbeat, MirrorSource
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule

__all__ = [
    "FAMILIES",
    "MAX_INT",
    "MAX_LONG",
    "Config",
    "ConnectorType",
    "ConsumerGroup",
    "Family",
    "FileStreamSource",
    "MirrorCheckpoint",
    "MirrorHeartbeat",
    "MirrorSource",
    "OffsetReset",
    "Sink",
    "TopicPartition",
    "are_of_sink",
    "config_told_by",
    "external_offsets",
    "family_of",
]


@dataclass(frozen=True, slots=True)
class Sink(Family):
    """Any sink connector: the committed offsets of its consumer group, which are positions already."""

    name: ClassVar[str] = "sink"
    partition_keys: ClassVar[Keys] = {"kafka_topic": str, "kafka_partition": int}
    offset_keys: ClassVar[Keys] = {"kafka_offset": int}
    has_positions: ClassVar[bool] = True

    def position(self, offset: JsonMap | None) -> int | None:
        """``kafka_offset`` is the next record to be read."""
        return whole_field(offset, "kafka_offset")

    def offset_at(self, position: int) -> dict[str, int]:
        """Return the position itself."""
        return {"kafka_offset": position}

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``kafka_topic`` and ``kafka_partition``."""
        return topic_partition(partition, "kafka_topic", "kafka_partition")

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int]:
        """Write ``kafka_topic`` and ``kafka_partition``."""
        del config
        return {"kafka_topic": where.topic, "kafka_partition": where.partition}

    def consumed_topics(self, config: Config) -> str | None:
        """``topics.regex``, or the list in ``topics``."""
        if config.get("topics.regex"):
            return plain(config, "topics.regex")
        names = [name.strip() for name in (plain(config, "topics") or "").split(",") if name.strip()]
        return "|".join(re.escape(name) for name in names) or None

    def offset_reset(self, config: Config) -> OffsetReset:
        """``consumer.override.auto.offset.reset``; a worker's own default is earliest."""
        return OffsetReset.of(config.get("consumer.override.auto.offset.reset"))


@dataclass(frozen=True, slots=True)
class ConsumerGroup(Sink):
    """A consumer group of a plain application: what a sink has, but nobody knows its configuration.

    Its snapshot has as ``topics`` those of which it has committed an offset; it may be about to read others.
    """

    name: ClassVar[str] = "consumer_group"
    lists_topics: ClassVar[bool] = False

    def offset_reset(self, config: Config) -> OffsetReset:
        """``auto.offset.reset`` is a setting of its applications."""
        del config
        return OffsetReset.UNKNOWN


@dataclass(frozen=True, slots=True)
class FileStreamSource(Family):
    """FileStreamSource stores how many bytes of its file it has read."""

    name: ClassVar[str] = "file_stream_source"
    partition_keys: ClassVar[Keys] = {"filename": str}
    offset_keys: ClassVar[Keys] = {"position": int}
    why_no_position: ClassVar[str] = "its offsets count bytes of a file, not records of a Kafka log"
    without_offset: ClassVar[str] = "it reads its file again from the first byte"

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Require the configured file."""
        filename, configured = partition.get("filename"), config.get("file")
        if configured is None:
            message = "the connector reads standard input (no 'file' is configured) and takes no offsets"
            yield error(Rule.WRONG_KEYS, message)
        elif isinstance(filename, str) and filename != configured and "${" not in configured:
            message = f"the connector reads the file '{configured}', so it would never read an offset of '{filename}'"
            yield error(Rule.NOT_CONSUMED, message)


FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (
        Family(),
        Sink(),
        ConsumerGroup(),
        MirrorSource(),
        MirrorCheckpoint(),
        MirrorHeartbeat(),
        FileStreamSource(),
    )
}

_MIRROR, _FILE = "org.apache.kafka.connect.mirror", "org.apache.kafka.connect.file"
_SOURCES: Mapping[str, tuple[str, str]] = {
    "MirrorSource": (_MIRROR, MirrorSource.name),
    "MirrorCheckpoint": (_MIRROR, MirrorCheckpoint.name),
    "MirrorHeartbeat": (_MIRROR, MirrorHeartbeat.name),
    "FileStreamSource": (_FILE, FileStreamSource.name),
}


def family_of(connector_type: ConnectorType, connector_class: str) -> Family:
    """Return the family of a connector.

    Args:
        connector_type: Source, sink, or a consumer group.
        connector_class: Fully qualified class name, or the alias that Connect allows.
    """
    if connector_type is ConnectorType.GROUP:
        return FAMILIES[ConsumerGroup.name]
    if connector_type is ConnectorType.SINK:
        return FAMILIES[Sink.name]
    package, _, simple = connector_class.rpartition(".")
    home, name = _SOURCES.get(simple.removesuffix("Connector"), ("", Family.name))
    return FAMILIES[name if package in {"", home} else Family.name]


def are_of_sink(offsets: Offsets) -> bool:
    """Whether the keys of all partitions are those of a sink connector; False without offsets."""
    keys = Sink.partition_keys.keys()
    return len(offsets) > 0 and all(parse_map(entry.partition).keys() == keys for entry in offsets)


def config_told_by(partition: JsonMap) -> dict[str, str]:
    """Derive settings of a connector from one of its source partitions, for a connector without known configuration.

    Returns:
        ``connector.class``, by the partition's keys (empty if unknown), and the file or source alias in the partition.
    """
    named = next((name for name, (_, family) in _SOURCES.items() if _has_keys(FAMILIES[family], partition)), "")
    config = {"connector.class": f"{named}Connector" if named else ""}
    fields = {"file": "filename", "source.cluster.alias": "cluster"} if named else {}
    return config | {setting: str(partition[field]) for setting, field in fields.items() if field in partition}


def _has_keys(family: Family, partition: JsonMap) -> bool:
    return family.partition_keys is not None and set(family.partition_keys) == set(partition)


# Parts of class names of connectors that also keep their position outside Connect's offsets, and where.
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
    """Return where else a connector of this class keeps its position; None if unknown."""
    name = connector_class.lower()
    return next((where for part, where in _EXTERNAL if part in name), None)
