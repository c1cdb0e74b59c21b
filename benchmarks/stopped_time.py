"""Stopped time of a planned failover, compared with reading both logs with a bare consumer.

One topic of many partitions and its remote topic are on one broker; at one offset of each remote partition, records
were copied twice. Compaction has deleted the offset syncs, so only the ends of the logs are known. In half of the
partitions a group has a few hundred records left to read, as groups have that keep up; in the others almost all. While
the flow is stopped, the last observation and the final translation run, the latter by a driver that was ready before;
the first ones, which search those offsets, are timed, too. Each offset must be proved whose records are within
``compared_total``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from rows import Row
from timing import measured, submit

from airflow_provider_connect_offsets.offsets.requests.failover import DEFAULT_COMPARED_TOTAL
from airflow_provider_connect_offsets.pipeline.shipping import job_path, write_py_files
from airflow_provider_connect_offsets.pipeline.translate.records import MARGIN
from airflow_provider_connect_offsets.workspace.files import exists, write_bytes
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory, StandbyDirectory
from sandbox import Broker

FEW, MANY = (100, 10_000), (1_000, 100_000)
AGAIN, LEFT = 7, 500
OBSERVE = """
import sys
from dataclasses import replace
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow
from airflow_provider_connect_offsets.observe.flow.failover import observe_failover
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
bootstrap, partitions, stored, uri, *before = sys.argv[1:]
connect = MadeUpFlow(
    MadeUpCluster({}), MadeUpCluster({}), {("orders", one): int(stored) for one in range(int(partitions))}
)
request = FailoverRequest.parse(
    planned=True, groups="reader", flow=Flow.of(connect.info().config), source_connector="mirror"
)
settings = {"bootstrap.servers": bootstrap}
with KafkaCluster(settings) as source, KafkaCluster(settings) as target:
    ranges = FailoverDirectory(before[0]) if before else None
    clients = replace(connect.clients, clusters=Clusters(source, target))
    observe_failover(request, clients, FailoverDirectory(uri), ranges=ranges)
