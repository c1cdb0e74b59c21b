"""A MirrorMaker 2 flow of several topics with checkpoints, and its readiness, without Airflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.flow.readiness import forget_earlier, take_readiness_snapshot
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.requests.readiness import ReadinessRequest
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.pipeline.flow import readiness_job
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import GROUP_READINESS, READINESS
from airflow_provider_connect_offsets.workspace.layout import run_directory
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.readiness import Kept, ReadinessDirectory
from airflow_provider_connect_offsets.workspace.schemas import VERDICTS
from sandbox import Broker, Sandbox, wait_for, wait_until
from sandbox.connectors import mirror_checkpoint_config, mirror_source_config
from tests.support.flows.failing_over import Flowing
from tests.support.flows.groups import cluster, commit_groups

DAG_ID = "mirror_readiness"
RECORDS = 100
KINDS = ("late", "retained", "recreated", "dropped")


def commit(broker: Broker, group: str, offsets: Mapping[str, int]) -> None:
    """Commit ``offsets`` of a group without members, by topic, for partition 0."""
    commit_groups(broker, {group: {TopicPartition(topic, 0): offset for topic, offset in offsets.items()}})


@dataclass(frozen=True)
class Judged:
    """The result of a readiness run: summary, messages by severity and rule, rows by topic, and by group and topic."""

    directory: ReadinessDirectory
    summary: dict[str, Any]
    messages: dict[str, dict[str, list[str]]]
    partitions: dict[str, dict[str, Any]]
    groups: dict[tuple[str, str], dict[str, Any]]

    @classmethod
    def read(cls, directory: ReadinessDirectory, summary: dict[str, Any]) -> Judged:
        """Read the datasets, which a later run may remove."""
        messages: dict[str, dict[str, list[str]]] = {severity.value: {} for severity in Severity}
        for row in read_dataset(directory.verdicts, VERDICTS):
            messages[row["severity"]].setdefault(row["rule"], []).append(row["message"])
        groups = read_dataset(directory.group_readiness, GROUP_READINESS)
        return cls(
            directory,
            summary,
            messages,
            {row["topic"]: row for row in read_dataset(directory.readiness, READINESS)},
            {(row["group"], row["topic"]): row for row in groups},
        )

    @property
    def errors(self) -> dict[str, list[str]]:
        """Messages of errors, by rule."""
        return self.messages[Severity.ERROR]

    @property
    def warnings(self) -> dict[str, list[str]]:
        """Messages of warnings, by rule."""
        return self.messages[Severity.WARNING]


@dataclass(frozen=True)
class WatchedFlow:
    """A MirrorSource of four topics with one partition of 100 records each, and a MirrorCheckpoint.

    The group that is called ``name`` has read all of ``late`` and of ``retained``.
    """

    sandbox: Sandbox
    name: str

    @property
    def checkpoints(self) -> str:
        """The MirrorCheckpoint."""
        return f"{self.name}-checkpoints"

    def topic(self, kind: str) -> str:
        """The source topic of a kind."""
        return f"{kind}-{self.name}"

    @classmethod
    @contextmanager
    def start(cls, sandbox: Sandbox) -> Iterator[WatchedFlow]:
        """Create the flow, and wait until all is replicated and its group has a checkpoint."""
        flow = cls(sandbox, f"watched-{uuid4().hex[:8]}")
        for kind in KINDS:
            sandbox.source.create_topic(flow.topic(kind))
            sandbox.source.produce(flow.topic(kind), [str(number) for number in range(RECORDS)])
        commit(sandbox.source, flow.name, {flow.topic("late"): RECORDS, flow.topic("retained"): RECORDS})
        sandbox.connect.create(flow.name, flow.source_config())
        try:
            all_of_it = dict.fromkeys(KINDS, RECORDS)
            wait_for(flow.positions, all_of_it, 60, "not all is replicated", progress=sandbox.connect.work)
            sandbox.connect.create(flow.checkpoints, flow.checkpoint_config())
            wait_until(flow.has_checkpoints, 60, "the group has no checkpoint", progress=sandbox.connect.work)
            yield flow
        finally:
            for name in {flow.name, flow.checkpoints} & set(sandbox.connect.connectors()):
                sandbox.connect.delete(name)

    def source_config(self, **overrides: str) -> dict[str, str]:
        """The MirrorSource's configuration."""
        topics = ",".join(self.topic(kind) for kind in KINDS)
        return mirror_source_config(self.sandbox, topics, overrides=overrides)

    def checkpoint_config(self, **overrides: str) -> dict[str, str]:
        """The MirrorCheckpoint's configuration."""
        return mirror_checkpoint_config(self.sandbox, groups=f"{self.name}.*", overrides=overrides)

    def positions(self) -> dict[str, int | None]:
        """The positions of the MirrorSource by kind of topic; None without a stored offset."""
        stored = {entry["partition"]["topic"]: entry["offset"] for entry in self.sandbox.connect.offsets(self.name)}
        found = {kind: stored.get(self.topic(kind)) for kind in KINDS}
        return {kind: None if offset is None else offset["offset"] + 1 for kind, offset in found.items()}

    def has_checkpoints(self) -> bool:
        """Whether its group has a checkpoint."""
        topic = "source.checkpoints.internal"
        if topic not in self.sandbox.target.topics():
            return False
        group = self.name.encode()
        return any((record.key or b"")[2 : 2 + len(group)] == group for record in self.sandbox.target.consume(topic))


