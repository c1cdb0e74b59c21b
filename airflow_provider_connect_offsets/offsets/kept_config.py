"""What of a connector's configuration is written to a workspace: the settings that rules need and pages show, by name.

A list of what to keep, as nobody can list what to leave out: any connector's class calls its secrets as it likes.
"""

from __future__ import annotations

import re

from airflow_provider_connect_offsets.offsets.family import Config

MASK = "********"
KEPT = frozenset(
    {
        "connector.class",
        # What a connector reads, and where it starts.
        "consumer.auto.offset.reset",
        "consumer.override.auto.offset.reset",
        "consumer.override.max.poll.records",
        "file",
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
        # What makes a failover better or worse.
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
# With a scheme before them or without; a password may hold any character but a space and a comma.
_CREDENTIALS = re.compile(r"(?<=://)[^\s,]*(?=@)|(?<![^\s,;=])[^\s,:/@]+:(?:(?!//)[^\s,@])*(?=@)")


def kept_config(config: Config) -> dict[str, str]:
    """Give the settings that are kept, with login and password of any address in them masked.

    A reference to a config provider (``${file:…}``) is no secret, and rules need to know that it is one.
    """
    return {name: without_credentials(value) for name, value in config.items() if name in KEPT}


def without_credentials(text: str) -> str:
    """Mask what stands before the ``@`` of each address in ``text``."""
    return _CREDENTIALS.sub(MASK, text)
