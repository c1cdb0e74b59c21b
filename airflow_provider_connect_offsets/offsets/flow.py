"""A MirrorMaker 2 flow: what its topics are called on either cluster, and where it keeps its own records.

Sources: ``DefaultReplicationPolicy``, ``IdentityReplicationPolicy``, ``ReplicationPolicy.isInternalTopic``,
``MirrorSourceConfig.offsetSyncsTopic`` and ``MirrorCheckpointConfig.checkpointsTopic`` (connect-mirror,
connect-mirror-client).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.family import Config, plain
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord

_HEARTBEATS = "heartbeats"
_KEEPS_SEPARATOR = "replication.policy.internal.topic.separator.enabled"


class Side(StrEnum):
    """Either cluster of a flow."""

    SOURCE = "source"
    TARGET = "target"


class Policy(StrEnum):
    """How a remote topic is named: ``DefaultReplicationPolicy`` prefixes the source alias, identity keeps the name."""

    DEFAULT = "default"
    IDENTITY = "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow(JsonRecord):
    """One direction of replication, as its connectors' configuration tells it.

    ``internal_separator`` stands in the names of offset-syncs and checkpoints; ``syncs_on`` is the cluster that the
    offset-syncs topic is on (``offset-syncs.topic.location``).
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

        Raises :class:`InvalidInput` where names can't be told: a replication policy of the user's own, or a value that
        only the worker can resolve.
        """
        separator = _told(config, "replication.policy.separator") or "."
        _told(config, _KEEPS_SEPARATOR)
        return cls(
            source_alias=_told(config, "source.cluster.alias") or "source",
            target_alias=_told(config, "target.cluster.alias") or "target",
            policy=_policy(_told(config, "replication.policy.class")),
            separator=separator,
            internal_separator=separator if keeps_separator(config) else ".",
            syncs_on=_side(_told(config, "offset-syncs.topic.location")),
        )

    @property
    def offset_syncs_topic(self) -> str:
        """Where MirrorSource writes its syncs; shared by all flows of the same clusters and aliases."""
        other = self.target_alias if self.syncs_on is Side.SOURCE else self.source_alias
        return self.internal_separator.join(("mm2-offset-syncs", other, "internal"))

    @property
    def checkpoints_topic(self) -> str:
        """Where MirrorCheckpoint writes its checkpoints, on the target."""
        return self.internal_separator.join((self.source_alias, "checkpoints", "internal"))

    def target_topic(self, source_topic: str) -> str:
        """Name the remote topic of a topic of the source."""
        if self.policy is Policy.IDENTITY and not self._is_heartbeat(source_topic):
            return source_topic
        return f"{self.source_alias}{self.separator}{source_topic}"

    def source_topic(self, target_topic: str) -> str | None:
        """Name the topic that a topic of the target is the remote topic of; None where this flow makes no such one."""
        if self.policy is Policy.IDENTITY and not self._is_heartbeat(target_topic):
            return target_topic
        prefix = f"{self.source_alias}{self.separator}"
        return target_topic.removeprefix(prefix) if target_topic.startswith(prefix) else None

    def is_internal(self, topic: str) -> bool:
        """Whether MirrorMaker 2 replicates no topic of this name, whatever its release and configuration."""
        return any(re.fullmatch(pattern, topic) for pattern in internal_topics(self.internal_separator))

    def reversed(self) -> Flow:
        """The flow of the other direction, by the same policy."""
        return replace(self, source_alias=self.target_alias, target_alias=self.source_alias)

    def _is_heartbeat(self, topic: str) -> bool:
        return topic.rsplit(self.separator, maxsplit=1)[-1] == _HEARTBEATS


def internal_topics(separator: str = ".") -> tuple[str, ...]:
    """Patterns for whole names of internal topics: Kafka's, and those that MirrorMaker 2 writes for itself.

    separator: what stands in the names of the latter. Before Kafka 4.0 (KAFKA-17200) MirrorMaker 2 took each topic for
    internal that ends with ``.internal`` or ``-internal``; since then it replicates such topics, too.
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
            f"replication.policy.class is {class_name!r}: how that names remote topics isn't known here, only how "
            "DefaultReplicationPolicy and IdentityReplicationPolicy do."
        ) from None


def _side(location: str) -> Side:
    try:
        return Side(location or Side.SOURCE)
    except ValueError:
        raise InvalidInput(
            f"offset-syncs.topic.location is {location!r}; MirrorMaker 2 knows source and target."
        ) from None


def keeps_separator(config: Config) -> bool:
    """Whether internal topics are named with the policy's separator too, as it is where nobody can tell.

    ``DefaultReplicationPolicy.configure`` asks ``Boolean.parseBoolean``: whatever is not ``true`` is false.
    """
    return (plain(config, _KEEPS_SEPARATOR) or "true").lower() == "true"


def _told(config: Config, name: str) -> str:
    """A setting's value, empty where it isn't set; a space may be all that a separator is, so nothing is cut off."""
    value = config.get(name) or ""
    if "${" in value:
        raise InvalidInput(
            f"{name} is {value!r}, which only the worker can resolve: write it out in the configuration."
        )
    return value
