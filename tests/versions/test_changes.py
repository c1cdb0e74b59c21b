"""Brokers and workers of each version accept every kind of change, a reset and a failover."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from airflow_provider_connect_offsets.workspace.schemas import CONNECTOR_OFFSETS, CONNECTORS, LOG_BOUNDS
from sandbox import Sandbox, wait_until
from tests.support.faults.reset_cell import RECORDS as RESET
from tests.support.faults.reset_cell import ResetCell
from tests.support.flows.changes_of_each_kind import POSITION, RECORDS, Kind, MirrorReader, Reader, SinkReader
from tests.support.flows.failing_over import FailingOver, Flowing
from tests.support.flows.flow_changer import FlowChanger
from tests.support.flows.flows import Changer
from tests.support.flows.moved_groups import assert_groups_go_on
from tests.support.programs.kafka_versions import CHANGING, on

# A test makes many plans, on a machine that may have other things to do.
pytestmark = [pytest.mark.versions, on(*CHANGING)]


@pytest.fixture(params=[SinkReader, MirrorReader], ids=["sink", "mirror"])
def reader(request: pytest.FixtureRequest, sandbox: Sandbox, tmp_path: Path) -> Iterator[Reader]:
    """A connector with a topic for each kind of change."""
    made: Reader = request.param(sandbox, tmp_path)
    made.start()
    yield made
    made.close()


def test_every_kind_of_change_delivers_from_where_it_was_requested(
    reader: Reader, spark: SparkSession, workspace: str
) -> None:
    """By what the snapshot saw, what is read back, and what is delivered after a resume; then once while it runs."""
    changer = Changer(spark, workspace, reader.sandbox.connect.url, reader.broker)
    connect, kinds = reader.sandbox.connect, reader.kinds()
    planned = reader.plan(changer, kinds)
    assert_seen(planned[0][0], reader)
    assert [summary["errors"] for _run, summary in planned] == [[]] * len(kinds)

    # Each plan was made with all topics where they were, and none of them may move before it is applied.
    written = [applied(changer, reader, kind, run) for kind, (run, _summary) in zip(kinds, planned, strict=True)]

    connect.alter(reader.name, written)
    assert reader.positions() == {reader.topic(kind): kind.first for kind in kinds}
    before = {topic: len(numbers) for topic, numbers in reader.delivered().items()}
    for kind in kinds:
        reader.broker.produce(reader.topic(kind), [f"{reader.topic(kind)}:{RECORDS}"])
    connect.resume(reader.name)
    reader.wait_until_caught_up(RECORDS + 1)
    again = {topic: numbers[before[topic] :] for topic, numbers in reader.delivered().items()}
    assert again == {reader.topic(kind): list(range(kind.first, RECORDS + 1)) for kind in kinds}

    outcome = changer.change(reader.name, "shift", "-5", topics=reader.topic("shift"))

    assert (outcome.prior_state, outcome.final_state) == ("RUNNING", "RUNNING")
    reader.wait_until_caught_up(RECORDS + 1)
    assert reader.delivered()[reader.topic("shift")][-5:] == list(range(RECORDS - 4, RECORDS + 1))


def applied(changer: Changer, reader: Reader, kind: Kind, run: RunDirectory) -> dict[str, Any]:
    """Apply one plan: its topic is where it was requested to be, and no other has moved. Returns what was written."""
    outcome = changer.apply(run, name=f"test/{kind.to}")

    assert outcome.result is (Result.UNCHANGED if kind.to == "current" else Result.APPLIED)
    assert (outcome.prior_state, outcome.final_state) in {("STOPPED", "STOPPED"), (None, None)}
    assert reader.positions() == {
        **{reader.topic(one): POSITION for one in reader.kinds()},
        reader.topic(kind): kind.first,
    }
    return reader.take_out(reader.topic(kind))


def assert_seen(run: RunDirectory, reader: Reader) -> None:
    """The snapshot is what the worker and the cluster return."""
    [connector] = read_dataset(run.connectors, CONNECTORS)
    assert (connector["connector"], connector["state"], connector["tasks"]) == (reader.name, "STOPPED", "[]")
    offsets = read_dataset(run.connector_offsets, CONNECTOR_OFFSETS)
    assert {row["partition"]: row["offset"] for row in offsets} == reader.stored()
    assert {row["topic"]: row["position"] for row in offsets} == {reader.topic(one): POSITION for one in reader.kinds()}
    bounds = {row["topic"]: (row["log_start"], row["log_end"]) for row in read_dataset(run.log_bounds, LOG_BOUNDS)}
    assert {bounds[reader.topic(kind)] for kind in reader.kinds()} == {(0, RECORDS)}


def test_a_flow_is_replicated_again_with_clean_syncs(sandbox: Sandbox, flows: FlowChanger) -> None:
    """A reset of MirrorMaker 2: each record once more, syncs and checkpoints of the new copy only, groups in it."""
    cell = ResetCell.start(sandbox)
    [topic] = cell.topics
    wait_until(cell.group_on_target, 60, "the group is not on the target", progress=cell.work)

    run, summary = flows.plan({**cell.params, "checkpoints": True})
    outcome = flows.apply(run)

    assert (summary["errors"], summary["records_again"], summary["duplicates"]) == ([], 2 * RESET, 2 * RESET)
    assert outcome.result is Result.APPLIED
    assert "There are new offset syncs of 2 of 2 partitions" in outcome.message
    cell.wait_until_caught_up()
    once_more = {number: 2 * [f"{number}:{offset}" for offset in range(RESET)] for number in (0, 1)}
    assert cell.replicated(topic) == once_more
    assert {(sync.where.partition, sync.downstream - sync.upstream) for sync in cell.syncs()} == {
        (0, RESET),
        (1, RESET),
    }
    assert cell.policies() == ["compact", "compact"]
    cell.wait_until_running()
    # The group has one record left to read, and is never put behind it.
    late = "the group was not put into the second copy"
    wait_until(lambda: min(cell.group_on_target().values()) >= RESET, 60, late, progress=cell.work)
    assert max(cell.group_on_target().values()) <= 2 * RESET - 1
    cell.close()


def test_groups_fail_over_without_loss(sandbox: Sandbox, spark: SparkSession, workspace: str) -> None:
    """A planned failover, after a restart of the task and a rewind: every group goes on with its next record."""
    flowing = Flowing.start(sandbox)
    flowing.live_through(60, restart_with=30, rewind_to=40, more=30)
    positions = flowing.random_positions(20, Random(flowing.mark))

    assert_groups_go_on(FailingOver(spark, workspace, flowing), positions)

    flowing.close()
