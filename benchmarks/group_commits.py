"""Commit and read-back of many groups' offsets, compared with Kafka's tool and with Kafka's own client.

``kafka-consumer-groups --reset-offsets --from-file`` commits for one group per start; a few are timed, and the rest is
computed from these. Java's ``Admin`` has all requests in flight at once. Without the start of Python and of its JVM.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rows import Row
from timing import run

from airflow_provider_connect_offsets.kafka.groups import ConsumerGroups
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from sandbox import Broker, Sandbox
from sandbox.jars import kafka_jars
from sandbox.java import java

GROUPS, PARTITIONS, SAMPLE = 4_000, 25, 3
SOURCE = Path(__file__).with_name("GroupCommits.java")
TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each way of Kafka's."""
    groups = max(SAMPLE, round(GROUPS * scale))
    with Sandbox() as sandbox, tempfile.TemporaryDirectory() as scratch:
        broker = sandbox.target
        broker.create_topic("orders", partitions=PARTITIONS)
        for partition in range(PARTITIONS):
            broker.produce("orders", [b"."] * 3 * runs, partition=partition)
        run(str(java().with_name("javac")), "-cp", f"{kafka_jars()}/*", "-d", scratch, str(SOURCE))
        taken = [
            (_ours(broker, groups, 3 * number), _admin(broker, groups, 3 * number + 1, scratch), _tool(broker, scratch))
            for number in range(runs)
        ]
        ours, admin, tool = zip(*taken, strict=True)
        name = f"commit of {groups * PARTITIONS:,} offsets of {groups:,} groups, with read-back"
        yield Row(name, ours, "Java's Admin, all in flight", admin, goal=1.5)
        computed = [seconds / SAMPLE * groups for seconds in tool]
        against = f"kafka-consumer-groups (computed from {SAMPLE} of them)"
        yield Row(name, ours, against, computed, goal=1 / 20)


def _ours(broker: Broker, groups: int, offset: int) -> float:
    wanted = {TopicPartition("orders", one): offset for one in range(PARTITIONS)}
    with ConsumerGroups(broker.client_settings()) as client:
        client.list_groups()
        began = time.perf_counter()
        offsets = {f"group-{one}": wanted for one in range(groups)}
        left = client.commit(offsets)
        stored = client.offsets_of(offsets)
        seconds = time.perf_counter() - began
    if left or any({where: one.offset for where, one in found.items()} != wanted for found in stored.values()):
        raise SystemExit(f"other offsets are stored; left: {left}")
    return seconds


def _admin(broker: Broker, groups: int, offset: int, classes: str) -> float:
    path = f"{classes}:{kafka_jars()}/*"
    words = (broker.bootstrap, "orders", str(groups), str(PARTITIONS), str(offset))
    return float(run(str(java()), "-Dlog4j2.level=OFF", "-cp", path, SOURCE.stem, *words))


def _tool(broker: Broker, scratch: str) -> float:
    file = Path(scratch, "offsets.csv")
    file.write_text("".join(f"orders,{one},1\n" for one in range(PARTITIONS)))
    began = time.perf_counter()
    for group in range(SAMPLE):
        words = ("--bootstrap-server", broker.bootstrap, "--group", f"group-{group}", "--reset-offsets", "--from-file")
        run(str(java()), "-Dlog4j2.level=OFF", "-cp", f"{kafka_jars()}/*", TOOL, *words, str(file), "--execute")
    return time.perf_counter() - began
