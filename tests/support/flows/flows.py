"""A running MirrorSource and a running sink, and changes of their offsets without Airflow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.kafka.remaining import RemainingRecords
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.snapshot import take_snapshot, take_snapshots
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.operations.connector import direct, stepwise
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.pipeline.plan import plan_job
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.fleet import FleetDirectory
from airflow_provider_connect_offsets.workspace.layout import RunDirectory, journal_root, run_directory
from airflow_provider_connect_offsets.workspace.outcome import Outcome
from sandbox import Broker, Progress, Sandbox, wait_for, wait_until
from sandbox.connectors import file_sink_config, mirror_source_config
from tests.support.flows.guards import OWN_FILES

RECORDS = 100
#: Creates a connector from its name and configuration.
Create = Callable[[str, dict[str, str]], object]


@dataclass(frozen=True)
class Address:
    """URLs of workers, the cluster that the positions refer to, and the workspace; ``timeout`` in seconds."""

    workers: tuple[str, ...]
    bootstrap: str
    cluster: str
    timeout: float
    workspace: str

    @contextmanager
    def clients(self) -> Iterator[Clients]:
        """Open the clients."""
        config = {"bootstrap.servers": self.bootstrap}
        with (
            ConnectRest(ConnectEndpoint(self.workers), timeout=self.timeout) as connect,
            RemainingRecords(config) as logs,
            ConsumerGroups(config) as groups,
        ):
            known = Clients(connect, connect, timeout=self.timeout, cluster=self.cluster, workspace=self.workspace)
            yield replace(known, logs=logs, groups=groups, guards=OWN_FILES)


@dataclass(frozen=True)
class Changer:
    """Plans and applies changes as the tasks of a DAG do, without Airflow; ``others``: URLs of more workers."""

    spark: SparkSession
    workspace: str
    worker: str
    kafka: Broker
    cluster: str = "sandbox"
    timeout: float = 60
    others: tuple[str, ...] = ()

    def clients(self) -> AbstractContextManager[Clients]:
        """Open the clients of the worker and of the cluster that the positions refer to."""
        return self.address.clients()

    @property
    def address(self) -> Address:
        """The addresses for another process."""
        return Address((self.worker, *self.others), self.kafka.bootstrap, self.cluster, self.timeout, self.workspace)

    def plan(self, connector: str, to: str, value: str = "", **selection: str) -> tuple[RunDirectory, dict[str, Any]]:
        """Take a snapshot and plan; returns the run's directory and the plan's summary."""
        run = run_directory(self.workspace, dag_id="test", run_id=uuid4().hex)
        now = datetime.now(tz=UTC)
        with self.clients() as clients:
            request = Request.parse(connector=connector, to=to, value=value, now=now, noun=clients.noun, **selection)
            take_snapshot(request, clients, run)
        [summary] = plan_job.run_all(self.spark, [run])
        return run, summary

    def plan_fleet(self, connectors: Sequence[str], to: str) -> FleetDirectory:
        """Snapshot and plan of many connectors."""
        fleet = FleetDirectory(run_directory(self.workspace, dag_id="test", run_id=uuid4().hex).uri)
        now = datetime.now(tz=UTC)
        requests = [(fleet.member(name), Request.parse(connector=name, to=to, now=now)) for name in connectors]
        with self.clients() as clients:
            take_snapshots(requests, clients)
        fleet.publish(connectors)
        plan_job.run_all(self.spark, list(fleet.members().values()))
        return fleet

    def apply(self, run: RunDirectory, *, name: str = "test/run") -> Outcome:
        """Apply the plan."""
        plan = read_plan(run)
        with self.clients() as clients:
            return apply_plan(plan, clients, Owner.here(run=name, task="apply"))

    def take_back(self, run: RunDirectory, *, name: str) -> Outcome | None:
        """Undo what an earlier task of the run left unfinished."""
        plan = read_plan(run)
        with self.clients() as clients:
            return stepwise.undo(plan, clients, Owner.here(run=name, task="restore"))

    def change(self, connector: str, to: str, value: str = "", **selection: str) -> Outcome:
        """Plan and apply."""
        run, summary = self.plan(connector, to, value, **selection)
        assert summary["errors"] == []
        return self.apply(run, name=f"test/{uuid4().hex}")

    def alter(self, clients: Clients, connector: str, changes: Offsets) -> int:
        """Write offsets without a plan."""
        owner = Owner.here(run=f"test/{uuid4().hex}", task="alter")
        return len(direct.alter(connector, clients, owner, changes).changes)

    def reset(self, clients: Clients, connector: str) -> int:
        """Remove all offsets."""
        owner = Owner.here(run=f"test/{uuid4().hex}", task="reset")
        return len(direct.reset(connector, clients, owner).prior_offsets.by_partition())

    def journal(self, connector: str) -> Journal:
        """The journal of a connector."""
        return Journal(journal_root(self.workspace), cluster=self.cluster, resource=connector)


@dataclass(frozen=True)
class MirrorFlow:
    """A MirrorSource of one topic with two partitions, whose values are ``partition:offset``."""

    sandbox: Sandbox
    name: str
    topic: str

    @classmethod
    def start(cls, sandbox: Sandbox, *, create: Create | None = None, name: str = "") -> MirrorFlow:
        """Create topic and connector, and wait until all is replicated and its offsets are stored.

        ``create``: creates the connector; None: over REST. ``name``: that of the connector; empty: any.
        """
        mark = uuid4().hex[:8]
        flow = cls(sandbox, name or f"flow-{mark}", f"orders-{mark}")
        sandbox.source.create_topic(flow.topic, partitions=2)
        for partition in (0, 1):
            values = [f"{partition}:{number}" for number in range(RECORDS)]
            sandbox.source.produce(flow.topic, values, partition=partition)
        (create or sandbox.connect.create)(flow.name, mirror_source_config(sandbox, flow.topic))
        flow.wait_until_caught_up()
        return flow

    @property
    def target_topic(self) -> str:
        return f"source.{self.topic}"

    def target_ends(self) -> dict[int, int]:
        """Log ends of the replicated topic."""
        return {
            partition: end for partition, (_start, end) in self.sandbox.target.log_bounds(self.target_topic).items()
        }

    def positions(self) -> dict[int, int]:
        """The stored positions by partition, without partitions that have no offset."""
        return {
            entry["partition"]["partition"]: entry["offset"]["offset"] + 1
            for entry in self.sandbox.connect.offsets(self.name)
            if entry["offset"] is not None
        }

    def wait_until_caught_up(self) -> None:
        """Wait until the stored positions are the source's log ends."""
        ends = {partition: end for partition, (_start, end) in self.sandbox.source.log_bounds(self.topic).items()}
        wait_for(self.positions, ends, 60, f"{self.name} has not caught up", progress=self._work)

    def first_replicated_after(self, change: Any) -> str:
        """Call ``change`` while the connector is stopped, resume, and return the next record it replicates."""
        self.sandbox.connect.stop(self.name)
        change()
        end = self.target_ends()[0]
        self.sandbox.source.produce(self.topic, [f"0:{self.source_end()}"], partition=0)
        self.sandbox.connect.resume(self.name)
        wait_until(lambda: self.target_ends()[0] > end, 60, f"{self.name} replicates nothing", progress=self._work)
        self.wait_until_caught_up()
        return text(self.sandbox.target.consume(self.target_topic, start={0: end}, partition=0)[0].value)

    def source_end(self) -> int:
        """Log end of partition 0 on the source."""
        return self.sandbox.source.log_bounds(self.topic)[0][1]

    @property
    def _work(self) -> Progress:
        return {"replicated": self.target_ends, **self.sandbox.connect.work}


