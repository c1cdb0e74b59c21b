"""Resets of real flows that are broken before, during and after the offset syncs are emptied."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.exceptions import LeftStopped, NotApplied, Overlap, StoreError, Unreachable
from airflow_provider_connect_offsets.kafka.cluster import CleanupPolicy, KafkaCluster
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.operations.flow.flow_reset import read_reset, topic_journals
from airflow_provider_connect_offsets.pipeline.frames import struct_type
from airflow_provider_connect_offsets.pipeline.translate.mirror_records import offset_syncs
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from airflow_provider_connect_offsets.workspace.schemas import STORED_RECORDS
from sandbox import Sandbox
from tests.support.faults.reset_cell import RECORDS, ResetCell
from tests.support.flows.flow_changer import FlowChanger
from tests.support.flows.flows import Changer
from tests.support.programs import reset_process

pytestmark = pytest.mark.mirror


class FailsBefore(KafkaCluster):
    """Fails where it would delete records; the policy has been switched by then."""

    def _delete(self, topic: str, ends: Mapping[TopicPartition, int]) -> None:
        del ends
        raise StoreError(f"Can't delete the records of {topic!r}.")


class FailsAfter(KafkaCluster):
    """Fails once the topic is empty."""

    def empty(self, topic: str, policy: CleanupPolicy) -> int:
        super().empty(topic, policy)
        raise StoreError(f"Can't read back {topic!r}.")


class FailsAtCheckpoints(KafkaCluster):
    """Empties no checkpoints."""

    def empty(self, topic: str, policy: CleanupPolicy) -> int:
        if "checkpoints" in topic:
            raise StoreError(f"Can't empty {topic!r}.")
        return super().empty(topic, policy)


class GoesAwayAfter(KafkaCluster):
    """Answers nothing more once a topic is empty."""

    _gone = False

    def empty(self, topic: str, policy: CleanupPolicy) -> int:
        count = super().empty(topic, policy)
        self._gone = True
        return count

    def policy(self, topic: str) -> CleanupPolicy:
        if self._gone:
            raise Unreachable("No answer from Kafka.")
        return super().policy(topic)


@pytest.fixture
def cell(sandbox: Sandbox) -> Iterator[ResetCell]:
    started = ResetCell.start(sandbox)
    started.wait_until_synced()  # tests compare syncs with those of before
    yield started
    started.close()


def assert_as_before(cell: ResetCell, positions: Mapping[tuple[str, int], int]) -> None:
    """Offsets, states and policies are those that were found, and nothing is replicated again."""
    assert cell.positions() == positions
    cell.wait_until_running()
    assert cell.policies() == ["compact", "compact"]
    assert {number: len(values) for number, values in cell.replicated(cell.topics[0]).items()} == {
        0: RECORDS,
        1: RECORDS,
    }


def assert_replicated_again(cell: ResetCell) -> None:
    """All of it, by a flow that runs, with the policies that its topics had."""
    assert cell.policies() == ["compact", "compact"]
    cell.wait_until_caught_up()
    cell.wait_until_running()
    assert {number: len(values) for number, values in cell.replicated(cell.topics[0]).items()} == {
        0: 2 * RECORDS,
        1: 2 * RECORDS,
    }


def killed(cell: ResetCell, flows: FlowChanger) -> ResetDirectory:
    """Plan a reset, and let the process that makes it die; offsets are written then, and the policy is switched."""
    run, _summary = flows.plan(cell.params)
    places = (flows.workspace, flows.worker, flows.source, flows.target)
    ended = subprocess.run([sys.executable, "-m", reset_process.__name__, run.uri, *places], check=False)
    assert ended.returncode == 9
    assert cell.policies() == ["compact,delete", "compact"]
    assert (set(cell.states()), cell.positions()) == ({"STOPPED"}, {})
    return run


def test_a_failure_before_anything_is_gone(cell: ResetCell, flows: FlowChanger) -> None:
    """The syncs are there as well."""
    positions, syncs = cell.positions(), cell.syncs()
    run, _summary = flows.plan(cell.params)

    with pytest.raises(NotApplied, match="Its prior offsets were restored"):
        flows.through(FailsBefore).apply(run)

    assert_as_before(cell, positions)
    assert cell.syncs()[: len(syncs)] == syncs


def test_a_failure_after_the_syncs_are_gone(cell: ResetCell, flows: FlowChanger, spark: SparkSession) -> None:
    """Nothing brings them back, so the reset goes on, and says what had failed; the records are kept."""
    syncs = cell.syncs()
    run, _summary = flows.plan(cell.params)

    outcome = flows.through(FailsAfter).apply(run)

    assert outcome.result is Result.APPLIED
    assert outcome.warnings == (
        f"Can't read back '{cell.flow.offset_syncs_topic}'. Nevertheless, this step was completed.",
    )
    assert_replicated_again(cell)
    kept = offset_syncs(spark.read.schema(struct_type(STORED_RECORDS)).parquet(run.sync_records)).collect()
    assert [(row["topic"], row["kafka_partition"], row["upstream"], row["downstream"]) for row in kept] == [
        (sync.where.topic, sync.where.partition, sync.upstream, sync.downstream) for sync in syncs
    ]


def test_a_failure_between_two_topics(cell: ResetCell, flows: FlowChanger) -> None:
    """The syncs are gone and the checkpoints are not: the flow stays STOPPED, and a retry or a teardown goes on."""
    run, _summary = flows.plan({**cell.params, "checkpoints": True})

    with pytest.raises(LeftStopped, match=r"stays STOPPED: the flow reset .*Can't empty .*Run the task again"):
        flows.through(FailsAtCheckpoints).apply(run)
    assert (set(cell.states()), cell.syncs()) == ({"STOPPED"}, [])
    outcome = flows.take_back(run)

    assert outcome is not None
    assert (outcome.result, outcome.final_state) == (Result.APPLIED, "RUNNING")
    assert_replicated_again(cell)


def test_brokers_that_go_away_before_the_resume(cell: ResetCell, flows: FlowChanger) -> None:
    """The syncs are gone: the error says that the flow is still STOPPED, and a retry goes on."""
    run, _summary = flows.plan(cell.params)

    message = r"No answer from Kafka\. The flow reset was made and .* but '.*' and '.*' may still be STOPPED\. Run"
    with pytest.raises(Unreachable, match=message):
        flows.through(GoesAwayAfter).apply(run)
    assert (set(cell.states()), cell.syncs()) == ({"STOPPED"}, [])
    outcome = flows.apply(run)

    assert (outcome.result, outcome.final_state) == (Result.APPLIED, "RUNNING")
    assert_replicated_again(cell)


def test_a_killed_reset_is_finished_by_its_retry(cell: ResetCell, flows: FlowChanger) -> None:
    """Only a reset may do it: a change of the MirrorSource's offsets is refused meanwhile, and says what to do."""
    run = killed(cell, flows)
    alone = Changer(flows.spark, flows.workspace, flows.worker, cell.sandbox.source)  # type: ignore[arg-type]
    planned, _summary = alone.plan(cell.source_connector, "latest")
    with pytest.raises(Overlap, match="Run mirror_reset again with the same connectors"):
        alone.apply(planned, name="test/other")

    outcome = flows.apply(run)

    assert outcome.result is Result.APPLIED
    assert_replicated_again(cell)
    assert all(sync.downstream - sync.upstream == RECORDS for sync in cell.syncs())


