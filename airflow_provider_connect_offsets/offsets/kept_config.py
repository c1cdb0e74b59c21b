"""The settings of a connector that are written to a workspace: those that rules need and reports show.

This is a list of settings to keep, because secrets can't be listed: each connector class names its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from airflow_provider_connect_offsets.offsets.family import Config

MASK = "********"
KEPT = frozenset(
    {
        "connector.class",
        # Which topics or file a connector reads, and where it starts.
        "consumer.auto.offset.reset",
        "consumer.override.auto.offset.reset",
        "consumer.override.max.poll.records",
        "file",
        # How Debezium's connectors name their source partitions, and which replication slot they read.
        "database.server.name",
        "slot.name",
        "topic.prefix",
        "offsets.storage.topic",
        "source.consumer.auto.offset.reset",
        "topic.filter.class",
        "topics",
        "topics.exclude",
        "heartbeats.replication.enabled",
        "topics.regex",
        # How a flow of MirrorMaker 2 names its topics.
        "offset-syncs.topic.location",
        "replication.policy.class",
        "replication.policy.internal.topic.separator.enabled",
        "replication.policy.separator",
        "source.cluster.alias",
        "target.cluster.alias",
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
# Credentials before an @, with or without a scheme; a password may have any character but a space and a comma.
_CREDENTIALS = re.compile(r"(?<=://)[^\s,]*(?=@)|(?<![^\s,;=])[^\s,:/@]+:(?:(?!//)[^\s,@])*(?=@)")


def kept_config(config: Config, *, also: Iterable[str] = ()) -> dict[str, str]:
    """Return the settings in ``KEPT`` and ``also``, with the credentials of any address in them masked.

    A reference to a config provider (``${file:…}``) is no secret, and rules need it.
    """
    return {name: without_credentials(value) for name, value in config.items() if name in KEPT.union(also)}


def without_credentials(text: str) -> str:
    """Mask login and password before the ``@`` of each address in ``text``."""
    return _CREDENTIALS.sub(MASK, text)
