"""Families of MirrorMaker 2's connectors.

Sources: ``MirrorUtils``, ``MirrorSourceConnector``, ``MirrorSourceTask`` and ``DefaultTopicFilter`` (connect-mirror).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.family import (
    READ_COMMITTED,
    Config,
    Family,
    Keys,
    OffsetReset,
    TopicPartition,
    alternatives,
    error,
    flag,
    is_default,
    plain_value,
    topic_partition,
    whole_field,
)
from airflow_provider_connect_offsets.offsets.flow import SEPARATOR, internal_topics, keeps_separator
from airflow_provider_connect_offsets.offsets.verdicts import Finding, Rule


@dataclass(frozen=True, slots=True)
class MirrorSource(Family):
    """MirrorSourceConnector stores the last record it replicated, and resumes one after it.

    No stored value means "resume at 0", so for that the offset is removed.
    (``MirrorSourceTask.initializeConsumer`` seeks to ``offset + 1``; KIP-875.)
    """

    name: ClassVar[str] = "mirror_source"
    classes: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.mirror.MirrorSourceConnector",)
    partition_keys: ClassVar[Keys] = {"cluster": str, "topic": str, "partition": int}
    offset_keys: ClassVar[Keys] = {"offset": int}
    has_positions: ClassVar[bool] = True

    def position(self, offset: JsonMap | None) -> int | None:
        """Return the offset after the last replicated record."""
        last = whole_field(offset, "offset")
        return None if last is None else last + 1

    def offset_at(self, position: int) -> dict[str, int] | None:
        """Return the record before ``position``; None for 0."""
        return None if position == 0 else {"offset": position - 1}

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``topic`` and ``partition``."""
        return topic_partition(partition, "topic", "partition")

    def partition_of(self, where: TopicPartition, config: Config) -> dict[str, str | int]:
        """Write ``cluster`` (the source alias), ``topic`` and ``partition``."""
        return {"cluster": _alias(config, "source"), "topic": where.topic, "partition": where.partition}

    def consumed_topics(self, config: Config) -> str | None:
        """Return a pattern for ``topics``, a list of patterns; None if a custom topic filter decides.

        Heartbeats are replicated too, unless ``heartbeats.replication.enabled`` is false
        (``MirrorSourceConnector.shouldReplicateTopic``).
        """
        if not is_default(config, "topic.filter.class", "DefaultTopicFilter"):
            return None
        topics = plain_value(config, "topics", ".*")
        heartbeats = [r"(?:.*[.])?heartbeats"] if flag(config, "heartbeats.replication.enabled", default=True) else []
        return None if topics is None else alternatives(topics, *heartbeats)

    def excluded_topics(self, config: Config) -> str | None:
        """Return a pattern for ``topics.exclude``, and for topics that MirrorMaker 2 never replicates.

        The latter are internal topics (``offsets.flow.internal_topics``) and, to avoid cycles, remote topics that came
        from the target (``MirrorSourceConnector.isCycle``). Topics that end with ``.internal`` or ``-internal`` are
        excluded too, as before Kafka 4.0, because the configuration does not name the release.
        """
        excluded = plain_value(config, "topics.exclude", r"mm2.*\.internal,.*\.replica,__.*") or ""
        separator = config.get(SEPARATOR, ".")
        never = [r".*[-.]internal", *internal_topics(separator if keeps_separator(config) else ".")]
        if is_default(config, "replication.policy.class", "DefaultReplicationPolicy"):
            never += _cycles(_alias(config, "target"), separator)
        return alternatives(excluded, *never)

    def offset_reset(self, config: Config) -> OffsetReset:
        """Read ``source.consumer.auto.offset.reset``, with or without ``source.``; the default is earliest."""
        return OffsetReset.of(_of_consumer(config, "auto.offset.reset"))

    def reads_committed(self, config: Config) -> bool:
        """Whether ``source.consumer.isolation.level``, with or without ``source.``, is ``read_committed``.

        Its consumer is MirrorMaker's own, so ``consumer.override.`` means nothing to it (Java class
        ``MirrorConnectorConfig``, method ``sourceConsumerConfig``).
        """
        return _of_consumer(config, "isolation.level") == READ_COMMITTED

    def under(self, partition: JsonMap, config: Config, *, before: Config) -> JsonMap:
        """Replace the source alias, if ``config`` has another one."""
        return _replace_aliases(partition, {"cluster": "source"}, config, before)

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Require the configured source alias."""
        yield from _check_alias(partition, "cluster", config, "source")


@dataclass(frozen=True, slots=True)
class _NeverRead(Family):
    """A connector that stores offsets which its task never reads; only 0 is accepted."""

    offset_keys: ClassVar[Keys] = {"offset": int}
    without_offset: ClassVar[str] = "nothing changes, because the connector never reads its offsets"

    def check_offset(self, offset: JsonMap) -> Iterator[Finding]:
        """Require 0."""
        value = whole_field(offset, "offset")
        if value is not None and value > 0:
            message = f"the offset must be 0, not {value}: MirrorMaker 2 accepts only 0 here, and never reads it"
            yield error(Rule.ONLY_ZERO, message)


@dataclass(frozen=True, slots=True)
class MirrorCheckpoint(_NeverRead):
    """MirrorCheckpointConnector, whose partitions are those of groups' checkpoints."""

    name: ClassVar[str] = "mirror_checkpoint"
    classes: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.mirror.MirrorCheckpointConnector",)
    partition_keys: ClassVar[Keys] = {"group": str, "topic": str, "partition": int}
    why_no_position: ClassVar[str] = "a MirrorCheckpointConnector stores offsets but never reads them"

    def topic_partition(self, partition: JsonMap) -> TopicPartition | None:
        """Read ``topic`` and ``partition`` of the group's checkpoint, which do not say where this connector resumes."""
        return topic_partition(partition, "topic", "partition")