def test_a_killed_reset_is_undone(cell: ResetCell, flows: FlowChanger) -> None:
    """The teardown of its run restores prior offsets, states and policies."""
    positions = cell.positions()
    run = killed(cell, flows)

    outcome = flows.take_back(run)

    assert outcome is not None
    assert outcome.result is Result.RESTORED
    assert "was undone" in outcome.message
    assert_as_before(cell, positions)
    assert flows.take_back(run) is None


def test_a_connector_that_was_deleted_keeps_no_other_one_down(cell: ResetCell, flows: FlowChanger) -> None:
    """If someone deletes the MirrorSource of a killed reset, the MirrorCheckpoint runs again, and nothing blocks it."""
    run = killed(cell, flows)
    cell.sandbox.connect.delete(cell.source_connector)

    outcome = flows.take_back(run)

    assert outcome is not None
    assert "Someone has deleted it while its offsets were being changed" in outcome.message
    cell.sandbox.connect.wait_state(cell.checkpoint_connector, "RUNNING", tasks=1)
    assert cell.policies() == ["compact", "compact"]
    assert flows.journal(cell.checkpoint_connector).read_left() is None
    flows.journal(cell.checkpoint_connector).refuse_overlap("another/run")


def test_two_resets_of_one_topic_do_not_overlap(cell: ResetCell, flows: FlowChanger) -> None:
    """The second one is refused at once, with the name of the first."""
    run, _summary = flows.plan(cell.params)
    with flows.clients() as clients:
        [topic] = [one for one in topic_journals(read_reset(run).reset, clients) if one.resource.startswith("topic ")]

    assert topic.resource == f"topic {cell.flow.offset_syncs_topic}"
    with topic.claim(Owner.here(run="test/first", task="apply")), pytest.raises(Overlap, match="'test/first'"):
        flows.apply(run)

    cell.wait_until_running()
