"""Failbacks of consumer groups by the same calls as the DAG's tasks, without Airflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow import failover
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.operations.connector import stopped
from airflow_provider_connect_offsets.operations.groups.group_commit import Moved, commit_translation
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Broker, wait_for
from sandbox.connectors import mirror_source_config
from tests.support.flows.failing_over import FailingOver, Flowing, rows
from tests.support.flows.groups import Positions, cluster


@dataclass(frozen=True)
class Leading:
    """A MirrorSource from the target of a flow to its source."""

    forward: Flowing
    topic: str

    @classmethod
    def start(
        cls,
        forward: Flowing,
        topic: str,
        *,
        overrides: Mapping[str, str] | None = None,
        begins: Mapping[int, int] | None = None,
    ) -> Leading:
        """Replicate ``topic`` of the target, from the offsets ``begins`` of its partitions on, else from the start."""
        sandbox, flow = forward.sandbox, forward.flow
        swapped = {
            "source.cluster.bootstrap.servers": sandbox.target.bootstrap,
            "target.cluster.bootstrap.servers": sandbox.source.bootstrap,
            "producer.override.bootstrap.servers": sandbox.source.bootstrap,
        }
        aliases = {"source_alias": flow.target_alias, "target_alias": flow.source_alias}
        config = mirror_source_config(sandbox, topic, overrides={**swapped, **(overrides or {})}, **aliases)
        leading = cls(forward, topic)
        sandbox.connect.create(leading.connector, config, initial_state="STOPPED")
        if begins:
            partition = {"cluster": flow.target_alias, "topic": topic}
            entries = [
                {"partition": {**partition, "partition": number}, "offset": {"offset": begin - 1}}
                for number, begin in begins.items()
                if begin
            ]
            sandbox.connect.alter(leading.connector, entries)
        sandbox.connect.resume(leading.connector)
        return leading

    @property
    def connector(self) -> str:
        return f"back-{self.forward.mark}"

    def wait_until_replicated(self) -> None:
        """Wait until the stored offsets are those of the last records."""
        sandbox = self.forward.sandbox
        ends = {number: end for number, (_start, end) in sandbox.target.log_bounds(self.topic).items() if end}

        def stored() -> dict[int, int]:
            return {
                entry["partition"]["partition"]: entry["offset"]["offset"] + 1
                for entry in sandbox.connect.offsets(self.connector)
                if entry["offset"] is not None
            }

        wait_for(stored, ends, 90, f"{self.connector} has not caught up", progress=sandbox.connect.work)

    def close(self) -> None:
        self.forward.sandbox.connect.delete(self.connector)


@dataclass(frozen=True)
class FailingBack:
    """The tasks of a failback; ``back`` is None without a flow from the target to the source."""

    there: FailingOver
    back: Leading | None

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the clients of a failback."""
        sandbox = self.there.flowing.sandbox
        with (
            ConnectRest(ConnectEndpoint((sandbox.connect.url,)), timeout=60) as connect,
            cluster(sandbox.source) as home,
            cluster(sandbox.target) as away,
        ):
            clients = Clients(connect, connect, timeout=60, cluster="sandbox", workspace=self.there.workspace)
            yield replace(clients, clusters=Clusters(away, home), forward=clients)

    def request(self, **requested: Any) -> FailoverRequest:
        """The request of a failback of the flow's groups."""
        flowing = self.there.flowing
        given = {"groups": f"{flowing.mark}-.*", "source_connector": self.back.connector if self.back else ""}
        flow = flowing.flow.opposite()
        own = {"forward": flowing.flow, "forward_connector": flowing.source_connector}
        return FailoverRequest.parse(**{"planned": True, "flow": flow, **own, **given, **requested})

    def translate(self, **requested: Any) -> tuple[FailoverDirectory, dict[str, Any]]:
        """Preview, drain, stop, and translate the final offsets."""
        request, before, after = self.request(**requested), self.there.directory(), self.there.directory()
        with self.clients() as clients:
            failover.observe_failover(request, clients, before)
            summary = translate_job.run(self.there.spark, before)
            if summary["errors"]:
                return before, summary
            translate_job.rehearse(self.there.spark, before, self.there.directory())  # as a driver that stands by does
            failover.await_drained(request, clients, timeout=60)
            names = filter(None, (request.source_connector, request.forward_connector))
            members = [(clients, name) for name in names]
            stopped.stop_for_run(members, self.there.owner(), seconds=600)
            failover.observe_failover(request, clients, after, ranges=before)
        return after, translate_job.run(self.there.spark, after)

    def commit(self, directory: FailoverDirectory, digest: str) -> Moved:
        """Commit the translation on the source."""
        with self.clients() as clients:
            return commit_translation(directory, clients.both_clusters, digest=digest)


