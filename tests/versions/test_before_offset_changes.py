"""Kafka 3.5: what its REST API lacks is refused before anything changes, and the rest works."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import Unsupported
from airflow_provider_connect_offsets.offsets.document import Offsets
from sandbox import Sandbox
from sandbox.connectors import mirror_checkpoint_config
from tests.support.flows.failing_over import FailingOver, Flowing
from tests.support.flows.flow_changer import FlowChanger
from tests.support.flows.flows import Changer, MirrorFlow, SinkFlow, world
from tests.support.flows.moved_groups import assert_groups_go_on
from tests.support.programs.kafka_versions import READ_ONLY, on

pytestmark = [pytest.mark.versions, on(READ_ONLY)]
NO_CHANGES = (
    f"Nothing was changed.*has Kafka {READ_ONLY}, but changing offsets over the REST API needs Kafka 3.6 or later"
)


def test_changes_are_refused_by_name_and_nothing_is_stopped(
    sandbox: Sandbox, mirror: MirrorFlow, sink: SinkFlow, target_changer: Changer, flows: FlowChanger
) -> None:
    """A change, a reset of a flow, and single steps; each says what to do instead."""
    checkpoint = f"checkpoint-of-{mirror.name}"
    sandbox.connect.create(checkpoint, mirror_checkpoint_config(sandbox))
    sandbox.connect.wait_state(checkpoint, "RUNNING")
    before = world(sandbox)
    attempts: list[Callable[[], object]] = [
        lambda: target_changer.plan(sink.name, "earliest"),
        lambda: flows.plan({"source_connector": mirror.name, "checkpoint_connector": checkpoint}),
    ]
    with target_changer.clients() as clients:
        attempts += [
            lambda: target_changer.alter(clients, sink.name, Offsets()),
            lambda: target_changer.reset(clients, sink.name),
            lambda: clients.offsets.write_offsets(sink.name, Offsets()),
            lambda: clients.offsets.reset_offsets(sink.name),
        ]
        for attempt in attempts:
            with pytest.raises(Unsupported, match=NO_CHANGES + r".*control=storage.*kafka-consumer-groups"):
                attempt()

    before.assert_stands()
    sandbox.connect.delete(checkpoint)


def test_groups_fail_over_without_loss(sandbox: Sandbox, spark: SparkSession, workspace: str) -> None:
    """A failover only stops connectors and reads their offsets, which 3.5 can."""
    flowing = Flowing.start(sandbox)
    flowing.produce(60)
    flowing.wait_until_replicated()
    flowing.restart_task()
    flowing.produce(30)
    flowing.wait_until_replicated()

    assert_groups_go_on(FailingOver(spark, workspace, flowing), flowing.random_positions(20, Random(flowing.mark)))

    flowing.close()
