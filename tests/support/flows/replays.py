"""Connectors whose days are replayed, as the tasks of a DAG do it, without Airflow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.replay import take_replay_snapshot
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest, clone_prefix
from airflow_provider_connect_offsets.operations.connector.plans import read_replay
from airflow_provider_connect_offsets.operations.connector.replay import release, replay
from airflow_provider_connect_offsets.pipeline import replay_job
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ReplayDirectory, run_directory
from airflow_provider_connect_offsets.workspace.replay import ReplayOutcome
from sandbox import Broker, Sandbox, wait_for
from sandbox.connectors import file_sink_config, mirror_source_config
from tests.support.flows.flows import Changer, Create, text

A_DAY = 10
DAYS = 5
TODAY = datetime.now(tz=UTC).replace(hour=0, minute=0, second=0, microsecond=0)
START = TODAY - timedelta(days=DAYS)


def name_of(day: int) -> str:
    """The date of a day, counted from START."""
    return (START + timedelta(days=day)).date().isoformat()


def produce_days(kafka: Broker, topic: str, days: Sequence[int], *, partition: int = 0) -> None:
    """Write ten records of each day; their values are the date and a number."""
    for day in days:
        noon = int((START + timedelta(days=day, hours=12)).timestamp() * 1000)
        kafka.produce(
            topic,
            [f"{name_of(day)} {number}" for number in range(A_DAY)],
            partition=partition,
            timestamps=[noon] * A_DAY,
        )


def start_daily_sink(sandbox: Sandbox, create: Create) -> tuple[str, Path]:
    """Start a file sink of one partition with all days, and wait until it has read all; returns its name and file."""
    name = f"daily-{uuid4().hex[:6]}"
    file = sandbox.data / f"{name}.txt"
    sandbox.target.create_topic(name)
    produce_days(sandbox.target, name, range(DAYS))
    create(name, file_sink_config(name, file))
    wait_until_read(sandbox, name)
    return name, file


def wait_until_read(sandbox: Sandbox, name: str) -> None:
    """Wait until the sink of :func:`start_daily_sink` has committed the end of its topic."""
    wait_for(
        lambda: sandbox.connect.stored_offsets(name), [{"kafka_offset": DAYS * A_DAY}], 60, f"{name} commits nothing"
    )


def by_day(values: Sequence[str]) -> Counter[str]:
    """How many values each day has."""
    return Counter(value.partition(" ")[0] for value in values)


@dataclass(frozen=True)
class Replayed:
    """A running connector of a topic with days of records."""

    sandbox: Sandbox
    changer: Changer
    name: str
    topic: str
    file: Path

    @classmethod
    def sink(cls, sandbox: Sandbox, changer: Changer, **overrides: str) -> Replayed:
        """A file sink of two partitions: one with all days, one with the first only; all is delivered."""
        mark = uuid4().hex[:8]
        one = cls(sandbox, changer, f"daily-{mark}", f"daily-{mark}", sandbox.data / f"daily-{mark}.txt")
        sandbox.target.create_topic(one.topic, partitions=2)
        produce_days(sandbox.target, one.topic, range(DAYS))
        produce_days(sandbox.target, one.topic, [0], partition=1)
        sandbox.connect.create(one.name, file_sink_config(one.topic, one.file, overrides=overrides))
        wait_for(lambda: sum(one.delivered().values()), (DAYS + 1) * A_DAY, 60, "it does not deliver")
        wait_for(lambda: one.committed(one.name), {0: DAYS * A_DAY, 1: A_DAY}, 60, "it does not commit")
        return one

    @classmethod
    def mirror(cls, sandbox: Sandbox, changer: Changer) -> Replayed:
        """A MirrorSource of one partition with all days; all is replicated."""
        mark = uuid4().hex[:8]
        one = cls(sandbox, changer, f"mirrored-{mark}", f"mirrored.{mark}", Path())
        sandbox.source.create_topic(one.topic)
        produce_days(sandbox.source, one.topic, range(DAYS))
        sandbox.connect.create(one.name, mirror_source_config(sandbox, one.topic))
        wait_for(lambda: len(one.remote()), DAYS * A_DAY, 60, "it does not replicate")
        return one

    def request(self, day: int = 1, days: int = 1, *, run: str = "test/run", **more: Any) -> ReplayRequest:
        """The request to deliver days once more."""
        begins = START + timedelta(days=day)
        return ReplayRequest.parse(
            connector=self.name,
            run=run,
            begins=begins.isoformat(),
            ends=(begins + timedelta(days=days)).isoformat(),
            now=datetime.now(tz=UTC),
            **more,
        )

    def plan(self, request: ReplayRequest) -> tuple[ReplayDirectory, dict[str, Any]]:
        """Take a snapshot and plan; returns the run's directory and the plan's summary."""
        directory = run_directory(self.changer.workspace, dag_id="test", run_id=uuid4().hex)
        run = ReplayDirectory(directory.uri)
        with self.changer.clients() as own:
            take_replay_snapshot(request, own, run)
        return run, replay_job.run(self.changer.spark, run)

    def replay(self, run: ReplayDirectory, by: Owner, clients: Clients | None = None) -> ReplayOutcome:
        """Make a planned replay."""
        plan = read_replay(run)
        if clients is not None:
            return replay(plan, replace(clients, workspace=self.changer.workspace), by)
        with self.changer.clients() as own:
            return replay(plan, own, by)

    def release(self, run: ReplayDirectory, by: Owner) -> ReplayOutcome | None:
        """Settle what the run has left."""
        plan = read_replay(run)
        with self.changer.clients() as own:
            return release(plan, own, by)

    def delivered(self) -> Counter[str]:
        """How many records of each day the sink has written."""
        return by_day(self.file.read_text().splitlines() if self.file.exists() else [])

    def remote(self) -> list[str]:
        """The values in the remote topic."""
        topic = f"source.{self.topic}"
        if topic not in self.sandbox.target.topics():
            return []
        return [text(one.value) for one in self.sandbox.target.consume(topic, partition=0)]

    def committed(self, name: str) -> dict[int, int]:
        """Committed offsets of a sink's consumer group by partition."""
        with ConsumerGroups({"bootstrap.servers": self.sandbox.target.bootstrap}) as groups:
            return {where.partition: offset for where, offset in groups.offsets(f"connect-{name}").items()}

    def left(self) -> list[str]:
        """The clones and consumer groups of clones that are left."""
        prefix = clone_prefix(self.name)
        with ConsumerGroups({"bootstrap.servers": self.sandbox.target.bootstrap}) as groups:
            named = [*self.sandbox.connect.connectors(), *groups.list_groups()]
        return [name for name in named if prefix in name]
