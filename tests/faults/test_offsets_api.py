"""Scenarios of Kafka's OffsetsApiIntegrationTest from the client's side: sinks, and refusals of any connector.

Each test names the scenarios that it covers. A zombie sink task is in ``test_others``, a rebalance in
``test_outages``, sources are in ``test_offsets_api_of_sources``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import (
    InvalidRequest,
    NotStopped,
    Rejected,
    UnknownConnector,
)
from airflow_provider_connect_offsets.offsets.document import parse_rest
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Broker, Sandbox, wait_until
from sandbox.connectors import file_sink_config
from tests.support.faults.fault_flow import AGAIN, PARTITIONS, RECORDS, SET_TO, SinkFaults
from tests.support.flows.flows import Changer

pytestmark = pytest.mark.faults


class PlainSink(SinkFaults):
    """As it comes."""


class OverriddenGroup(SinkFaults):
    """Its group is not ``connect-<name>``."""

    @property
    def config(self) -> dict[str, str]:
        return {**super().config, "consumer.override.group.id": f"{self.name}-own"}


class OtherCluster(SinkFaults):
    """Reads a cluster that the worker is not on, where its group is too."""

    @property
    def kafka(self) -> Broker:
        return self.sandbox.source

    @property
    def kafka_of_groups(self) -> Broker:
        return self.sandbox.source

    @property
    def config(self) -> dict[str, str]:
        servers = {f"{client}.override.bootstrap.servers": self.kafka.bootstrap for client in ("consumer", "admin")}
        return {**super().config, **servers}


SINKS = [PlainSink, OverriddenGroup, OtherCluster]


@pytest.fixture(params=SINKS, ids=lambda kind: kind.__name__)
def sink(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[SinkFaults]:
    """A running sink of each kind."""
    kind: type[SinkFaults] = request.param
    flow = kind.start(sandbox)
    yield flow
    sandbox.connect.delete(flow.name)


def changer_of(flow: SinkFaults, spark: SparkSession, folder: Path) -> Changer:
    return Changer(spark, folder.as_uri(), flow.connect.url, flow.kafka)


def test_sinks_are_read_changed_and_cleared(sink: SinkFaults, spark: SparkSession, tmp_path: Path) -> None:
    """Get, Alter and Reset SinkConnectorOffsets: plain, OverriddenConsumerGroupId, DifferentKafkaClusterTargeted."""
    changer = changer_of(sink, spark, tmp_path)
    with changer.clients() as clients:
        assert len(clients.offsets.read_offsets(sink.name).by_partition()) == PARTITIONS
    delivered = sink.delivered()

    assert changer.apply(sink.plan(changer, tmp_path)).result is Result.APPLIED
    sink.wait_until_caught_up()
    assert sink.delivered() - delivered == AGAIN

    assert changer.change(sink.name, "clear").result is Result.APPLIED
    sink.wait_until_caught_up()
    assert sink.delivered() - delivered == AGAIN + PARTITIONS * RECORDS
    sink.connect.stop(sink.name)
    with changer.clients() as clients:
        assert [changer.reset(clients, sink.name) for _ in range(3)] == [PARTITIONS, 0, 0]


def test_a_group_that_the_worker_overrides(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """The same with ``consumer.group.id`` of the worker, which its API does not show: Connect itself is queried."""
    worker = sandbox.another_cluster("own-group", {"consumer.group.id": "of-the-worker"})
    flow = PlainSink.start(sandbox, worker)
    changer = changer_of(flow, spark, tmp_path)
    delivered = flow.delivered()

    assert changer.apply(flow.plan(changer, tmp_path)).result is Result.APPLIED

    flow.wait_until_caught_up()
    assert flow.delivered() - delivered == AGAIN
    worker.process.close()


def test_zombies_keep_a_sink_from_being_reset(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """ResetSinkConnectorOffsetsZombieSinkTasks: refused by name, and nothing is changed."""
    flow = PlainSink.start(sandbox)
    sandbox.connect.stop(flow.name)
    consumer = Consumer(sandbox.target.client_settings() | {"group.id": f"connect-{flow.name}"})
    consumer.subscribe([flow.topic])
    wait_until(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()), 60, "the zombie did not join")
    changer = Changer(spark, tmp_path.as_uri(), sandbox.connect.url, sandbox.target, timeout=3)
    before = flow.positions()

    with changer.clients() as clients, pytest.raises(NotStopped, match=flow.name):
        changer.reset(clients, flow.name)

    consumer.close()
    assert flow.positions() == before
    sandbox.connect.delete(flow.name)


def test_connectors_that_are_not_there(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """GetNonExistentConnectorOffsets, AlterOffsetsNonExistentConnector."""
    changer = Changer(spark, tmp_path.as_uri(), sandbox.connect.url, sandbox.target)
    entry = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}
    with changer.clients() as clients:
        for attempt in (
            lambda: clients.offsets.read_offsets("no-such"),
            lambda: clients.offsets.write_offsets("no-such", parse_rest({"offsets": [entry]})),
            lambda: changer.reset(clients, "no-such"),
        ):
            with pytest.raises(UnknownConnector, match="no-such"):
                attempt()


def test_connectors_that_are_not_stopped(sandbox: Sandbox, spark: SparkSession, tmp_path: Path) -> None:
    """AlterOffsetsNonStoppedConnector: RUNNING and PAUSED are refused, by us and by Connect, and nothing changes."""
    flow = PlainSink.start(sandbox)
    changer, changes = changer_of(flow, spark, tmp_path), parse_rest({"offsets": [flow.entry(0, SET_TO)]})
    for prepare in (lambda _name: None, sandbox.connect.pause):
        prepare(flow.name)
        with changer.clients() as clients:
            with pytest.raises(NotStopped, match=flow.name):
                changer.alter(clients, flow.name, changes)
            with pytest.raises(NotStopped, match="must be in the STOPPED state"):
                clients.offsets.write_offsets(flow.name, changes)
    assert flow.positions() == dict.fromkeys(range(PARTITIONS), RECORDS)
    sandbox.connect.delete(flow.name)


@pytest.mark.parametrize(
    ("entry", "ours"),
    [
        ({"partition": {"kafka_topic": "t"}, "offset": {"kafka_offset": 1}}, "kafka_partition"),
        ({"partition": {"kafka_topic": "t", "kafka_partition": "x"}, "offset": {"kafka_offset": 1}}, "kafka_partition"),
        ({"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": "x"}}, "kafka_offset"),
        ({"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"wrong": 1}}, "kafka_offset"),
    ],
)
def test_bodies_that_no_sink_can_have(
    sandbox: Sandbox, spark: SparkSession, tmp_path: Path, entry: dict[str, Any], ours: str
) -> None:
    """AlterSinkConnectorOffsetsInvalidRequestBody: refused here by the name of the key, and by Connect itself."""
    changer = Changer(spark, tmp_path.as_uri(), sandbox.connect.url, sandbox.target)
    name = f"still-{uuid4().hex[:8]}"
    sandbox.connect.create(name, file_sink_config("t", tmp_path / "out"), initial_state="STOPPED")
    sandbox.connect.wait_state(name, "STOPPED")
    changes = parse_rest({"offsets": [entry]})
    with changer.clients() as clients:
        with pytest.raises(InvalidRequest, match=f"{name}.*{ours}"):
            changer.alter(clients, name, changes)
        with pytest.raises(Rejected, match=name):
            clients.offsets.write_offsets(name, changes)
    sandbox.connect.delete(name)
