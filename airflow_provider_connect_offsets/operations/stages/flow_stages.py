"""The stage of a MirrorMaker 2 flow's own topics: emptying them, which can't be taken back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from airflow_provider_connect_offsets.exceptions import NotApplied
from airflow_provider_connect_offsets.kafka.mirror_cluster import CleanupPolicy
from airflow_provider_connect_offsets.observe.clients import Clients, FlowCluster
from airflow_provider_connect_offsets.offsets.flow import Side
from airflow_provider_connect_offsets.offsets.requests.flow_reset import OwnTopic
from airflow_provider_connect_offsets.operations.stages.captured import CONNECTIONS, EMPTY
from airflow_provider_connect_offsets.saga.stage import Captures, Done, Found, JsonMap, Kind, Stage, StageState, Undoing


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """A topic that is to be emptied: the policy, and the log start and end offsets of its partitions, in order."""

    where: OwnTopic
    policy: CleanupPolicy
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Write it; :meth:`from_json` reads it."""
        topic = {"side": self.where.side.value, "topic": self.where.topic}
        return {**topic, **asdict(self.policy), "starts": list(self.starts), "ends": list(self.ends)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> FoundTopic:
        """Read what :meth:`as_json` wrote."""
        where = OwnTopic(Side(fields["side"]), fields["topic"])
        policy = CleanupPolicy(fields["value"], own=fields["own"])
        return cls(where, policy, tuple(fields["starts"]), tuple(fields["ends"]))


class EmptyTopics(Stage):
    """Empty a flow's own topics, prove it, and give each its cleanup policy again; the pivot of a reset.

    kept: where their records lie, as they were read before. Undone, while nothing is deleted, policies are given back.
    """

    title = EMPTY
    kind = Kind.PIVOT

    def __init__(self, flow: str, clients: Clients, topics: Sequence[OwnTopic], *, kept: str) -> None:
        super().__init__(flow, cluster=clients.cluster)
        self._clients = clients
        self._topics = tuple(topics)
        self._kept = kept

    @classmethod
    def built(cls, flow: str, clients: Clients, spec: JsonMap) -> Self:
        """From what :meth:`spec` wrote."""
        topics = [OwnTopic(Side(side), topic) for side, topic in spec["topics"]]
        return cls(flow, clients, topics, kept=spec["kept"])

    @property
    def resources(self) -> frozenset[str]:
        """The topics."""
        return frozenset(f"{one.side} topic {one.topic}" for one in self._topics)

    def spec(self) -> JsonMap:
        """The topics, and where their records are kept."""
        topics = [[one.side.value, one.topic] for one in self._topics]
        return {"topics": topics, "kept": self._kept, CONNECTIONS: dict(self._clients.connections)}

    def capture(self, earlier: Captures) -> JsonMap:
        """Policies and log offsets."""
        del earlier
        return {"topics": [self._found(one).as_json() for one in self._topics]}

    def do(self, captured: JsonMap) -> Done:
        """Empty them; raises store errors, after which some records may be gone. Facts: how many offsets of each."""
        counts = {
            one.where.topic: self._cluster(one.where).empty(one.where.topic, one.policy) for one in _topics_in(captured)
        }
        return Done(facts={"emptied": counts})

    def find(self, captured: JsonMap) -> StageState:
        """BEFORE while no record is gone, DONE once all that were there are, and the policies are as they were."""
        mappings = [(self._found(one.where), one) for one in _topics_in(captured)]
        emptied = all(start >= end for now, was in mappings for start, end in zip(now.starts, was.ends, strict=True))
        if emptied and all(now.policy == was.policy for now, was in mappings):
            return StageState(Found.DONE)
        if not emptied and all(now.starts == was.starts for now, was in mappings):
            return StageState(Found.BEFORE, NotApplied(f"{self._names} still hold records."))
        return StageState(Found.PARTIAL, NotApplied(f"{self._names} may have been emptied in part."))

    def undo(self, captured: JsonMap, undoing: Undoing) -> str:
        """Give each its policy again, which may have been switched; says which records may be gone."""
        del undoing
        is_touched = self.find(captured).found is not Found.BEFORE
        for one in _topics_in(captured):
            self._cluster(one.where).restore_policy(one.where.topic, one.policy)
        if not is_touched:
            return ""
        return (
            f" {self._names} may have been emptied, which is not taken back. The records are kept under {self._kept}. "
            "MirrorMaker 2 writes a new sync with the next record that it replicates of each partition; until then "
            "groups are not translated."
        )

    @property
    def _names(self) -> str:
        return ", ".join(repr(one.topic) for one in self._topics)

    def _found(self, where: OwnTopic) -> FoundTopic:
        cluster = self._cluster(where)
        bounds = cluster.bounds(cluster.partitions(where.topic))
        in_order = [bounds[one] for one in sorted(bounds, key=lambda place: place.partition)]
        starts, ends = (tuple(one.log_start for one in in_order), tuple(one.log_end for one in in_order))
        return FoundTopic(where, cluster.policy(where.topic), starts, ends)

    def _cluster(self, where: OwnTopic) -> FlowCluster:
        return self._clients.clusters[where.side]


def _topics_in(captured: JsonMap) -> list[FoundTopic]:
    return [FoundTopic.from_json(one) for one in captured["topics"]]
