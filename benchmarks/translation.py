"""Translating all consumer groups in one pass, compared with Kafka's MirrorClient: per group, and by its pattern call.

Times whole programs with their start-up, on the same broker: 1,000,000 checkpoint records of 4,000 groups in 25
partitions, and ours also with ten times as many groups. Ours is what ``mirror_failover`` runs for a lost source: the
observation that reads the topic, then ``spark-submit`` with a ``[connect_offsets] class_archive``; the archive is
written once before, as the program that calls MirrorClient is compiled once. MirrorClient reads the whole topic for
each group, so a few groups are timed and the rest is computed.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rows import Row
from timing import run, submit, timed

from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.pipeline import class_archive
from airflow_provider_connect_offsets.pipeline.shipping import job_path, write_py_files
from airflow_provider_connect_offsets.workspace.datasets import iterate_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import TRANSLATION
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Broker
from sandbox.jars import kafka_jars
from sandbox.java import java

GROUPS, PARTITIONS, ROUNDS, SAMPLE = 4_000, 25, 10, 5
SOURCE = Path(__file__).with_name("MirrorOffsets.java")
# Source offset minus offset in the remote topic.
AHEAD = 1_000_000
# Imports of both programs, which are timed as their start-up.
IMPORTS = """
import sys
from airflow_provider_connect_offsets.observe.clients import NO_CONNECT, Clients
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.failover import observe_failover
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
"""
SESSION = "from pyspark.sql import SparkSession; SparkSession.builder.getOrCreate().stop()"
OBSERVE = f"""{IMPORTS}
bootstrap, alias, uri = sys.argv[1:]
request = FailoverRequest.parse(planned=False, groups=".*", flow=Flow(source_alias=alias))
with KafkaCluster({{"bootstrap.servers": bootstrap}}) as target:
    clients = Clients(NO_CONNECT, NO_CONNECT, clusters=Clusters(None, target), workspace=uri)
    observe_failover(request, clients, FailoverDirectory(uri))
