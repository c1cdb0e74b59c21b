"""Configurations of the sandbox's connectors, with settings for quick tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox.parts import Parts

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def mirror_source_config(
    sandbox: Parts,
    topics: str,
    *,
    source_alias: str = "source",
    target_alias: str = "target",
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Replicate ``topics`` (names or regular expressions, with commas between) from the source to the target."""
    return {
        **_mirror(sandbox, "MirrorSourceConnector", source_alias=source_alias, target_alias=target_alias),
        "topics": topics,
        "refresh.topics.interval.seconds": "5",
        "offset.lag.max": "10",
        "sync.topic.acls.enabled": "false",  # the clusters have no authorizer to ask
        # Flows in both directions with aliases of their own would replicate each other's remote topics without end.
        "heartbeats.replication.enabled": "false",
        **(overrides or {}),
    }


def mirror_checkpoint_config(
    sandbox: Parts,
    *,
    groups: str = ".*",
    source_alias: str = "source",
    target_alias: str = "target",
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Translate the offsets of the consumer groups that match ``groups`` from the source to the target."""
    return {
        **_mirror(sandbox, "MirrorCheckpointConnector", source_alias=source_alias, target_alias=target_alias),
        "groups": groups,
        "checkpoints.topic.replication.factor": "1",
        "emit.checkpoints.interval.seconds": "2",
        "refresh.groups.interval.seconds": "5",
        **(overrides or {}),
    }


def mirror_heartbeat_config(
    sandbox: Parts,
    *,
    source_alias: str = "source",
    target_alias: str = "target",
    overrides: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Emit heartbeats."""
    return {
        **_mirror(sandbox, "MirrorHeartbeatConnector", source_alias=source_alias, target_alias=target_alias),
        "heartbeats.topic.replication.factor": "1",
        **(overrides or {}),
    }


def file_sink_config(topics: str, path: Path, *, overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write the values of ``topics`` (names with commas between) to a file, one a line."""
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "topics": topics,
        "file": str(path),
        **(overrides or {}),
    }


def file_source_config(topic: str, path: Path, *, overrides: Mapping[str, str] | None = None) -> dict[str, str]:
    """Read the lines of a file into a topic, which is created if it is not there."""
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "topic": topic,
        "file": str(path),
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        **(overrides or {}),
    }


def _mirror(sandbox: Parts, name: str, *, source_alias: str, target_alias: str) -> dict[str, str]:
    return {
        "connector.class": f"org.apache.kafka.connect.mirror.{name}",
        "tasks.max": "1",
        "source.cluster.alias": source_alias,
        "target.cluster.alias": target_alias,
        "source.cluster.bootstrap.servers": sandbox.source.bootstrap,
        "target.cluster.bootstrap.servers": sandbox.target.bootstrap,
        # Records are replicated byte by byte, whatever the worker's default converters are.
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
    }
