"""Failovers of consumer groups by the same calls as the DAG's tasks, without Airflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow import failover
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.operations.connector import stopped
from airflow_provider_connect_offsets.operations.groups.group_commit import Moved, commit_translation
from airflow_provider_connect_offsets.pipeline.failover import translate_job
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, journal_root
from sandbox import Sandbox, wait_for
from sandbox.connectors import mirror_checkpoint_config, mirror_source_config
from tests.support.flows.groups import cluster, commit_groups


@dataclass(frozen=True)
class Flowing:
    """A MirrorSource and a MirrorCheckpoint of one topic whose values are ``partition:number``."""

    sandbox: Sandbox
    mark: str
    topic: str
    partitions: int
    flow: Flow

    @classmethod
    def start(
        cls,
        sandbox: Sandbox,
        *,
        partitions: int = 2,
        topic_config: Mapping[str, str] | None = None,
        remote_config: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
        groups: int = 0,
        suffix: str = "",
    ) -> Flowing:
        """Create topic and connectors with aliases of their own, so that their syncs are no one else's.

        groups: how many are there from the beginning; those that MirrorCheckpoint finds later have no checkpoints for
        what lies before. remote_config: of the remote topic, if MirrorSource is to find it. suffix: the end of the
        topic's name.
        """
        mark = uuid4().hex[:8]
        topic = f"orders-{mark}{suffix}"
        sandbox.source.create_topic(topic, partitions=partitions, config=topic_config)
        aliases = {"source_alias": f"here{mark}", "target_alias": f"there{mark}"}
        config = mirror_source_config(sandbox, topic, overrides=overrides, **aliases)
        started = cls(sandbox, mark, topic, partitions, Flow.of(config))
        if remote_config:
            sandbox.target.create_topic(started.target_topic, partitions=partitions, config=remote_config)
        if groups:
            commit_groups(sandbox.source, started.random_positions(groups, Random(mark)))
        sandbox.connect.create(started.source_connector, config)
        checkpoints = mirror_checkpoint_config(sandbox, groups=f"{mark}-.*", overrides=overrides, **aliases)
        sandbox.connect.create(started.checkpoint_connector, checkpoints)
        return started

    @property
    def source_connector(self) -> str:
        return f"source-{self.mark}"

    @property
    def checkpoint_connector(self) -> str:
        return f"checkpoint-{self.mark}"

    @property
    def target_topic(self) -> str:
        return self.flow.target_topic(self.topic)

    def produce(self, count: int) -> None:
        """Produce more records to each partition."""
        for partition, (_start, end) in self.sandbox.source.log_bounds(self.topic).items():
            values = [f"{partition}:{number}" for number in range(end, end + count)]
            self.sandbox.source.produce(self.topic, values, partition=partition)

    def wait_until_replicated(self) -> None:
        """Wait until the stored offsets are those of the last records."""
        ends = {number: end for number, (_start, end) in self.sandbox.source.log_bounds(self.topic).items() if end}
        late = f"{self.source_connector} has not caught up"
        wait_for(self.stored, ends, 90, late, progress={"replicated": self._replicated, **self.sandbox.connect.work})

    def stored(self) -> dict[int, int]:
        """The offset after the last replicated one, by partition."""
        return {
            entry["partition"]["partition"]: entry["offset"]["offset"] + 1
            for entry in self.sandbox.connect.offsets(self.source_connector)
            if entry["offset"] is not None
        }

    def _replicated(self) -> object:
        return self.sandbox.target.log_bounds(self.target_topic)

    def restart_task(self) -> None:
        """Restart the task; the new one sends syncs at its start."""
        self.sandbox.connect.call("POST", f"/connectors/{self.source_connector}/tasks/0/restart")

    def rewind(self, position: int) -> None:
        """Rewind every partition by hand."""
        connect = self.sandbox.connect
        connect.stop(self.source_connector)
        offset = {"offset": position - 1} if position else None
        partition = {"cluster": self.flow.source_alias, "topic": self.topic}
        entries = [
            {"partition": {**partition, "partition": number}, "offset": offset} for number in range(self.partitions)
        ]
        connect.alter(self.source_connector, entries)
        connect.resume(self.source_connector)

    def live_through(self, produced: int, *, restart_with: int = 0, rewind_to: int, more: int) -> None:
        """Replicate records, with a restart of the task and a rewind in between."""
        self.produce(produced)
        self.wait_until_replicated()
        if restart_with:
            self.restart_task()
            self.produce(restart_with)
            self.wait_until_replicated()
        self.rewind(rewind_to)
        self.produce(more)
        self.wait_until_replicated()

    def random_positions(self, groups: int, random: Random) -> dict[str, dict[TopicPartition, int]]:
        """A random position of each group in each partition."""
        ends = {number: end for number, (_start, end) in self.sandbox.source.log_bounds(self.topic).items()}
        return {
            f"{self.mark}-{number}": {
                TopicPartition(self.topic, partition): random.randint(0, end) for partition, end in ends.items()
            }
            for number in range(groups)
        }

    def close(self) -> None:
        """Delete the connectors that are still there."""
        for name in {self.source_connector, self.checkpoint_connector} & set(self.sandbox.connect.connectors()):
            self.sandbox.connect.delete(name)


@dataclass(frozen=True)
class FailingOver:
    """The tasks of a failover."""

    spark: SparkSession
    workspace: str
    flowing: Flowing
    run: str = "test/run"

    @contextmanager
    def clients(self, *, source: bool = True) -> Iterator[Clients]:
        """Open the clients of a failover."""
        sandbox = self.flowing.sandbox
        with (
            ConnectRest(ConnectEndpoint((sandbox.connect.url,)), timeout=60) as connect,
            cluster(sandbox.target) as target,
        ):
            clients = Clients(connect, connect, timeout=60, cluster="sandbox", workspace=self.workspace)
            if not source:
                yield replace(clients, clusters=Clusters(None, target))
                return
            with cluster(sandbox.source) as client:
                yield replace(clients, clusters=Clusters(client, target))

    def request(self, **requested: Any) -> FailoverRequest:
        """The request of a failover of the flow's groups."""
        flowing = self.flowing
        given = {"planned": True, "groups": f"{flowing.mark}-.*", "source_connector": flowing.source_connector}
        return FailoverRequest.parse(**{"flow": flowing.flow, **given, **requested})

    def directory(self, name: str = "") -> FailoverDirectory:
        """A run directory."""
        return FailoverDirectory(f"{self.workspace}/{name or uuid4().hex}")

    def preview(self, **requested: Any) -> tuple[FailoverDirectory, dict[str, Any]]:
        """Observe and translate while the flow runs."""
        directory = self.directory()
        with self.clients(source=requested.get("planned", True)) as clients:
            failover.observe_failover(self.request(**requested), clients, directory)
        return directory, translate_job.run(self.spark, directory)

    def translate(self, **requested: Any) -> tuple[FailoverDirectory, dict[str, Any]]:
        """Preview, drain, stop, and translate the final offsets."""
        before, summary = self.preview(**requested)
        assert summary["errors"] == [], summary["errors"]
        request, after = self.request(**requested), self.directory()
        with self.clients() as clients:
            failover.await_drained(request, clients, timeout=60)
            names = (self.flowing.source_connector, self.flowing.checkpoint_connector)
            members = [(clients, name) for name in names]
            stopped.stop_for_run(members, self.owner(), seconds=600)
            failover.observe_failover(request, clients, after, ranges=before)
        return after, translate_job.run(self.spark, after)

    def commit(self, directory: FailoverDirectory, digest: str) -> Moved:
        """Commit the translation."""
        with self.clients() as clients:
            return commit_translation(directory, clients.both_clusters, digest=digest)

    def journal(self, connector: str) -> Journal:
        """The journal of a connector."""
        return Journal(journal_root(self.workspace), cluster="sandbox", resource=connector)

    def owner(self) -> Owner:
        """The owner of the saga."""
        return Owner.here(run=self.run, task="begin")


def rows(directory: FailoverDirectory) -> list[dict[str, Any]]:
    """Dataset ``translation``."""
    return read_dataset(directory.translation, TRANSLATION)
