"""Snapshots of real connectors by their DAG: what changed in between is reported, and a restore brings all back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.kafka.logs import KafkaLogs
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, LOG_BOUNDS, VERDICTS
from airflow_provider_connect_offsets.workspace.snapshots import ComparisonDirectory, KeptSnapshot, SnapshotDirectory
from sandbox import Kafka, Sandbox, wait_for
from sandbox.connectors import file_sink_config, file_source_config, mirror_source_config
from tests.support.airflow.dag_runs import Ran

pytestmark = pytest.mark.jobs
RunDag = Callable[..., Ran]
RECORDS = 50


@dataclass(frozen=True)
class Connectors:
    """Connectors of three kinds, which have read all there is: a sink, two file sources, and a MirrorSource."""

    sandbox: Sandbox
    mark: str

    @classmethod
    def start(cls, sandbox: Sandbox) -> Connectors:
        made = cls(sandbox, uuid4().hex[:8])
        for broker, count in ((sandbox.target, RECORDS), (sandbox.source, RECORDS * 2)):
            broker.create_topic(made.topic, partitions=2)
            for partition in (0, 1):
                broker.produce(made.topic, (f"record {n}" for n in range(count)), partition=partition)
        connect = sandbox.connect
        connect.create(made.sink, file_sink_config(made.topic, sandbox.data / f"{made.sink}.txt"))
        connect.create(made.mirror, mirror_source_config(sandbox, topics=made.topic))
        for name in (made.file, made.deleted):
            file = sandbox.data / f"{name}.in"
            file.write_text("one\ntwo\nthree\n")
            connect.create(name, file_source_config(f"files-{made.mark}", file))
        made.wait_until_read()
        return made

    @property
    def topic(self) -> str:
        return f"snapped-{self.mark}"

    @property
    def pattern(self) -> str:
        return f".*-{self.mark}"

    @property
    def sink(self) -> str:
        return f"sink-{self.mark}"

    @property
    def mirror(self) -> str:
        return f"mirror-{self.mark}"

    @property
    def file(self) -> str:
        return f"file-{self.mark}"

    @property
    def deleted(self) -> str:
        return f"deleted-{self.mark}"

    def wait_until_read(self) -> None:
        """Wait until all offsets are stored."""
        ends = {
            self.sink: [{"kafka_offset": RECORDS}] * 2,
            self.mirror: [{"offset": RECORDS * 2 - 1}] * 2,
            self.file: [{"position": 14}],
            self.deleted: [{"position": 14}],
        }
        for name, offsets in ends.items():
            late = f"{name} has not read everything"
            wait_for(
                partial(self.sandbox.connect.stored_offsets, name),
                offsets,
                60,
                late,
                progress=self.sandbox.connect.work,
            )

    def all_offsets(self) -> dict[str, list[str]]:
        """Offsets by connector, of those that exist."""
        names = [name for name in self.sandbox.connect.connectors() if re.fullmatch(self.pattern, name)]
        return {name: sorted(map(str, self.sandbox.connect.offsets(name))) for name in names}

    def change(self) -> None:
        """Move the sink back in one partition and clear the other, forget the file's offset, delete a connector."""
        connect = self.sandbox.connect
        for name in (self.sink, self.file):
            connect.stop(name)
        partitions = [{"kafka_topic": self.topic, "kafka_partition": number} for number in (0, 1)]
        offsets = [{"kafka_offset": 20}, None]
        connect.alter(self.sink, [{"partition": p, "offset": o} for p, o in zip(partitions, offsets, strict=True)])
        connect.reset(self.file)
        connect.delete(self.deleted)

    def move_mirror(self, offset: int) -> list[str]:
        """Stop the MirrorSource, move its partition 0, and return its offsets."""
        connect = self.sandbox.connect
        connect.stop(self.mirror)
        partition = {"cluster": "source", "topic": self.topic, "partition": 0}
        connect.alter(self.mirror, [{"partition": partition, "offset": {"offset": offset}}])
        return self.all_offsets()[self.mirror]

    def wait_until_mirrored(self) -> None:
        """Wait until the MirrorSource has stored the offsets of the last records."""
        connect, ends = self.sandbox.connect, [{"offset": RECORDS * 2 - 1}] * 2
        wait_for(partial(connect.stored_offsets, self.mirror), ends, 60, "it has not caught up", progress=connect.work)


@pytest.fixture
def connectors(sandbox: Sandbox) -> Iterator[Connectors]:
    made = Connectors.start(sandbox)
    yield made
    for name in made.all_offsets():
        sandbox.connect.delete(name)


