"""Families of connectors: the format of their offsets, and what "resume at N" means for each.

Every rule about *one* offset is in a family and nowhere else; the pipeline calls it. People name positions (the next
record to be read); a family converts a position to what its connector stores, and back. ``family`` has what all
families share, ``mirror`` those of MirrorMaker 2, ``postgres``, ``mariadb`` and ``databases`` those of connectors that
read databases, and ``load_own_families`` those that other distributions bring.

Sources: ``SinkUtils`` (Connect runtime), ``FileStreamSourceConnector.alterOffsets`` (connect-file), KIP-875.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.document import MAX_LONG, JsonMap, Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families.databases import (
    DebeziumMongoDb,
    DebeziumMySql,
    DebeziumOracle,
    DebeziumSqlServer,
    JdbcSource,
)
from airflow_provider_connect_offsets.offsets.families.mariadb import DebeziumMariaDb
from airflow_provider_connect_offsets.offsets.families.mirror import MirrorCheckpoint, MirrorHeartbeat, MirrorSource
from airflow_provider_connect_offsets.offsets.families.own import GROUP, load_own_families
from airflow_provider_connect_offsets.offsets.families.postgres import DebeziumPostgres
from airflow_provider_connect_offsets.offsets.family import (
    MAX_INT,
    READ_COMMITTED,
    Config,
    ConnectorType,
    Family,
    Keys,
    OffsetReset,
    TopicPartition,
    error,
    plain_value,
    topic_partition,
    whole_field,
)
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule

__all__ = [
    "FAMILIES",
    "MAX_INT",
    "MAX_LONG",
    "Config",
    "ConnectorType",
    "ConsumerGroup",
    "DebeziumPostgres",
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
    "family_named",
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
        """Return ``kafka_offset``, which is the next record to be read."""
        return whole_field(offset, "kafka_offset")

    def offset_at(self, position: int) -> dict[str, int]:
        """Return the position itself."""
        return {"kafka_offset": position}

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``kafka_topic`` and ``kafka_partition``."""
        return topic_partition(partition, "kafka_topic", "kafka_partition")

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int]:
        """Write ``kafka_topic`` and ``kafka_partition``."""
        return {"kafka_topic": where.topic, "kafka_partition": where.partition}

    def consumed_topics(self, config: Config) -> str | None:
        """Return ``topics.regex``, or a pattern for the list in ``topics``."""
        if config.get("topics.regex"):
            return plain_value(config, "topics.regex")
        names = [name.strip() for name in (plain_value(config, "topics") or "").split(",") if name.strip()]
        return "|".join(re.escape(name) for name in names) or None

    def offset_reset(self, config: Config) -> OffsetReset:
        """Read ``consumer.override.auto.offset.reset``; a worker's own default is earliest."""
        return OffsetReset.of(config.get("consumer.override.auto.offset.reset"))

    def reads_committed(self, config: Config) -> bool:
        """Whether ``consumer.override.isolation.level`` is ``read_committed``; the default is ``read_uncommitted``."""
        return config.get("consumer.override.isolation.level", "").strip() == READ_COMMITTED


@dataclass(frozen=True, slots=True)
class ConsumerGroup(Sink):
    """A consumer group of a plain application: like a sink, but its configuration is unknown.

    The ``topics`` in its snapshot are those for which it has committed an offset; it may be about to read others.
    """

    name: ClassVar[str] = "consumer_group"
    lists_topics: ClassVar[bool] = False

    def offset_reset(self, config: Config) -> OffsetReset:
        """Return UNKNOWN, because ``auto.offset.reset`` is a setting of its applications."""
        return OffsetReset.UNKNOWN


@dataclass(frozen=True, slots=True)
class FileStreamSource(Family):
    """FileStreamSource stores how many bytes of its file it has read."""

    name: ClassVar[str] = "file_stream_source"
    classes: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.file.FileStreamSourceConnector",)
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
        DebeziumPostgres(),
        DebeziumMySql(),
        DebeziumMariaDb(),
        DebeziumSqlServer(),
        DebeziumMongoDb(),
        DebeziumOracle(),
        JdbcSource(),
    )
}
_NAMES = frozenset(FAMILIES)
# Families whose keys occur in no other family: a partition alone shows which family it belongs to.
_TOLD_BY_KEYS = (MirrorSource(), MirrorCheckpoint(), MirrorHeartbeat(), FileStreamSource())


def family_of(connector_type: ConnectorType, connector_class: str) -> Family:
    """Return the family of a connector.

    Args:
        connector_type: Source, sink, or a consumer group.
        connector_class: Fully qualified class name, or the alias that Connect allows.

    Raises:
        BrokenFamily: No family of this package has the class, and one that another distribution brings can't be loaded.
    """
    if connector_type is ConnectorType.GROUP:
        return FAMILIES[ConsumerGroup.name]
    if connector_type is ConnectorType.SINK:
        return FAMILIES[Sink.name]
    of_class = (family for family in FAMILIES.values() if _covers(family, connector_class))
    return next(of_class, None) or next(
        (family for family in load_own_families(_NAMES) if _covers(family, connector_class)), FAMILIES[Family.name]
    )


def family_named(name: str) -> Family:
    """Return a family by its name in datasets.

    Raises:
        BrokenFamily: A distribution brings a family that can't be loaded.
        InvalidInput: No installed distribution brings a family of that name.
    """
    if name in FAMILIES:
        return FAMILIES[name]
    own = {family.name: family for family in load_own_families(_NAMES)}
    if name not in own:
        raise InvalidInput(
            f"There is no connector family {name!r} here. Install the distribution that provides it with an entry "
            f"point in the group {GROUP!r}."
        )
    return own[name]


def _covers(family: Family, connector_class: str) -> bool:
    """Whether the family has a class, given by its full or simple name, with or without ``Connector`` at the end."""
    package, _, simple = connector_class.rpartition(".")
    if package:
        return connector_class.removesuffix("Connector") in {name.removesuffix("Connector") for name in family.classes}
    ours = {name.rpartition(".")[2].removesuffix("Connector") for name in family.classes}
    return simple.removesuffix("Connector") in ours


def are_of_sink(offsets: Offsets) -> bool:
    """Whether the keys of all partitions are those of a sink connector; False without offsets."""
    keys = Sink.partition_keys.keys()
    return len(offsets) > 0 and all(parse_map(entry.partition).keys() == keys for entry in offsets)


def config_told_by(partition: JsonMap) -> dict[str, str]:
    """Derive settings of a connector from one of its source partitions, for a connector without known configuration.

    Returns:
        ``connector.class``, by the partition's keys (empty if unknown), and the file or source alias in the partition.
    """
    family = next((family for family in _TOLD_BY_KEYS if set(family.partition_keys) == set(partition)), None)
    if family is None:
        return {"connector.class": ""}
    config = {"connector.class": family.classes[0].rpartition(".")[2]}
    fields = {"file": "filename", "source.cluster.alias": "cluster"}
    return config | {setting: str(partition[field]) for setting, field in fields.items() if field in partition}
