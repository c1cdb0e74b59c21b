"""What the reset of a MirrorMaker 2 flow changes other than offsets: its second connector, and its own topics."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.families import Family, MirrorCheckpoint, MirrorSource
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord


class Belongs(StrEnum):
    """Which topic an offset sync belongs to: RESET and KEPT topics of the flow, or FOREIGN topics of another flow."""

    RESET = "reset"
    KEPT = "kept"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class OwnTopic:
    """An internal topic of a flow, and the cluster that it is on."""

    side: Side
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReset(JsonRecord):
    """What is reset of a flow, in addition to the offsets of its MirrorSource.

    Attributes:
        source_connector: Name of the MirrorSourceConnector.
        checkpoint_connector: Name of the MirrorCheckpointConnector, which is stopped during the reset; None: none is.
        checkpoints: True if the checkpoints topic is emptied too.
        flow: The flow.
        sharing: Other connectors of the Connect cluster that write or read the same offset-syncs topic.
    """

    source_connector: str
    checkpoint_connector: str | None
    checkpoints: bool
    flow: Flow
    sharing: tuple[str, ...] = ()

    @property
    def syncs(self) -> OwnTopic:
        """The offset-syncs topic."""
        return OwnTopic(self.flow.syncs_on, self.flow.offset_syncs_topic)

    @property
    def checkpoints_topic(self) -> OwnTopic:
        """The checkpoints topic."""
        return OwnTopic(Side.TARGET, self.flow.checkpoints_topic)

    @property
    def emptied_topics(self) -> tuple[OwnTopic, ...]:
        """The topics that are emptied."""
        return (self.syncs, self.checkpoints_topic) if self.checkpoints else (self.syncs,)

    def digest(self) -> str:
        """Return the SHA-256 (hex) of all fields, which a person approves."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()


def flow_of(connector: str, family: Family, config: Config) -> Flow:
    """Return the flow of a MirrorSource; raises :class:`InvalidInput` for a connector of another class."""
    return _flow(connector, family, config, expected=MirrorSource.name, param="source_connector")


def refuse_other_flow(flow: Flow, connector: str, family: Family, config: Config) -> None:
    """Raise :class:`InvalidInput` if ``connector`` is no MirrorCheckpoint, or not of ``flow``."""
    other = _flow(connector, family, config, expected=MirrorCheckpoint.name, param="checkpoint_connector")
    theirs, ours = _shared_settings(other), _shared_settings(flow)
    different = [f"{name} is {theirs[name]!r}, not {ours[name]!r}" for name in ours if theirs[name] != ours[name]]
    if different:
        raise InvalidInput(
            f"Nothing was read or changed. {connector!r} does not belong to the flow that is reset: its "
            f"{'; its '.join(different)}. Set checkpoint_connector to the MirrorCheckpointConnector of that flow, or "
            "leave it empty."
        )


def shares_syncs(flow: Flow, config: Config) -> bool:
    """Whether a MirrorSource or MirrorCheckpoint with this configuration writes or reads the same offset-syncs."""
    try:
        return _shared_settings(Flow.of(config)) == _shared_settings(flow)
    except InvalidInput:
        return False  # the names of its topics are unknown


def _flow(connector: str, family: Family, config: Config, *, expected: str, param: str) -> Flow:
    if family.name != expected:
        raise InvalidInput(
            f"Nothing was read or changed. {param}: {connector!r} is a {config.get('connector.class') or family.name}, "
            f"not a {'MirrorSourceConnector' if expected == MirrorSource.name else 'MirrorCheckpointConnector'}."
        )
    try:
        return Flow.of(config)
    except InvalidInput as error:
        raise InvalidInput(f"Nothing was read or changed. {connector!r}: {error}") from error


def _shared_settings(flow: Flow) -> dict[str, str]:
    """Return what the connectors of a flow have in common, by the names of their configuration."""
    return {
        "source.cluster.alias": flow.source_alias,
        "target.cluster.alias": flow.target_alias,
        "offset-syncs topic": f"{flow.offset_syncs_topic} on the {flow.syncs_on}",
        "checkpoints topic": flow.checkpoints_topic,
    }