def test_what_changed_is_reported_and_restored(connectors: Connectors, run_dag: RunDag, workspace: str) -> None:
    """The run after the change fails with its names, its snapshot is kept, and the one before brings all back.

    All that was selected: a connector that was not, and has moved since, stays where it is.
    """
    snapshot = partial(
        run_dag,
        "connector_offsets_snapshot",
        connectors=connectors.pattern,
        kafka_conn_id="kafka_target",
        source_kafka_conn_id="kafka_source",
        keep=2,
    )
    before = connectors.all_offsets()

    first = snapshot()
    connectors.change()
    second = snapshot()

    assert (first.state, second.state) == ("success", "failed")
    ends = [second.tasks[f"snapshot.{name}"] for name in ("take", "compare", "require")]
    assert ends == ["success", "success", "failed"]
    verdicts = read_dataset(ComparisonDirectory(second.directory.uri).verdicts, VERDICTS)
    assert sorted((row["rule"], row["severity"], row["connector"]) for row in verdicts) == [
        ("moved_back", "error", connectors.sink),
        ("vanished", "error", connectors.deleted),
        ("vanished", "error", connectors.file),
        ("vanished", "error", connectors.sink),
    ]
    html = _text(second.directory.report)
    assert "4 findings of rules in fail_on" in html
    assert f"{connectors.topic}-0: moved back from position 50 to 20: 30 records are delivered again." in html
    kept = SnapshotDirectory(_kept(first).uri)
    rows = read_dataset(kept.log_bounds, LOG_BOUNDS)
    sandbox = connectors.sandbox
    assert {(row["kafka_cluster"], row["kafka_partition"], row["log_end"]) for row in rows} == {
        *((_id(sandbox.target), number, RECORDS) for number in (0, 1)),
        *((_id(sandbox.source), number, RECORDS * 2) for number in (0, 1)),
    }

    moved = connectors.move_mirror(10)
    restored = run_dag(
        "connector_offsets_restore",
        snapshot_uri=first.directory.uri,
        connectors=f"(?!mirror).*-{connectors.mark}",
        kafka_conn_id="kafka_target",
    )

    assert restored.state == "success"
    assert connectors.all_offsets() == {
        name: stored for name, stored in (before | {connectors.mirror: moved}).items() if name != connectors.deleted
    }
    assert sandbox.connect.status(connectors.mirror)["connector"]["state"] == "STOPPED"
    assert sandbox.connect.status(connectors.sink)["connector"]["state"] == "STOPPED"
    assert f"Not restored, because they no longer exist: {connectors.deleted}." in _text(restored.directory.report)

    sandbox.connect.resume(connectors.mirror)
    connectors.wait_until_mirrored()
    third = snapshot()

    assert third.state == "success"
    assert _kept(third).previous == _kept(second).uri
    assert files.list_names(_kept(third).series) == [_kept(one).uri.rpartition("/")[2] for one in (second, third)]
    assert _kept(third).series.startswith(f"{workspace}/connector_offsets_snapshot/_snapshots/")


def test_what_would_be_wrong_is_refused_before_anything_stops(connectors: Connectors, run_dag: RunDag) -> None:
    """Another class or cluster is refused in a sentence; partitions that had no offset are named, and stay."""
    connect, sandbox = connectors.sandbox.connect, connectors.sandbox
    taken = run_dag("connector_offsets_snapshot", connectors=connectors.pattern)
    uri = _kept(taken).uri
    partition = {"kafka_topic": connectors.topic, "kafka_partition": 1}
    connect.delete(connectors.deleted)
    connect.create(connectors.deleted, file_sink_config(connectors.topic, sandbox.data / "other.txt"))
    restore = partial(run_dag, "connector_offsets_restore", snapshot_uri=uri, kafka_conn_id="kafka_target")

    changed = restore(connectors=connectors.pattern)

    assert (changed.state, changed.tasks["snapshot"], changed.tasks["plan"]) == ("failed", "failed", "upstream_failed")
    assert f"{connectors.deleted} was a org.apache.kafka.connect.file.FileStreamSourceConnector" in changed.output

    connect.stop(connectors.sink)
    connect.alter(connectors.sink, [{"partition": partition, "offset": None}])
    cleared = run_dag("connector_offsets_snapshot", connectors=connectors.sink)
    connect.alter(connectors.sink, [{"partition": partition, "offset": {"kafka_offset": 7}}])
    only = partial(restore, snapshot_uri=_kept(cleared).uri, connectors="")

    left = only()

    assert left.state == "success"
    assert {"kafka_offset": 7} in connect.stored_offsets(connectors.sink)
    assert f"whose present offset stays (clear_new is false): {connectors.sink} (1)" in left.output

    removed = only(clear_new=True)

    assert removed.state == "success"
    assert connect.stored_offsets(connectors.sink) == [{"kafka_offset": RECORDS}]

    kept = SnapshotDirectory(uri)
    rows = read_dataset(kept.connectors, CONNECTORS)
    write_dataset(kept.connectors, CONNECTORS, [{**row, "connect_cluster": "elsewhere"} for row in rows])
    other = restore(connectors=connectors.sink)

    assert (other.state, other.tasks["snapshot"]) == ("failed", "failed")
    assert "is of a Connect cluster on Kafka cluster elsewhere" in other.output


def _kept(ran: Ran) -> KeptSnapshot:
    return KeptSnapshot.from_json(files.read_json(ComparisonDirectory(ran.directory.uri).kept))


def _id(broker: Kafka) -> str:
    with KafkaLogs(broker.client_settings()) as logs:
        return logs.cluster_id()


def _text(uri: str) -> str:
    """The text of a report, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", "", Path(uri.removeprefix("file://")).read_text()).split())
