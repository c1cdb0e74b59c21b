"""What a reset changes beside a MirrorSource's offsets, as the journal keeps it: enough to give all of it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.flow_reset import OwnTopic
from airflow_provider_connect_offsets.stores.mirror_cluster import CleanupPolicy
from airflow_provider_connect_offsets.stores.protocols import State


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """A topic that is to be emptied, and the policy that it had."""

    where: OwnTopic
    policy: CleanupPolicy

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return {"side": self.where.side.value, "topic": self.where.topic, **asdict(self.policy)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FoundTopic:
        """Read what :meth:`as_json` wrote."""
        where = OwnTopic(Side(fields["side"]), fields["topic"])
        return cls(where, CleanupPolicy(fields["value"], own=fields["own"]))


@dataclass(frozen=True, slots=True)
class Beside:
    """The MirrorCheckpoint of a flow (None: none is stopped) with its state, and the topics that are emptied.

    ``emptying``: from here on the topics may be empty. ``kept``: where their records lie, as they were read before.
    """

    connector: str | None
    prior_state: State | None
    prior_tasks: int | None
    topics: tuple[FoundTopic, ...]
    kept: str
    emptying: bool = False

    @property
    def lost(self) -> str:
        """Say that the records of the topics are gone, and what comes of it; empty where they are there."""
        if not self.emptying:
            return ""
        names = ", ".join(repr(one.where.topic) for one in self.topics)
        return (
            f" {names} may have been emptied, which is not taken back. The records are kept under {self.kept}. "
            "MirrorMaker 2 writes a new sync with the next record that it replicates of each partition; until then "
            "groups are not translated."
        )

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        return {
            "connector": self.connector,
            "prior_state": None if self.prior_state is None else self.prior_state.value,
            "prior_tasks": self.prior_tasks,
            "topics": [one.as_json() for one in self.topics],
            "kept": self.kept,
            "emptying": self.emptying,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Beside:
        """Read what :meth:`as_json` wrote."""
        prior = fields["prior_state"]
        topics = tuple(FoundTopic.from_json(one) for one in fields["topics"])
        return cls(**{**fields, "prior_state": None if prior is None else State(prior), "topics": topics})
