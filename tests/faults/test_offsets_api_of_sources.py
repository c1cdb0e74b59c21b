"""Scenarios of Kafka's OffsetsApiIntegrationTest from the client's side: sources on each kind of worker."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import (
    InvalidRequest,
    NotApplied,
    Rejected,
)
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_rest
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Broker, ConnectWorker, Mode, Progress, Sandbox, wait_for
from sandbox.connectors import file_source_config
from tests.support.flows.flows import Changer

pytestmark = pytest.mark.faults
LINES = ["one", "two", "three"]
AFTER_ONE, AT_END = 4, 14


@dataclass(frozen=True)
class Source:
    """A FileStreamSource on some worker, which has read a file of three lines."""

    sandbox: Sandbox
    worker: ConnectWorker
    name: str
    overrides: Mapping[str, str]
    delivers_to: Broker

    @classmethod
    def start(
        cls,
        sandbox: Sandbox,
        worker: ConnectWorker,
        *,
        overrides: Mapping[str, str] | None = None,
        delivers_to: Broker | None = None,
    ) -> Source:
        name = f"lines-{uuid4().hex[:8]}"
        source = cls(sandbox, worker, name, overrides or {}, delivers_to or sandbox.target)
        source.file.write_text("".join(f"{line}\n" for line in LINES))
        source.delivers_to.create_topic(name)
        worker.create(name, source.config)
        source.wait_until_read()
        return source

    @property
    def file(self) -> Path:
        return self.sandbox.data / f"{self.name}.txt"

    @property
    def config(self) -> dict[str, str]:
        return file_source_config(self.name, self.file, overrides=self.overrides)

    @property
    def partition(self) -> dict[str, str]:
        return {"filename": str(self.file)}

    def positions(self) -> list[int | None]:
        return [entry["offset"] and entry["offset"]["position"] for entry in self.worker.offsets(self.name)]

    @property
    def work(self) -> Progress:
        """What moves while it reads."""
        return {"delivered": self.delivered, **self.worker.work}

    def wait_until_read(self) -> None:
        wait_for(self.positions, [AT_END], 60, f"{self.name} has not read its file", progress=self.work)

    def delivered(self) -> int:
        return len(self.delivers_to.consume(self.name))

    def changer(self, spark: SparkSession, folder: Path) -> Changer:
        return Changer(spark, folder.as_uri(), self.worker.url, self.sandbox.target)

    def document(self, folder: Path, position: int) -> str:
        """What GET answers, with another position, as a file."""
        path = folder / "requested.json"
        entry = {"partition": self.partition, "offset": {"position": position}}
        path.write_text(json.dumps({"offsets": [entry]}))
        return path.as_uri()


@pytest.fixture(scope="module")
def exactly_once(sandbox: Sandbox) -> Iterator[ConnectWorker]:
    """A worker with exactly-once support."""
    worker = sandbox.another_cluster("exactly-once", {"exactly.once.source.support": "enabled"})
    yield worker
    worker.process.close()


@pytest.fixture(scope="module")
def standalone(sandbox: Sandbox) -> Iterator[ConnectWorker]:
    """A standalone worker."""
    worker = sandbox.another_cluster("standalone", mode=Mode.STANDALONE)
    yield worker
    worker.process.close()


@pytest.fixture(params=["plain", "own topic", "other cluster", "exactly once", "standalone"])
def source(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[Source]:
    """A running source of each kind."""
    match request.param:
        case "own topic":
            made = Source.start(sandbox, sandbox.connect, overrides={"offsets.storage.topic": f"own-{uuid4().hex[:8]}"})
        case "other cluster":
            servers = {
                f"{client}.override.bootstrap.servers": sandbox.source.bootstrap for client in ("producer", "admin")
            }
            made = Source.start(sandbox, sandbox.connect, overrides=servers, delivers_to=sandbox.source)
        case "exactly once":
            made = Source.start(sandbox, request.getfixturevalue("exactly_once"))
        case "standalone":
            made = Source.start(sandbox, request.getfixturevalue("standalone"))
        case _:
            made = Source.start(sandbox, sandbox.connect)
    yield made
    made.worker.delete(made.name)


def test_sources_are_read_changed_and_cleared(source: Source, spark: SparkSession, tmp_path: Path) -> None:
    """Get, Alter and Reset SourceConnectorOffsets: plain, CustomOffsetsTopic, DifferentKafkaClusterTargeted, EOS."""
    changer = source.changer(spark, tmp_path)
    assert source.delivered() == 3

    assert changer.change(source.name, "file", source.document(tmp_path, AFTER_ONE)).result is Result.APPLIED
    source.wait_until_read()
    assert source.delivered() == 5

    assert changer.change(source.name, "clear").result is Result.APPLIED
    source.wait_until_read()
    assert source.delivered() == 8
    source.worker.stop(source.name)
    with changer.clients() as clients:
        assert [changer.reset(clients, source.name) for _ in range(3)] == [1, 0, 0]


def test_kafka_leaves_a_removal_half_done_and_it_is_undone(
    sandbox: Sandbox, exactly_once: ConnectWorker, spark: SparkSession, tmp_path: Path
) -> None:
    """Exactly-once and an offsets topic of its own: noticed, said, and restored; warned of before."""
    topic = f"own-{uuid4().hex[:8]}"
    source = Source.start(sandbox, exactly_once, overrides={"offsets.storage.topic": topic})
    changer = source.changer(spark, tmp_path)
    run, summary = changer.plan(source.name, "clear")
    assert any(topic in warning and "half done" in warning for warning in summary["warnings"])

    with pytest.raises(NotApplied, match="Request timed out") as said:
        changer.apply(run)

    assert "Its prior offsets were restored and read back, and it is RUNNING again." in str(said.value)
    assert source.positions() == [AT_END]
    exactly_once.wait_state(source.name, "RUNNING", tasks=1)
    assert source.delivered() == 3
    exactly_once.delete(source.name)


def test_a_plan_warns_before_a_new_offsets_topic_loses_the_offsets(
    sandbox: Sandbox, spark: SparkSession, tmp_path: Path
) -> None:
    """Kafka does not fall back on the worker's topic: the plan says so, and ``to=file`` keeps the position."""
    source = Source.start(sandbox, sandbox.connect)
    sandbox.connect.stop(source.name)
    topic = f"own-{uuid4().hex[:8]}"
    sandbox.connect.update_config(source.name, {**source.config, "offsets.storage.topic": topic})
    wait_for(source.positions, [None], 60, "Kafka shows the offset of the worker's topic")
    changer = source.changer(spark, tmp_path)

    _run, summary = changer.plan(source.name, "file", source.document(tmp_path, AT_END))
    assert [warning for warning in summary["warnings"] if topic in warning and "from scratch" in warning], summary

    assert changer.change(source.name, "file", source.document(tmp_path, AT_END)).result is Result.APPLIED
    sandbox.connect.resume(source.name)
    source.file.write_text("".join(f"{line}\n" for line in [*LINES, "four"]))
    wait_for(source.delivered, 4, 60, "the fourth line was not delivered", progress=source.work)
    assert [record.value for record in source.delivers_to.consume(source.name)][-1] == b"four"
    sandbox.connect.delete(source.name)


def test_bodies_that_no_source_can_have(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """AlterSourceConnectorOffsetsInvalidRequestBody; and a body without any entry."""
    source = Source.start(sandbox, sandbox.connect)
    sandbox.connect.stop(source.name)
    changer = source.changer(spark, tmp_path)
    with changer.clients() as clients:
        for partition, offset in (({"file": "x"}, {"position": 1}), (source.partition, {"position": -1})):
            changes = parse_rest({"offsets": [{"partition": partition, "offset": offset}]})
            with pytest.raises(InvalidRequest, match=source.name):
                changer.alter(clients, source.name, changes)
            with pytest.raises(Rejected, match=source.name):
                clients.offsets.write_offsets(source.name, changes)
        with pytest.raises(Rejected, match="need to be provided"):
            clients.offsets.write_offsets(source.name, Offsets())
    assert source.positions() == [AT_END]
    sandbox.connect.delete(source.name)
