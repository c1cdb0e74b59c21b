"""A storm: many processes change overlapping connectors of two Connect clusters, and are killed or frozen at random."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.saga import settle
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Connect, Sandbox, wait_for, wait_until
from sandbox.connectors import file_sink_config
from tests.support.flows.flows import Changer
from tests.support.programs import change_process

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
RECORDS, POSITIONS = 30, (0, 7, 20)
PROCESSES = 6
# Seconds until a process is hit, and for how long it is frozen: mostly less than a lease lasts, at times more.
HIT_AFTER, FROZEN = (0.5, 4.0), (1.0, 1.0, 2.0, 48.0)


@dataclass(frozen=True)
class Target:
    """A sink in one of the clusters, whose records are their offsets, and plans that rewind it."""

    connect: Connect
    name: str
    file: Path
    plans: tuple[str, ...]

    def lines(self) -> list[int]:
        """What it has delivered, in order."""
        return [int(line) for line in self.file.read_text().splitlines()]


@pytest.fixture(scope="module")
def other(sandbox: Sandbox) -> Iterator[Connect]:
    """Another Connect cluster on the same Kafka cluster."""
    cluster = sandbox.another_cluster(f"storm-{uuid4().hex[:8]}")
    yield cluster
    cluster.process.close()


def start(sandbox: Sandbox, connect: Connect, name: str, changer: Changer) -> Target:
    """Create a sink with a group of its own, wait until it has delivered everything, and plan."""
    topic = f"storm-{uuid4().hex[:8]}"
    sandbox.target.create_topic(topic)
    sandbox.target.produce(topic, [str(number) for number in range(RECORDS)])
    file = sandbox.data / f"{topic}.txt"
    connect.create(name, {**file_sink_config(topic, file), "consumer.override.group.id": topic})
    wait_for(
        lambda: [one["offset"]["kafka_offset"] for one in connect.offsets(name)], [RECORDS], 60, "it delivers not all"
    )
    plans = tuple(changer.plan(name, "offset", str(position))[0].uri for position in POSITIONS)
    return Target(connect, name, file, plans)


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.long)])
def test_nothing_is_left_behind(
    sandbox: Sandbox, other: Connect, spark: SparkSession, tmp_path: Path, rounds: int
) -> None:
    """Wherever runs are killed or frozen: once settled all run, and nothing was delivered from an unplanned offset."""
    draw, workspace = random.Random(os.environ["FAULT_SEED"]), tmp_path.as_uri()
    shared, here, there = (f"storm-{where}-{uuid4().hex[:6]}" for where in ("both", "here", "there"))
    changers = {one.url: Changer(spark, workspace, one.url, sandbox.target) for one in (sandbox.connect, other)}
    targets = [
        start(sandbox, connect, name, changers[connect.url])
        for connect, name in ((sandbox.connect, shared), (other, shared), (sandbox.connect, here), (other, there))
    ]
    try:
        for number in range(rounds):
            _storm(sandbox, targets, workspace, draw, f"storm/{number}")
        _settle(targets, changers[sandbox.connect.url])
        for target in targets:
            target.connect.wait_state(target.name, "RUNNING", tasks=1)
            _has_delivered_in_order(target)
    finally:
        for target in targets:
            target.connect.delete(target.name)


def _storm(sandbox: Sandbox, targets: list[Target], workspace: str, draw: random.Random, run: str) -> None:
    """Let processes change connectors that they draw, and hit each of them once at a moment that it draws."""
    with ExitStack() as stack:
        processes = []
        for number in range(PROCESSES):
            target = draw.choice(targets)
            kafka = sandbox.target.bootstrap
            words = [draw.choice(target.plans), target.connect.url, kafka, kafka, workspace, "60", f"{run}/{number}"]
            process = subprocess.Popen(
                [sys.executable, "-m", change_process.__name__, *words], stdout=subprocess.DEVNULL
            )
            stack.callback(process.kill)
            processes.append(process)
            time.sleep(draw.uniform(0, 1))
        frozen = {}
        for process in processes:
            time.sleep(draw.uniform(*HIT_AFTER) / PROCESSES)
            with suppress(ProcessLookupError):
                if draw.random() < 0.5:
                    process.kill()
                else:
                    os.kill(process.pid, signal.SIGSTOP)
                    frozen[process.pid] = time.monotonic() + draw.choice(FROZEN)
        for pid, until in sorted(frozen.items(), key=lambda item: item[1]):
            wait_until(lambda until=until: time.monotonic() > until, 60, "it is frozen")  # type: ignore[misc]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        for process in processes:
            process.wait(180)


def _settle(targets: list[Target], changer: Changer) -> None:
    """As a person would, or the next runs."""
    with ExitStack() as stack:
        opened = [
            stack.enter_context(ConnectRest(ConnectEndpoint((url,)))) for url in {one.connect.url for one in targets}
        ]
        registry = make_registry(*(Clients(one, one, timeout=60, cluster=changer.cluster) for one in opened))
        for name in {target.name for target in targets}:
            settle(changer.journal(name), Owner.here(run="storm/after", task="recover"), registry)
            assert changer.journal(name).read_left() is None


def _has_delivered_in_order(target: Target) -> None:
    """Each record follows the one before it, or is where a plan has put the sink."""
    wait_for(lambda: target.lines()[-1], RECORDS - 1, 60, f"{target.name} has not caught up")
    lines = target.lines()
    strange = [(one, two) for one, two in pairwise(lines) if two not in {one + 1, *POSITIONS}]
    assert (target.name, strange) == (target.name, [])
    assert lines[:RECORDS] == list(range(RECORDS))