"""


@dataclass(frozen=True)
class Replicated:
    """A topic and its remote topic."""

    broker: Broker
    partitions: int
    records: int

    @classmethod
    def fill(cls, broker: Broker, partitions: int, records: int) -> Replicated:
        """Write both topics, and commit a group's offsets near the beginning."""
        flow = cls(broker, partitions, records)
        for topic in ("orders", "here.orders"):
            broker.create_topic(topic, partitions=partitions)
        settings = {
            "batch.size": 16_384,  # the default of Java's producer, which MirrorMaker 2 uses
            "compression.type": "lz4",
            "enable.idempotence": True,  # else records that are sent again during elections change their order
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
        }
        producer = Producer({**broker.client_settings(), **settings})
        for partition in range(partitions):
            gap = records // 5 + partition * 7919 % (records // 2)  # differs between partitions
            flow._produce(producer, "orders", partition, iter(range(records)))
            flow._produce(producer, "here.orders", partition, _with_gap(gap, records))
        producer.flush()
        broker.commit_group("reader", "orders", {one: flow.position(one) for one in range(partitions)})
        return flow

    def position(self, partition: int) -> int:
        """Return where the group is."""
        return self.records // 10 if partition % 2 else max(self.records - LEFT, 0)

    def provable(self) -> int:
        """Return how many positions can be proved by as many records as a failover compares, the nearest ones first."""
        left = sorted(self.records - self.position(one) for one in range(self.partitions))
        needed = accumulate(2 * (one + MARGIN) + AGAIN for one in left)
        return sum(one <= DEFAULT_COMPARED_TOTAL for one in needed)

    def _produce(self, producer: Producer, topic: str, partition: int, numbers: Iterator[int]) -> None:
        for number in numbers:
            # Each record differs from all others of its partition, as real records do.
            key, value, at = b"%d" % (number % 997), b"order %d" % number, 1_700_000_000_000 + number
            while True:
                try:
                    producer.produce(topic, value, key, partition=partition, timestamp=at)
                    break
                except BufferError:
                    producer.poll(0.1)

    def read_by_consumer(self) -> float:
        """Seconds that a consumer takes to read both topics."""
        began = time.perf_counter()
        settings = {"group.id": "floor", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
        consumer = Consumer({**self.broker.client_settings(), **settings})
        names = [(topic, one) for topic in ("orders", "here.orders") for one in range(self.partitions)]
        consumer.assign([TopicPartition(topic, one, 0) for topic, one in names])
        left = self.partitions * (2 * self.records + AGAIN)
        while left > 0:
            left -= len(consumer.consume(10_000, 1.0))
        consumer.close()
        return time.perf_counter() - began


def _with_gap(gap: int, records: int) -> Iterator[int]:
    yield from range(gap)
    yield from range(gap - AGAIN, records)


@dataclass(frozen=True)
class Failover:
    """The programs that a failover runs; ``scratch`` has their output."""

    flow: Replicated
    scratch: Path

    def observe(self, name: str, *before: str) -> tuple[float, float]:
        """Observe the flow; seconds, and peak memory in megabytes."""
        flow, uris = self.flow, map(self._uri, (name, *before))
        return measured(
            sys.executable, "-c", OBSERVE, flow.broker.bootstrap, str(flow.partitions), str(flow.records - 1), *uris
        )

    def translate(self, name: str, *before: str) -> float:
        """Translate the observed positions; seconds."""
        began = time.perf_counter()
        shipped = self.scratch / "connect_offsets.zip"
        write_py_files(shipped)
        submit("--py-files", str(shipped), str(job_path()), "translation", *map(self._uri, (name, *before)))
        return time.perf_counter() - began

    def stopped(self, name: str, before: str) -> tuple[float, float, float]:
        """Observe and translate while a driver stands by; seconds of both, and megabytes of the observation."""
        shipped, standby = self.scratch / "standby.zip", StandbyDirectory(self._uri(f"{name}/standby"))
        write_py_files(shipped)
        arguments = (*map(self._uri, (before, name)), standby.uri, "3600")
        write_bytes(standby.wanted, b"")
        with ThreadPoolExecutor(1) as pool:
            words = ("--py-files", str(shipped), str(job_path()), "standby", *arguments)
            driver = pool.submit(submit, *words, is_short=False)
            while not exists(standby.ready) and not driver.done():
                wait([driver], 0.1)
            seconds, megabytes = self.observe(name, before)
            began = time.perf_counter()
            write_bytes(standby.observed, b"")
            driver.result()
        return seconds, time.perf_counter() - began, megabytes

    def exact(self, name: str) -> int:
        """Number of partitions with an exact offset."""
        summary = json.loads(Path(FailoverDirectory(self._uri(name)).summary.removeprefix("file://")).read_text())
        if summary["errors"]:
            raise SystemExit(f"{name}: {summary['errors']}")
        return int(summary["exact"])

    def _uri(self, name: str) -> str:
        return (self.scratch / name).as_uri()


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for a few partitions, and one for many; each of one run."""
    del runs
    for partitions, records in (FEW, MANY):
        with tempfile.TemporaryDirectory() as scratch:
            broker = Broker("both", Path(scratch, "processes", "both"))
            broker.process.start()
            try:
                flow = Replicated.fill(broker, max(2, round(partitions * scale)), records)
                yield _measured(flow, Failover(flow, Path(scratch)))
            finally:
                broker.process.close()


def _measured(flow: Replicated, failover: Failover) -> Row:
    first, memory_first = failover.observe("before")
    preview = failover.translate("before")
    last, final, memory = failover.stopped("after", "before")
    floor, exact, provable = flow.read_by_consumer(), failover.exact("after"), flow.provable()
    if exact < provable:
        raise SystemExit(f"{exact} partitions are proved, but {provable} are within compared_total")
    shows = (
        f"observation {last:.1f} s, final translation {final:.1f} s; before that {first:.1f} s and {preview:.1f} s; "
        f"{exact:,} partitions proved; {max(memory, memory_first):,.0f} MB at most"
    )
    name = f"stopped time of a failover, {flow.partitions:,} partitions of {flow.records:,} records"
    return Row(name, [last + final], "a bare consumer that reads both logs", [floor], goal=1.0, shows=shows)
