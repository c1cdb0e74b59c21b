"""A MirrorMaker 2 flow: the names of its topics on both clusters, and of its internal topics.

Sources: ``DefaultReplicationPolicy``, ``IdentityReplicationPolicy``, ``ReplicationPolicy.isInternalTopic``,
``MirrorSourceConfig.offsetSyncsTopic`` and ``MirrorCheckpointConfig.checkpointsTopic`` (connect-mirror,
connect-mirror-client).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.family import Config, plain_value
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord

#: The end of the names of heartbeats topics, which every policy renames.
HEARTBEATS = "heartbeats"
SEPARATOR = "replication.policy.separator"
_KEEPS_SEPARATOR = "replication.policy.internal.topic.separator.enabled"


class Side(StrEnum):
    """The two clusters of a flow."""

    SOURCE = "source"
    TARGET = "target"


class Policy(StrEnum):
    """How remote topics are named: ``DefaultReplicationPolicy`` prefixes the source alias, identity keeps the name."""

    DEFAULT = "default"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow(JsonRecord):
    """One direction of replication, as configured in its connectors.

    Attributes:
        source_alias: Alias of the source cluster.
        target_alias: Alias of the target cluster.
        policy: How remote topics are named.
        separator: Between source alias and topic in the name of a remote topic.
        internal_separator: In the names of the offset-syncs and checkpoints topics.
        syncs_on: The cluster of the offset-syncs topic (``offset-syncs.topic.location``).
    """

    source_alias: str = "source"
    target_alias: str = "target"
    policy: Policy = Policy.DEFAULT
    separator: str = "."
    internal_separator: str = "."
    syncs_on: Side = Side.SOURCE

    @classmethod
    def of(cls, config: Config) -> Flow:
        """Read the configuration of any of the flow's connectors.

        Raises:
            InvalidInput: The names are unknown: a custom replication policy, or a value only the worker can resolve.
        """
        separator = _resolve(config, SEPARATOR, ".")
        _resolve(config, _KEEPS_SEPARATOR)
        return cls(
            source_alias=_resolve(config, "source.cluster.alias", "source").strip(),
            target_alias=_resolve(config, "target.cluster.alias", "target").strip(),
            policy=_policy(_resolve(config, "replication.policy.class")),
            separator=separator,
            internal_separator=separator if keeps_separator(config) else ".",
            syncs_on=_side(_resolve(config, "offset-syncs.topic.location")),
        )

    @property
    def offset_syncs_topic(self) -> str:
        """Topic of MirrorSource's offset syncs; all flows between the same clusters and aliases share it."""
        other = self.target_alias if self.syncs_on is Side.SOURCE else self.source_alias
        return self.internal_separator.join(("mm2-offset-syncs", other, "internal"))

    @property
    def checkpoints_topic(self) -> str:
        """Topic of MirrorCheckpoint's checkpoints, on the target."""
        return self.internal_separator.join((self.source_alias, "checkpoints", "internal"))

    def target_topic(self, source_topic: str) -> str:
        """Return the name of the remote topic of a source topic."""
        if self.policy is Policy.IDENTITY and not self._is_heartbeat(source_topic):
            return source_topic
        return f"{self.source_alias}{self.separator}{source_topic}"

    def source_topic(self, target_topic: str) -> str | None:
        """Return the source topic of a remote topic; None if ``target_topic`` isn't a remote topic of this flow."""
        if self.policy is Policy.IDENTITY and not self._is_heartbeat(target_topic):
            return target_topic
        prefix = f"{self.source_alias}{self.separator}"
        return target_topic.removeprefix(prefix) if target_topic.startswith(prefix) else None

    def is_internal(self, topic: str) -> bool:
        """Whether no release of MirrorMaker 2 replicates a topic of this name."""
        return any(re.fullmatch(pattern, topic) for pattern in internal_topics(self.internal_separator))

    def opposite(self) -> Flow:
        """Return the flow of the opposite direction, with the same policy."""
        return replace(self, source_alias=self.target_alias, target_alias=self.source_alias)

    def _is_heartbeat(self, topic: str) -> bool:
        """Decide as ``IdentityReplicationPolicy.looksLikeHeartbeat``: ``app-heartbeats`` is one, too."""
        return topic.endswith(HEARTBEATS)


def internal_topics(separator: str = ".") -> tuple[str, ...]:
    """Return patterns for whole names of internal topics: Kafka's and MirrorMaker 2's own.

    Before Kafka 4.0 (KAFKA-17200) every topic that ends with ``.internal`` or ``-internal`` was internal; since then
    MirrorMaker 2 replicates such topics.

    Args:
        separator: Separator in the names of MirrorMaker 2's own topics.
    """
    between = re.escape(separator)
    return r"__.*", r"[.].*", f"mm2.*{between}internal", f".*{between}checkpoints{between}internal"


def _policy(class_name: str) -> Policy:
    known = {
        "": Policy.DEFAULT,
        "DefaultReplicationPolicy": Policy.DEFAULT,
        "IdentityReplicationPolicy": Policy.IDENTITY,
    }
    try:
        return known[class_name.rpartition(".")[2]]
    except KeyError:
        raise InvalidInput(
            f"replication.policy.class is {class_name!r}, and it is unknown here how this policy names remote topics. "
            "Only DefaultReplicationPolicy and IdentityReplicationPolicy are supported."
        ) from None


def _side(location: str) -> Side:
    try:
        return Side(location or Side.SOURCE)
    except ValueError:
        raise InvalidInput(
            f"offset-syncs.topic.location is {location!r}, but MirrorMaker 2 accepts only source and target."
        ) from None


def keeps_separator(config: Config) -> bool:
    """Whether internal topics are named with the policy's separator too; True if unset or unknown.

    ``DefaultReplicationPolicy.configure`` uses ``Boolean.parseBoolean``: any value but ``true`` is false.
    """
    kept = plain_value(config, _KEEPS_SEPARATOR, "true")
    return kept is None or kept.lower() == "true"


def _resolve(config: Config, name: str, default: str = "") -> str:
    """Return a setting's value, also an empty one, or its default; not stripped, because a separator may be a space."""
    value = config.get(name, default)
    if "${" in value:
        raise InvalidInput(
            f"{name} is {value!r}, which only the worker can resolve. Write the value itself into the configuration."
        )
    return value