@dataclass(frozen=True, slots=True)
class MirrorHeartbeat(_NeverRead):
    """MirrorHeartbeatConnector, which has one partition: both aliases."""

    name: ClassVar[str] = "mirror_heartbeat"
    classes: ClassVar[tuple[str, ...]] = ("org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",)
    partition_keys: ClassVar[Keys] = {"sourceClusterAlias": str, "targetClusterAlias": str}
    why_no_position: ClassVar[str] = "a MirrorHeartbeatConnector stores offsets but never reads them"

    def under(self, partition: JsonMap, config: Config, *, before: Config) -> JsonMap:
        """Replace the aliases that ``config`` changes."""
        return _replace_aliases(
            partition, {"sourceClusterAlias": "source", "targetClusterAlias": "target"}, config, before
        )

    def check_partition(self, partition: JsonMap, config: Config) -> Iterator[Finding]:
        """Require the configured aliases."""
        yield from _check_alias(partition, "sourceClusterAlias", config, "source")
        yield from _check_alias(partition, "targetClusterAlias", config, "target")


def _check_alias(partition: JsonMap, field: str, config: Config, side: str) -> Iterator[Finding]:
    alias, configured = partition.get(field), _alias(config, side)
    if isinstance(alias, str) and alias != configured and "${" not in configured:
        message = (
            f"the {side} cluster alias is '{alias}', but the connector is configured with '{configured}', so it would "
            "never read this offset"
        )
        yield error(Rule.FOREIGN_ALIAS, message)


def _of_consumer(config: Config, name: str) -> str | None:
    """Return a setting of the consumer that a MirrorSource has of its own; None if it is not set."""
    return next(
        (found.strip() for prefix in ("source.", "") if (found := config.get(f"{prefix}consumer.{name}"))), None
    )


def _replace_aliases(partition: JsonMap, sides: Mapping[str, str], config: Config, before: Config) -> JsonMap:
    """Replace aliases that ``config`` changes; ``sides``: field of the partition → source or target."""
    changed = {field: side for field, side in sides.items() if _alias(config, side) != _alias(before, side)}
    return {**partition, **{field: _alias(config, side) for field, side in changed.items()}}


def _alias(config: Config, side: str) -> str:
    return config.get(f"{side}.cluster.alias", side).strip()


def _cycles(alias: str, separator: str) -> list[str]:
    """Return patterns of a cluster's remote topics, also of those that were replicated again from another cluster.

    An empty separator is found behind each character of a name (``DefaultReplicationPolicy.topicSource``).
    """
    if not separator:
        return [f".*{re.escape(alias)}.+"] if len(alias) == 1 else []
    between = re.escape(separator)
    return [f"(?:.*{between})?{re.escape(alias)}{between}.*"]