"""


@dataclass(frozen=True)
class Lost:
    """A flow with a lost source: the checkpoints of its groups, and the remote topic, on one broker."""

    broker: Broker
    flow: Flow
    groups: int

    @classmethod
    def fill(cls, broker: Broker, groups: int) -> Lost:
        """Write checkpoints as MirrorCheckpointTask does, several of each group."""
        lost = cls(broker, Flow(source_alias=f"of{groups}"), groups)
        broker.create_topic(lost.flow.target_topic("orders"), partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            broker.produce(lost.flow.target_topic("orders"), [b"."] * (groups + 1), partition=partition)
        # Compacted like MirrorMaker 2's topic, but not during the benchmark.
        config = {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000"}
        broker.create_topic(lost.flow.checkpoints_topic, config=config)
        broker.produce(lost.flow.checkpoints_topic, lost._values(), keys=lost._keys())
        return lost

    @property
    def translated(self) -> tuple[int, int]:
        """The expected number of translated offsets, and their sum."""
        return self.groups * PARTITIONS, self.groups * (self.groups + 1) // 2 * PARTITIONS

    def _keys(self) -> Iterator[bytes]:
        topic = self.flow.target_topic("orders")
        for group, partition, _round in self._checkpoints():
            yield _text(f"group-{group}") + _text(topic) + struct.pack(">i", partition)

    def _values(self) -> Iterator[bytes]:
        for group, _partition, number in self._checkpoints():
            offset = (group + 1) * (number + 1) // ROUNDS
            yield struct.pack(">hqq", 0, AHEAD + offset, offset) + _text("")

    def _checkpoints(self) -> Iterator[tuple[int, int, int]]:
        for number in range(ROUNDS):
            for group in range(self.groups):
                for partition in range(PARTITIONS):
                    yield group, partition, number


@dataclass(frozen=True)
class Translators:
    """Both programs; ``scratch`` has their input and output."""

    scratch: Path

    def prepare(self) -> None:
        """Write the zip and the archive, and compile MirrorClient's program."""
        write_py_files(self._shipped)
        self._session.write_text(SESSION)
        run(sys.executable, "-m", class_archive.__name__, str(self._archive))
        run(str(java().with_name("javac")), "-cp", f"{kafka_jars()}/*", "-d", str(self.scratch), str(SOURCE))

    def start(self) -> None:
        """Start-up of both of our programs."""
        run(sys.executable, "-c", IMPORTS)
        submit("--py-files", str(self._shipped), str(self._session), archive=str(self._archive))

    def ours(self, lost: Lost) -> None:
        """From the topic to dataset ``translation``."""
        self._ours(lost, archive=str(self._archive))

    def without_archive(self, lost: Lost) -> None:
        """The same without a class archive."""
        self._ours(lost, archive="")

    def _ours(self, lost: Lost, *, archive: str) -> None:
        uri = self._directory(lost).uri
        run(sys.executable, "-c", OBSERVE, lost.broker.bootstrap, lost.flow.source_alias, uri)
        submit("--py-files", str(self._shipped), str(job_path()), "translation", uri, archive=archive)

    def check(self, lost: Lost) -> None:
        """Compare our translated offsets with the expected ones."""
        directory = self._directory(lost)
        summary = json.loads(Path(directory.summary.removeprefix("file://")).read_text())
        rows = iterate_dataset(directory.translation, TRANSLATION)
        offsets = [row["downstream"] for row in rows if row["action"] == "commit"]
        actual = (len(offsets), sum(offsets))
        if summary["errors"] or actual != lost.translated:
            raise SystemExit(f"{actual} instead of {lost.translated} (number and sum of offsets), {summary['errors']}")

    def theirs(self, lost: Lost, *groups: str) -> list[float]:
        """Seconds of each call of MirrorClient: one for each group, or without ``groups`` one by pattern."""
        classes = f"{self.scratch}:{kafka_jars()}/*"
        command = [str(java()), "-Dlog4j2.level=OFF", "-cp", classes, SOURCE.stem]
        answers = [
            line.split() for line in run(*command, lost.broker.bootstrap, lost.flow.source_alias, *groups).splitlines()
        ]
        actual = [(int(partitions), int(total)) for partitions, total, _seconds in answers]
        by_group = [(PARTITIONS, PARTITIONS * (int(group.rpartition("-")[2]) + 1)) for group in groups]
        if actual != (by_group or [lost.translated]):
            raise SystemExit(f"MirrorClient returned {actual} instead of {by_group or [lost.translated]}")
        return [float(seconds) for _partitions, _total, seconds in answers]

    @property
    def _archive(self) -> Path:
        return self.scratch / "classes.jsa"

    @property
    def _shipped(self) -> Path:
        return self.scratch / "connect_offsets.zip"

    @property
    def _session(self) -> Path:
        return self.scratch / "session.py"

    def _directory(self, lost: Lost) -> FailoverDirectory:
        return FailoverDirectory((self.scratch / lost.flow.source_alias).as_uri())


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each way of MirrorClient, and one for the growth."""
    groups = max(SAMPLE, round(GROUPS * scale))
    with tempfile.TemporaryDirectory() as scratch:
        broker = Broker("target", Path(scratch, "processes", "target"))
        broker.process.start()
        try:
            yield from _measure(broker, Translators(Path(scratch)), groups, runs)
        finally:
            broker.process.close()


def _measure(broker: Broker, translators: Translators, groups: int, runs: int) -> Iterator[Row]:
    translators.prepare()
    many, tenfold, one = (Lost.fill(broker, count) for count in (groups, groups * 10, 1))
    sampled = [f"group-{number * (groups // SAMPLE)}" for number in range(SAMPLE)]
    calls: list[float] = []
    start, ours, without_archive, pattern, of_tenfold, of_one, by_group = timed(
        runs,
        translators.start,
        partial(translators.ours, many),
        partial(translators.without_archive, many),
        partial(translators.theirs, many),
        partial(translators.ours, tenfold),
        partial(translators.ours, one),
        lambda: calls.extend(translators.theirs(many, *sampled)),
    )
    for lost in (many, tenfold, one):
        translators.check(lost)
    records = groups * PARTITIONS * ROUNDS
    name = f"translation of {records:,} checkpoints of {groups:,} groups"
    shows = (
        f"of one group {min(of_one):.1f} s, of it start-up {min(start):.1f} s; without class archive "
        f"{min(without_archive):.1f} s; the call is not exact"
    )
    yield Row(name, ours, "MirrorClient's call by pattern", pattern, goal=1.0, shows=shows)
    all_groups = [min(by_group) + (groups - SAMPLE) * min(calls)]
    yield Row(name, ours, f"MirrorClient group by group (computed from {SAMPLE})", all_groups, goal=1 / 100)
    beyond, beyond_of_tenfold = ([max(few - min(start), 0.01) for few in taken] for taken in (ours, of_tenfold))
    name = f"translation of {records * 10:,} checkpoints, without start-up"
    yield Row(name, beyond_of_tenfold, f"of {records:,}", beyond, goal=10.0)


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()