@dataclass(frozen=True)
class ReadinessRuns:
    """Observes flows as the tasks of the DAG do."""

    sandbox: Sandbox
    workspace: str
    spark: SparkSession

    def judge(self, flow: WatchedFlow, *, keep: int = 10, **thresholds: object) -> Judged:
        """Take a snapshot, compute its readiness, and remove old history."""
        directory = ReadinessDirectory(run_directory(self.workspace, dag_id=DAG_ID, run_id=uuid4().hex).uri)
        request = ReadinessRequest.parse(
            source_connector=flow.name,
            checkpoint_connector=flow.checkpoints,
            groups=f"{flow.name}.*",
            thresholds=thresholds,
        )
        with ExitStack() as stack:
            connect = stack.enter_context(ConnectRest(ConnectEndpoint((self.sandbox.connect.url,)), timeout=60))
            source = stack.enter_context(KafkaCluster({"bootstrap.servers": self.sandbox.source.bootstrap}))
            target = stack.enter_context(KafkaCluster({"bootstrap.servers": self.sandbox.target.bootstrap}))
            take_readiness_snapshot(
                request,
                Clients(offsets=connect, control=connect, logs=source),
                source,
                target,
                directory,
                kept=Kept(self.workspace, DAG_ID, "sandbox", flow.name),
            )
        summary = readiness_job.run(self.spark, directory, keep=keep)
        forget_earlier(summary, keep_under=join(self.workspace, DAG_ID))
        return Judged.read(directory, summary)


def look_at(flowing: Flowing, spark: SparkSession, workspace: str) -> None:
    """Judge the readiness of the flow."""
    sandbox, directory = flowing.sandbox, ReadinessDirectory(f"{workspace}/looks/one")
    requested = {"source_connector": flowing.source_connector, "checkpoint_connector": flowing.checkpoint_connector}
    request = ReadinessRequest.parse(**requested, groups=f"{flowing.mark}-.*", thresholds={})
    with (
        ConnectRest(ConnectEndpoint((sandbox.connect.url,)), timeout=60) as connect,
        cluster(sandbox.source) as source,
        cluster(sandbox.target) as target,
    ):
        clients = Clients(offsets=connect, control=connect, logs=source)
        kept = Kept(workspace, "looks", "sandbox", flowing.source_connector)
        take_readiness_snapshot(request, clients, source, target, directory, kept=kept)
    readiness_job.run(spark, directory)