@dataclass(frozen=True)
class SinkFlow:
    """A FileStreamSink of one topic with one partition, whose values are the offsets."""

    sandbox: Sandbox
    name: str
    topic: str
    file: Path

    @classmethod
    def start(
        cls, sandbox: Sandbox, overrides: dict[str, str] | None = None, *, create: Create | None = None
    ) -> SinkFlow:
        """Create topic and connector, and wait until all is written and committed; ``create`` as of a MirrorFlow."""
        mark = uuid4().hex[:8]
        flow = cls(sandbox, f"sink-{mark}", f"events-{mark}", sandbox.data / f"sink-{mark}.txt")
        sandbox.target.create_topic(flow.topic)
        sandbox.target.produce(flow.topic, [str(number) for number in range(RECORDS)])
        (create or sandbox.connect.create)(flow.name, file_sink_config(flow.topic, flow.file, overrides=overrides))
        flow.wait_until_caught_up()
        return flow

    def position(self) -> int | None:
        """The committed offset of the only partition."""
        offsets = self.sandbox.connect.offsets(self.name)
        return offsets[0]["offset"]["kafka_offset"] if offsets else None

    def end(self) -> int:
        """The log end."""
        return self.sandbox.target.log_bounds(self.topic)[0][1]

    def wait_until_caught_up(self) -> None:
        """Wait until the committed position is the log end."""
        wait_for(self.position, self.end(), 60, f"{self.name} has not caught up", progress=self._work)

    def lines(self) -> list[str]:
        """The lines of the sink's file."""
        return self.file.read_text().splitlines() if self.file.exists() else []

    def first_written_after(self, change: Any) -> str:
        """Call ``change`` while the connector is stopped, resume, and return the next record it writes."""
        self.sandbox.connect.stop(self.name)
        change()
        written = len(self.lines())
        self.sandbox.target.produce(self.topic, [str(self.end())])
        self.sandbox.connect.resume(self.name)
        wait_until(lambda: len(self.lines()) > written, 60, f"{self.name} writes nothing", progress=self._work)
        self.wait_until_caught_up()
        return self.lines()[written]

    @property
    def _work(self) -> Progress:
        return {"lines written": lambda: len(self.lines()), **self.sandbox.connect.work}


@dataclass(frozen=True)
class World:
    """State, tasks and offsets of all connectors, which a refused request must not change."""

    sandbox: Sandbox
    offsets: dict[str, list[dict[str, Any]]]
    states: dict[str, tuple[str, ...]]

    def assert_stands(self) -> None:
        """Assert that nothing changed: offsets at once, states as soon as the worker lists all its tasks."""
        assert _offsets(self.sandbox) == self.offsets
        late = "connectors and tasks are in other states than before"
        wait_for(lambda: _states(self.sandbox), self.states, 60, late)


def world(sandbox: Sandbox) -> World:
    """Observe all connectors."""
    return World(sandbox, _offsets(sandbox), _states(sandbox))


def _offsets(sandbox: Sandbox) -> dict[str, list[dict[str, Any]]]:
    connect = sandbox.connect
    return {name: sorted(connect.offsets(name), key=str) for name in connect.connectors()}


def _states(sandbox: Sandbox) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, Any]] = sandbox.connect.call("GET", "/connectors?expand=status")
    return {
        name: (
            one["status"]["connector"]["state"],
            # Not of a paused one: its prior state PAUSED is restored without tasks, which come with the resume.
            *(task["state"] for task in one["status"]["tasks"] if task["state"] != "PAUSED"),
        )
        for name, one in found.items()
    }


def text(value: bytes | None) -> str:
    """A record's value as text."""
    return "" if value is None else value.decode()
