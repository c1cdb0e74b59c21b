"""A failover whose translation a test makes up: real groups move to any offset, without a flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.groups import Committed
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.observed_groups import groups_named
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import (
    DIGEST_PIECES,
    FailoverRequest,
    digest_of_sums,
    row_numbers,
)
from airflow_provider_connect_offsets.operations.groups.group_commit import Moved, commit_translation
from airflow_provider_connect_offsets.operations.groups.group_restore import Restored, restore_groups
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS, TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Sandbox
from tests.support.flows.groups import cluster
from tests.support.rows.written_reports import failover_row

PARTITIONS = 4
GroupOffsets = Mapping[str, Mapping[TopicPartition, Committed]]


@dataclass(frozen=True)
class MadeUpFailover:
    """One topic on both clusters under the same name, and the directory of a run."""

    sandbox: Sandbox
    directory: FailoverDirectory
    topic: str

    @classmethod
    def start(cls, sandbox: Sandbox, path: Path) -> MadeUpFailover:
        """Create the topics, empty."""
        topic = f"orders-{uuid4().hex[:8]}"
        for broker in (sandbox.source, sandbox.target):
            broker.create_topic(topic, partitions=PARTITIONS)
        return cls(sandbox, FailoverDirectory((path / topic).as_uri()), topic)

    def at(self, partition: int) -> TopicPartition:
        """A partition of the topic."""
        return TopicPartition(self.topic, partition)

    def group(self, name: str) -> str:
        """A group name that no other test has."""
        return f"{self.topic}-{name}"

    def translate(self, moves: Mapping[str, Mapping[int, int]], **columns: Any) -> str:
        """Write a translation that moves groups to these offsets; returns its digest. ``columns``: more of them."""
        with cluster(self.sandbox.target) as target:
            present = groups_named(target, moves)
        request = FailoverRequest.parse(planned=True, flow=Flow(), groups=".*", source_connector="flow")
        files.write_json(self.directory.request, request.as_json())
        rows, sums = [], [0] * len(DIGEST_PIECES)
        for name, offsets in moves.items():
            for partition, offset in offsets.items():
                where = {"source_topic": self.topic, "target_topic": self.topic, "kafka_partition": partition}
                before = present[name].offset(self.at(partition))
                rows.append(failover_row(name, **where, downstream=offset, target_before=before, **columns))
                numbers = row_numbers(name, self.topic, partition, offset)
                sums = [so_far + number for so_far, number in zip(sums, numbers, strict=True)]
        write_dataset(self.directory.translation, TRANSLATION, rows)
        ends = [self._ends(number, end) for number, (_, end) in self.sandbox.source.log_bounds(self.topic).items()]
        write_dataset(self.directory.mirror_partitions, MIRROR_PARTITIONS, ends)
        return digest_of_sums(sums)

    def commit(self, digest: str) -> Moved:
        """Commit the translation."""
        with cluster(self.sandbox.source) as source, cluster(self.sandbox.target) as target:
            return commit_translation(self.directory, Clusters(source, target), digest=digest)

    def restore(self) -> Restored:
        """Undo the commit."""
        with cluster(self.sandbox.target) as target:
            return restore_groups(self.directory, target)

    def commit_on_target(self, requested: GroupOffsets) -> None:
        """Commit offsets of groups, as consumers or an administrator would."""
        with cluster(self.sandbox.target) as target:
            assert target.groups.commit(requested) == {}
            found = target.groups.offsets_of(requested)
            assert all(found[name].items() >= offsets.items() for name, offsets in requested.items())

    def on_target(self, *groups: str) -> dict[str, dict[TopicPartition, Committed]]:
        """All committed offsets of the groups."""
        with cluster(self.sandbox.target) as target:
            return target.groups.offsets_of(groups)

    def listed(self) -> set[str]:
        """The existing groups."""
        with cluster(self.sandbox.target) as target:
            return set(target.groups.list_groups(f"{self.topic}-.*"))

    def _ends(self, partition: int, end: int) -> dict[str, Any]:
        empty = dict.fromkeys(MIRROR_PARTITIONS.names)
        usual = {"drained": True, "gapless": True, "transformed": False, "timed": True}
        known = {**usual, "target_start": 0, "target_end": 0, "source_end": end}
        return {
            **empty,
            "topic": self.topic,
            "target_topic": self.topic,
            "kafka_partition": partition,
            **known,
        }
