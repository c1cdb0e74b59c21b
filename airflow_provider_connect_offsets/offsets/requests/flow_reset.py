"""The reset of a MirrorMaker 2 flow beside its MirrorSource's offsets: its other connector, and its own topics."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.families import Family, MirrorCheckpoint, MirrorSource
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.offsets.flow import Flow, Side


class Belongs(StrEnum):
    """Whose syncs of a topic are: of one that is reset, of one that the flow keeps where it is, of another flow's."""

    RESET = "reset"
    KEPT = "kept"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class OwnTopic:
    """A topic in which a flow keeps records of its own, and the cluster it is on."""

    side: Side
    topic: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowReset:
    """What of a flow is reset beside the offsets of ``source_connector``.

    ``checkpoint_connector`` is stopped meanwhile; None: none is. ``checkpoints``: their topic is emptied, too.
    ``sharing``: other connectors of the Connect cluster that write or read the same offset-syncs.
    """

    source_connector: str
    checkpoint_connector: str | None
    checkpoints: bool
    flow: Flow
    sharing: tuple[str, ...] = ()

    @property
    def syncs(self) -> OwnTopic:
        """Where the flow's offset syncs are."""
        return OwnTopic(self.flow.syncs_on, self.flow.offset_syncs_topic)

    @property
    def stored_checkpoints(self) -> OwnTopic:
        """Where the flow's checkpoints are."""
        return OwnTopic(Side.TARGET, self.flow.checkpoints_topic)

    @property
    def emptied(self) -> tuple[OwnTopic, ...]:
        """The topics that are emptied."""
        return (self.syncs, self.stored_checkpoints) if self.checkpoints else (self.syncs,)

    def digest(self) -> str:
        """SHA-256 (hex) of what a person approves of it."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return {
            "source_connector": self.source_connector,
            "checkpoint_connector": self.checkpoint_connector,
            "checkpoints": self.checkpoints,
            "flow": self.flow.as_json(),
            "sharing": list(self.sharing),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FlowReset:
        """Read what :meth:`as_json` wrote."""
        return cls(**{**fields, "flow": Flow.from_json(fields["flow"]), "sharing": tuple(fields["sharing"])})


def flow_of(connector: str, family: Family, config: Config) -> Flow:
    """The flow of a MirrorSource; raises :class:`InvalidInput` for a connector of another class."""
    return _flow(connector, family, config, wanted=MirrorSource.name, param="source_connector")


def refuse_other_flow(flow: Flow, connector: str, family: Family, config: Config) -> None:
    """Raise :class:`InvalidInput` where ``connector`` is no MirrorCheckpoint, or not of ``flow``."""
    other = _flow(connector, family, config, wanted=MirrorCheckpoint.name, param="checkpoint_connector")
    theirs, ours = _shared(other), _shared(flow)
    different = [f"{name} is {theirs[name]!r}, not {ours[name]!r}" for name in ours if theirs[name] != ours[name]]
    if different:
        raise InvalidInput(
            f"Nothing was read or changed. {connector!r} is not of the flow that is reset: its "
            f"{'; its '.join(different)}. Name the MirrorCheckpoint of that flow, or none."
        )


def shares_syncs(flow: Flow, config: Config) -> bool:
    """Whether a MirrorSource or MirrorCheckpoint with this configuration writes or reads the same offset-syncs."""
    try:
        other = Flow.of(config)
    except InvalidInput:
        return False  # it names its topics in a way that is its own
    return (other.offset_syncs_topic, other.syncs_on, other.source_alias, other.target_alias) == (
        flow.offset_syncs_topic,
        flow.syncs_on,
        flow.source_alias,
        flow.target_alias,
    )


def _flow(connector: str, family: Family, config: Config, *, wanted: str, param: str) -> Flow:
    if family.name != wanted:
        raise InvalidInput(
            f"Nothing was read or changed. {param}: {connector!r} is a {config.get('connector.class') or family.name}, "
            f"not a {'MirrorSourceConnector' if wanted == MirrorSource.name else 'MirrorCheckpointConnector'}."
        )
    try:
        return Flow.of(config)
    except InvalidInput as error:
        raise InvalidInput(f"Nothing was read or changed. {connector!r}: {error}") from error


def _shared(flow: Flow) -> dict[str, str]:
    """What a flow's connectors must have in common, in the words of their configuration."""
    return {
        "source.cluster.alias": flow.source_alias,
        "target.cluster.alias": flow.target_alias,
        "offset-syncs topic": f"{flow.offset_syncs_topic} on the {flow.syncs_on}",
        "checkpoints topic": flow.checkpoints_topic,
    }
