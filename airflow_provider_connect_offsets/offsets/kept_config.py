"""The settings of a connector that are written to a workspace: those that rules need and reports show.

This is a list of settings to keep, because secrets can't be listed: each connector class names its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_connect_offsets.masking import mask_text
from airflow_provider_connect_offsets.offsets.family import Config

#: What a connector's source partitions and positions depend on, besides the settings of its family.
READS = frozenset(
    {
        "connector.class",
        # Which topics or file a connector reads, from which cluster, and where it starts.
        "consumer.auto.offset.reset",
        "consumer.override.auto.offset.reset",
        "consumer.override.bootstrap.servers",
        "consumer.override.group.id",
        "file",
        "source.cluster.bootstrap.servers",
        "source.consumer.auto.offset.reset",
        "topic.filter.class",
        "topics",
        "topics.exclude",
        "topics.regex",
        # How Debezium's connectors name their source partitions, and which database and replication slot they read.
        "database.dbname",
        "database.hostname",
        "database.port",
        "database.server.name",
        "slot.name",
        "topic.prefix",
        "offsets.storage.topic",
        # How a flow of MirrorMaker 2 names its topics, and whether it replicates heartbeats.
        "heartbeats.replication.enabled",
        "replication.policy.internal.topic.separator.enabled",
        "replication.policy.class",
        "replication.policy.separator",
        "source.cluster.alias",
        "target.cluster.alias",
    }
)
KEPT = READS.union(
    {
        "consumer.override.max.poll.records",
        "offset-syncs.topic.location",
        # Settings that affect a failover.
        "emit.checkpoints.enabled",
        "emit.checkpoints.interval.seconds",
        "emit.offset-syncs.enabled",
        "exactly.once.support",
        "group.filter.class",
        "groups",
        "groups.exclude",
        "offset.lag.max",
        "sync.group.offsets.enabled",
    }
)


def kept_config(config: Config, *, also: Iterable[str] = ()) -> dict[str, str]:
    """Return the settings in ``KEPT`` and ``also``, with secrets in their values masked.

    A reference to a config provider (``${file:…}``) isn't a secret, and rules need it.
    """
    return {name: mask_text(value) for name, value in config.items() if name in KEPT.union(also)}


def describe_changes(before: Config, now: Config, *, also: Iterable[str] = ()) -> list[str]:
    """Describe the settings in ``READS`` and ``also`` that differ, as ``topics was 'a' and is 'b'``.

    Args:
        before: What :func:`kept_config` kept.
        now: The present configuration.
        also: Settings of the connector's family.
    """
    names, present = READS.union(also), kept_config(now, also=also)
    changed = sorted(name for name in names if before.get(name) != present.get(name))
    return [f"{name} was {before.get(name)!r} and is {present.get(name)!r}" for name in changed]
