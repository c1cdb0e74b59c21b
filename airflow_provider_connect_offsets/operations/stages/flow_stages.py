"""The stage that empties a MirrorMaker 2 flow's internal topics, which can't be undone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from airflow_provider_connect_offsets.exceptions import NotApplied
from airflow_provider_connect_offsets.kafka.cluster import CleanupPolicy
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.json_codec import JsonRecord
from airflow_provider_connect_offsets.offsets.requests.flow_reset import OwnTopic
from airflow_provider_connect_offsets.offsets.requests.guards import Named
from airflow_provider_connect_offsets.operations.stages.captured import EMPTY
from airflow_provider_connect_offsets.operations.stages.reached import ConnectorStage
from airflow_provider_connect_offsets.saga import Captures, Done, Found, JsonMap, Kind, StageRecord, StageState, Undoing


@dataclass(frozen=True, slots=True)
class ObservedTopic(JsonRecord):
    """An internal topic before it is emptied, as the journal keeps it.

    Attributes:
        side: The cluster that it is in.
        topic: Its name.
        value: Its effective ``cleanup.policy``.
        own: True if the policy is set for the topic itself.
        starts: Log start offsets of its partitions, in order.
        ends: Log end offsets of its partitions, in order.
    """

    side: Side
    topic: str
    value: str
    own: bool
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def policy(self) -> CleanupPolicy:
        """Its cleanup policy."""
        return CleanupPolicy(self.value, own=self.own)


class EmptyTopics(ConnectorStage):
    """Empties a flow's internal topics, verifies it, and restores their cleanup policies; the pivot of a reset.

    While nothing is deleted, the undo restores the policies.

    Args:
        flow: Name of the flow's MirrorSource.
        clients: Clients with both clusters of the flow.
        topics: The topics.
        kept: URI of the run that has kept their records.
    """

    title = EMPTY
    kind = Kind.PIVOT

    def __init__(self, flow: str, clients: Clients, topics: Sequence[OwnTopic], *, kept: str) -> None:
        super().__init__(flow, clients)
        self._topics = tuple(topics)
        self._kept = kept

    @classmethod
    def is_reached(cls, clients: Clients, record: StageRecord) -> bool:
        """Whether the clients are of the same Connect cluster, and reach both clusters of the flow."""
        return clients.clusters is not None and super().is_reached(clients, record)

    @classmethod
    def build(cls, subject: str, clients: Clients, spec: JsonMap) -> Self:
        """Build the stage from what :meth:`spec` returned."""
        topics = [OwnTopic(Side(side), topic) for side, topic in spec["topics"]]
        return cls(subject, clients, topics, kept=spec["kept"])

    @property
    def resources(self) -> frozenset[str]:
        """The topics."""
        return frozenset(f"{one.side} topic {one.topic}" for one in self._topics)

    def changed_names(self) -> Iterable[tuple[Named, str]]:
        """Return the MirrorSource and the topics."""
        return [*super().changed_names(), *((Named.TOPIC, one.topic) for one in self._topics)]

    def spec(self) -> JsonMap:
        """Return the specification of the base class, with the topics and where their records are kept."""
        topics = [[one.side.value, one.topic] for one in self._topics]
        return {**super().spec(), "topics": topics, "kept": self._kept}

    def capture(self, earlier: Captures) -> JsonMap:
        """Capture policies and log offsets, as :class:`ObservedTopic`."""
        return {"topics": [self._observe(one.side, one.topic).as_json() for one in self._topics]}

    def do(self, captured: JsonMap) -> Done:
        """Empty them; raises store errors, after which some records may be gone. Facts: emptied offsets by topic."""
        counts = {
            one.topic: self._clients.both_clusters.on(one.side).empty(one.topic, one.policy)
            for one in _topics_in(captured)
        }
        return Done(facts={"emptied": counts})

    def find(self, captured: JsonMap) -> StageState:
        """Return BEFORE while no record is gone; DONE once all captured records are gone and the policies restored."""
        both = [(self._observe(one.side, one.topic), one) for one in _topics_in(captured)]
        emptied = all(start >= end for now, was in both for start, end in zip(now.starts, was.ends, strict=True))
        if emptied and all(now.policy == was.policy for now, was in both):
            return StageState(Found.DONE)
        if not emptied and all(now.starts == was.starts for now, was in both):
            return StageState(Found.BEFORE, NotApplied(f"{self._names} still hold records."))
        return StageState(Found.PARTIAL, NotApplied(f"{self._names} may have been emptied in part."))

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Restore the policies, which may have been changed; return a sentence about records that may be gone."""
        is_touched = self.find(captured).found is not Found.BEFORE
        for one in _topics_in(captured):
            self._clients.both_clusters.on(one.side).restore_policy(one.topic, one.policy)
        if not is_touched:
            return ""
        return (
            f" {self._names} may have been emptied, which is not undone. The records are kept under {self._kept}. "
            "MirrorMaker 2 writes a new offset sync of each partition with the next record that it replicates. Until "
            "then, it does not translate group offsets of that partition."
        )

    @property
    def _names(self) -> str:
        return ", ".join(repr(one.topic) for one in self._topics)

    def _observe(self, side: Side, topic: str) -> ObservedTopic:
        cluster = self._clients.both_clusters.on(side)
        bounds = cluster.bounds(cluster.partitions(topic))
        in_order, policy = [bounds[one] for one in sorted(bounds)], cluster.policy(topic)
        starts, ends = tuple(one.log_start for one in in_order), tuple(one.log_end for one in in_order)
        return ObservedTopic(side, topic, policy.value, policy.own, starts, ends)


def _topics_in(captured: JsonMap) -> list[ObservedTopic]:
    return [ObservedTopic.from_json(one) for one in captured["topics"]]
