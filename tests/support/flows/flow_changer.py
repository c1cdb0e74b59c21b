"""Resets of flows by the same calls as the DAG's tasks, without Airflow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.flow_snapshot import FlowConnectors, find_flow, take_flow_snapshot
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset, reset_flow
from airflow_provider_connect_offsets.pipeline.flow import mirror_reset_job
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import (
    ResetDirectory,
    journal_root,
    run_directory,
)
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from sandbox import Sandbox
from tests.support.flows.guards import OWN_FILES


@dataclass(frozen=True)
class FlowChanger:
    """Plans and makes resets on the shared sandbox."""

    workspace: str
    worker: str
    source: str
    target: str
    spark: SparkSession | None = None
    cluster: type[KafkaCluster] = KafkaCluster
    cluster_id: str = "sandbox"

    @classmethod
    def on(cls, sandbox: Sandbox, workspace: str, spark: SparkSession | None = None) -> FlowChanger:
        """A changer of the sandbox's own worker."""
        servers = sandbox.source.bootstrap, sandbox.target.bootstrap
        return cls(workspace, sandbox.connect.url, *servers, spark)

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the clients of the worker and of both clusters."""
        with (
            ConnectRest(ConnectEndpoint((self.worker,)), timeout=60) as connect,
            self.cluster({"bootstrap.servers": self.source}) as source,
            self.cluster({"bootstrap.servers": self.target}) as target,
        ):
            known = Clients(connect, connect, cluster=self.cluster_id, workspace=self.workspace)
            yield replace(known, logs=source, timeout=60, clusters=Clusters(source, target), guards=OWN_FILES)

    def plan(
        self, requested: dict[str, Any], to: str = "earliest", value: str = "", **selection: str
    ) -> tuple[ResetDirectory, dict[str, Any]]:
        """Take a snapshot and plan; returns the run's directory and the plan's summary."""
        run = ResetDirectory(run_directory(self.workspace, dag_id="test", run_id=uuid4().hex).uri)
        now = datetime.now(tz=UTC)
        request = Request.parse(connector=requested["source_connector"], to=to, value=value, now=now, **selection)
        with self.clients() as clients:
            reset = find_flow(FlowConnectors(**requested), clients)
            take_flow_snapshot(request, reset, clients, run)
        assert self.spark is not None
        return run, mirror_reset_job.run(self.spark, run)

    def apply(self, run: ResetDirectory, *, name: str = "test/run") -> Outcome:
        """Apply the planned reset."""
        plan = read_reset(run)
        owner = Owner.here(run=name, task="apply")
        with self.clients() as clients:
            return reset_flow(plan, clients, owner, run, sync_timeout=60)

    def take_back(self, run: ResetDirectory, *, name: str = "test/run") -> Outcome | None:
        """Undo what an earlier task of the run left unfinished."""
        plan = read_reset(run)
        with self.clients() as clients:
            return stepwise.undo(plan.offsets, clients, Owner.here(run=name, task="restore"))

    def journal(self, name: str) -> Journal:
        """The journal of a connector."""
        return Journal(journal_root(self.workspace), cluster=self.cluster_id, resource=name)

    def through(self, cluster: type[KafkaCluster]) -> FlowChanger:
        """The same with another client of either cluster."""
        return replace(self, cluster=cluster)