@dataclass(frozen=True)
class Home:
    """The values in the logs of both clusters, by topic and partition."""

    away: Mapping[TopicPartition, list[bytes]]
    home: Mapping[TopicPartition, list[bytes]]

    @classmethod
    def read(cls, flowing: Flowing, *, away: tuple[str, ...], home: tuple[str, ...]) -> Home:
        """Read all of these topics."""
        sandbox = flowing.sandbox
        return cls(_values(sandbox.target, away), _values(sandbox.source, home))

    def errors_in(self, directory: FailoverDirectory) -> list[str]:
        """The errors of a translation; empty if no record is skipped and no more are read again than predicted."""
        return [error for row in rows(directory) if row["action"] == "commit" for error in self._wrong(row)]

    def _wrong(self, row: Mapping[str, Any]) -> Iterator[str]:
        left = self.away[TopicPartition(row["source_topic"], row["kafka_partition"])]
        comes_to = self.home[TopicPartition(row["target_topic"], row["kafka_partition"])]
        read, downstream = set(left[: row["upstream"]]), row["downstream"]
        unread = {value for value in left[row["upstream"] :] if value not in read}
        never_there = set(comes_to) - set(left)
        passed = (unread | never_there) - set(comes_to[downstream:])
        again = sum(value in read for value in comes_to[downstream:])
        if passed:
            yield f"{row} passes {sorted(passed)[:3]}"
        if again > (0 if row["exact"] else row["max_rereads"]):
            yield f"{row} reads {again} records again"


def away_positions(flowing: Flowing, topic: str, groups: int, random: Random) -> dict[str, dict[TopicPartition, int]]:
    """A random position of each group in each partition of a topic of the target."""
    ends = {number: end for number, (_start, end) in flowing.sandbox.target.log_bounds(topic).items()}
    return {
        f"{flowing.mark}-{number}": {TopicPartition(topic, part): random.randint(0, end) for part, end in ends.items()}
        for number in range(groups)
    }


def at_the_ends(flowing: Flowing, *topics: str) -> dict[TopicPartition, int]:
    """The groups that have read all records."""
    return {
        TopicPartition(topic, number): end
        for topic in topics
        for number, (_start, end) in flowing.sandbox.target.log_bounds(topic).items()
    }


def merged(*positions: Positions) -> dict[str, dict[TopicPartition, int]]:
    """Positions of the same groups in several topics."""
    found: dict[str, dict[TopicPartition, int]] = {}
    for one in positions:
        for group, offsets in one.items():
            found.setdefault(group, {}).update(offsets)
    return found


def produce(broker: Broker, topic: str, count: int, *, mark: str) -> None:
    """Produce more records to each partition, all different."""
    for partition, (_start, end) in broker.log_bounds(topic).items():
        broker.produce(
            topic, [f"{mark}:{partition}:{number}" for number in range(end, end + count)], partition=partition
        )


def _values(broker: Broker, topics: tuple[str, ...]) -> dict[TopicPartition, list[bytes]]:
    found: dict[TopicPartition, list[bytes]] = {}
    for topic in topics:
        found |= {TopicPartition(topic, number): [] for number in broker.log_bounds(topic)}
        for record in broker.consume(topic):
            where = TopicPartition(topic, record.partition)
            assert record.offset == len(found[where])
            found[where].append(record.value or b"")
    return found
