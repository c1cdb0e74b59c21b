"""How long a planned failover keeps a flow stopped, over reading both of its logs with a bare consumer.

One topic of many partitions and its remote topic on one broker, each with one gap: somewhere in the remote topic
records were copied again. Offset syncs are gone, as compaction takes them, so nothing but the ends of the logs is
known. A group has yet to read almost all. What the flow is stopped for are the last look and the final translation, as
whole programs; the first ones, which look for the gaps, are timed beside them. Ends with 1 where a promise is broken::

    make bench
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from timing import run, submit

from airflow_provider_connect_offsets.pipeline.shipping import job_path, write_py_files
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from sandbox import Broker

PARTITIONS, RECORDS, AGAIN = 1_000, 100_000, 7
BY_CONSUMER_AT_LEAST, MEMORY_AT_MOST, SECONDS_AT_MOST = 1, 1024, 60
SUPPORT = str(Path(__file__).parents[1] / "tests" / "support")
LOOK = f"""
import resource, sys
sys.path.insert(0, {SUPPORT!r})
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow
from airflow_provider_connect_offsets.observe.flow.failover import FailoverClients, observe_failover
from airflow_provider_connect_offsets.observe.flow.remote_partitions import Clusters
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.kafka.cluster import open_cluster
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
bootstrap, partitions, stored, uri, *before = sys.argv[1:]
connect = MadeUpFlow(
    MadeUpCluster({{}}), MadeUpCluster({{}}), {{("orders", one): int(stored) for one in range(int(partitions))}}
)
request = FailoverRequest.parse(
    planned=True, groups="reader", flow=Flow.of(connect.info().config), source_connector="mirror"
)
settings = {{"bootstrap.servers": bootstrap}}
with open_cluster(settings) as source, open_cluster(settings) as target:
    ranges = FailoverDirectory(before[0]) if before else None
    clients = FailoverClients(Clusters(source, target), connect.clients)
    observe_failover(request, clients, FailoverDirectory(uri), ranges=ranges)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@dataclass(frozen=True)
class Replicated:
    """A topic and its remote topic, of so many partitions with so many records each."""

    broker: Broker
    partitions: int
    records: int

    @classmethod
    def fill(cls, broker: Broker, partitions: int, records: int) -> Replicated:
        """Write both, and a group's offsets near the beginning."""
        made = cls(broker, partitions, records)
        for topic in ("orders", "here.orders"):
            broker.create_topic(topic, partitions=partitions)
        settings = {
            "batch.size": 16_384,  # as Java's producer has it, with which MirrorMaker 2 writes
            "compression.type": "lz4",
            "enable.idempotence": True,  # or what is sent again while leaders are elected comes in another order
            "linger.ms": 50,
            "queue.buffering.max.messages": 1_000_000,
        }
        producer = Producer({**broker.client_settings(), **settings})
        for partition in range(partitions):
            gap = records // 5 + partition * 7919 % (records // 2)  # nobody knows where
            made._produce(producer, "orders", partition, iter(range(records)))
            made._produce(producer, "here.orders", partition, _with_gap(gap, records))
        producer.flush()
        broker.commit_group("reader", "orders", dict.fromkeys(range(partitions), records // 10))
        return made

    def _produce(self, producer: Producer, topic: str, partition: int, numbers: Iterator[int]) -> None:
        for number in numbers:
            # Each record differs from all others of its partition, as those of a business do.
            key, value, at = b"%d" % (number % 997), b"order %d" % number, 1_700_000_000_000 + number
            while True:
                try:
                    producer.produce(topic, value, key, partition=partition, timestamp=at)
                    break
                except BufferError:
                    producer.poll(0.1)

    def read_by_consumer(self) -> float:
        """Seconds that a consumer takes to read both topics, doing nothing with their records."""
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
    """The programs that a failover runs, with what they leave in ``scratch``."""

    flow: Replicated
    scratch: Path

    def look(self, name: str, *before: str) -> tuple[float, int]:
        """Look at the flow; seconds, and megabytes of memory at most."""
        flow = self.flow
        began = time.perf_counter()
        where = [self._uri(name), *(self._uri(one) for one in before)]
        told = run(
            sys.executable, "-c", LOOK, flow.broker.bootstrap, str(flow.partitions), str(flow.records - 1), *where
        )
        return time.perf_counter() - began, int(told)

    def translate(self, name: str, *before: str) -> float:
        """Translate what was seen; seconds."""
        began = time.perf_counter()
        shipped = self.scratch / "connect_offsets.zip"
        write_py_files(shipped)
        where = [self._uri(name), *(self._uri(one) for one in before)]
        submit("--py-files", str(shipped), str(job_path()), "translation", *where)
        return time.perf_counter() - began

    def exact(self, name: str) -> int:
        """How many partitions are proved."""
        summary = json.loads(Path(FailoverDirectory(self._uri(name)).summary.removeprefix("file://")).read_text())
        if summary["errors"]:
            raise SystemExit(f"{name}: {summary['errors']}")
        return int(summary["exact"])

    def _uri(self, name: str) -> str:
        return (self.scratch / name).as_uri()


def main() -> int:
    """Print the figures, and which promise they break."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    parser.add_argument("--records", type=int, default=RECORDS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        broker = Broker("both", Path(scratch, "processes", "both"))
        broker.process.start()
        try:
            flow = Replicated.fill(broker, options.partitions, options.records)
            return _measure(flow, Failover(flow, Path(scratch)))
        finally:
            broker.process.close()


def _measure(flow: Replicated, failover: Failover) -> int:
    first, memory_first = failover.look("before")
    preview = failover.translate("before")
    last, memory = failover.look("after", "before")
    final = failover.translate("after", "before")
    floor, exact = flow.read_by_consumer(), failover.exact("after")
    print(f"{flow.partitions:,} partitions of {flow.records:,} records with one gap each, on either side")
    print(f"  before the stop: look {first:6.1f} s ({memory_first:,} MB), translation {preview:6.1f} s")
    print(f"  stopped:         look {last:6.1f} s ({memory:,} MB), translation {final:6.1f} s: {last + final:.1f} s")
    print(f"  both logs read by a bare consumer: {floor:.1f} s, {floor / (last + final):.1f} times as long")
    print(f"  proved: {exact:,} of {flow.partitions:,}")
    promises = {
        "every partition is proved": exact == flow.partitions,
        f"at least {BY_CONSUMER_AT_LEAST} times as fast as a bare consumer": floor
        >= BY_CONSUMER_AT_LEAST * (last + final),
        f"at most {SECONDS_AT_MOST} s stopped": last + final <= SECONDS_AT_MOST,
        f"at most {MEMORY_AT_MOST:,} MB": max(memory, memory_first) <= MEMORY_AT_MOST,
    }
    broken = [promise for promise, kept in promises.items() if not kept]
    for promise in broken:
        print(f"BROKEN: {promise}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
