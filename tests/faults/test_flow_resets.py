"""Resets of real flows: one store alone, subsets, positions, other names and placements, failures."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import Drift, InvalidInput
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.sync_record import OffsetSync
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import RESET_TOPICS
from sandbox import Sandbox, wait_for, wait_until
from tests.support.faults.reset_cell import RECORDS, ResetCell
from tests.support.flows.flow_changer import FlowChanger

StartCell = Callable[..., ResetCell]


@pytest.fixture
def start(sandbox: Sandbox) -> Iterator[StartCell]:
    """Start flows, which are deleted at the end."""
    cells: list[ResetCell] = []

    def begin(**requested: Any) -> ResetCell:
        cells.append(ResetCell.start(sandbox, **requested))
        return cells[-1]

    yield begin
    for cell in cells:
        cell.close()


def put_sync(cell: ResetCell, topic: str, partition: int, upstream: int, downstream: int) -> None:
    """Write a sync as MirrorMaker 2 does."""
    key = struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">i", partition)
    cell.syncs_on.produce(cell.flow.offset_syncs_topic, [struct.pack(">qq", upstream, downstream)], keys=[key])


def mappings(syncs: Iterable[OffsetSync]) -> set[tuple[int, int]]:
    """Offsets of records of the source and of their copies in the remote topic."""
    return {(one.upstream, one.downstream) for one in syncs}


@pytest.mark.mirror
@pytest.mark.parametrize("together", [False, True], ids=["offsets alone", "together"])
def test_a_group_is_misplaced_where_only_the_offsets_are_reset(
    start: StartCell, flows: FlowChanger, *, together: bool
) -> None:
    """By a sync of an earlier remote topic a group lands beyond the end of the new one, and misses what comes.

    The remote topic had two copies; it is made anew. Of partition 1 the source has nothing left to replicate, so that
    no new sync replaces the old one.
    """
    cell = start()
    [topic] = cell.topics
    remote_partition, connect, late = cell.remote_partition(topic), cell.sandbox.connect, f"{cell.group}-late"
    cell.set_by_hand(topic, 1, 0)
    for name in (cell.source_connector, cell.checkpoint_connector):
        connect.stop(name)
    cell.sandbox.target.delete_topic(remote_partition)
    cell.sandbox.source.delete_records(topic, {1: RECORDS})
    cell.commit(topic, {1: RECORDS}, group=late)

    if together:
        run, summary = flows.plan({**cell.params, "checkpoints": True})
        assert (summary["records_again"], summary["duplicates"]) == (RECORDS, 0)
        assert summary["stale_checkpoints"] == 2
        outcome = flows.apply(run)
        assert (outcome.prior_state, outcome.final_state) == ("STOPPED", "STOPPED")
        assert (
            f"Send PUT /connectors/{cell.source_connector}/resume. Then MirrorMaker 2 writes new syncs"
            in outcome.message
        )
        assert cell.syncs() == []
    else:
        connect.reset(cell.source_connector)
    for name in (cell.source_connector, cell.checkpoint_connector):
        connect.resume(name)

    if not together:
        cell.wait_for_group_on_target({(remote_partition, 1): 2 * RECORDS}, group=late)  # it is misplaced
    cell.produce(topic, 1)
    cell.wait_until_caught_up()
    assert [one.value for one in cell.sandbox.target.consume(remote_partition, partition=1)] == [b"1:%d" % RECORDS]
    if together:
        cell.wait_for_group_on_target({(remote_partition, 1): 0}, group=late)
    else:
        wait_until(lambda: (RECORDS, 0) in mappings(cell.syncs()), 60, "no new sync", progress=cell.work)
        connect.stop(cell.checkpoint_connector)
        connect.resume(cell.checkpoint_connector)
        cell.commit(topic, {1: RECORDS}, group=f"{cell.group}-later")
        cell.wait_for_group_on_target({(remote_partition, 1): 0}, group=f"{cell.group}-later")
        assert cell.group_on_target(late) == {(remote_partition, 1): 2 * RECORDS}


@pytest.mark.mirror
def test_a_position_per_partition_and_nothing_else(start: StartCell, flows: FlowChanger, tmp_path: Path) -> None:
    """What is not named stays where it is, though its syncs go, which the plan says; they come with its next record."""
    cell = start(topics=2)
    moved, kept = cell.topics
    document = tmp_path / "requested.csv"
    document.write_text(f"{moved},0,30\n{moved},1,90\n")
    before = cell.replicated(moved), cell.replicated(kept)

    run, summary = flows.plan(cell.params, "file", document.as_uri())
    outcome = flows.apply(run)
    cell.wait_until_caught_up()

    assert (summary["records_again"], summary["duplicates"], summary["errors"]) == (80, 80, [])
    topics = {row["topic"]: row for row in read_dataset(run.reset_topics, RESET_TOPICS)}
    assert {name: (row["belongs"], row["records_again"], row["partitions"]) for name, row in topics.items()} == {
        moved: ("reset", 80, 2),
        kept: ("kept", 0, 0),
    }
    assert summary["rules"]["kept_syncs"] == 1
    after = cell.replicated(moved), cell.replicated(kept)
    assert after[0][0][RECORDS:] == before[0][0][30:]
    assert after[0][1][RECORDS:] == before[0][1][90:]
    assert after[1] == before[1]
    assert {sync.where.topic for sync in cell.syncs()} == {moved}
    assert "There are new offset syncs of 2 of 2 partitions" in outcome.message
    cell.produce(kept, 1)

    def of_kept() -> set[tuple[int, int]]:
        return mappings(one for one in cell.syncs() if one.where.topic == kept)

    late = "the topic that was left alone has no sync"
    wait_for(of_kept, {(RECORDS, RECORDS)}, 60, late, progress=cell.work)


@pytest.mark.mirror
def test_other_names_and_sides_of_the_syncs(start: StartCell, flows: FlowChanger) -> None:
    """Syncs on the target, a separator of its own, odd names of connectors; another flow of the worker is untouched.

    Syncs that others have written into the same topic are shown, and refused where nobody has seen them.
    """
    elsewhere = start()
    cell = start(odd=True, overrides={"offset-syncs.topic.location": "target", "replication.policy.separator": "_"})
    [topic] = cell.topics
    assert cell.flow.offset_syncs_topic == f"mm2-offset-syncs_s-{cell.mark}_internal"
    elsewhere.wait_until_synced()
    elsewhere.wait_until_running()
    before = elsewhere.syncs(), elsewhere.positions(), elsewhere.states()

    run, summary = flows.plan(cell.params, "shift", "-10", partitions="1")
    assert "foreign_syncs" not in summary["rules"]
    put_sync(cell, "of-another-flow", 0, 5, 5)
    with pytest.raises(
        Drift, match=r"Nothing was stopped or changed\. .* of-another-flow\. The reset would delete these"
    ):
        flows.apply(run)
    run, summary = flows.plan(cell.params, "shift", "-10", partitions="1")
    outcome = flows.apply(run, name="test/again")

    assert summary["rules"]["foreign_syncs"] == 1
    assert any("1 sync of 1 topic that this connector does not replicate" in text for text in summary["warnings"])
    assert (summary["records_again"], outcome.final_state) == (10, "RUNNING")
    cell.wait_until_caught_up()
    replicated = cell.replicated(topic)
    assert {number: len(values) for number, values in replicated.items()} == {0: RECORDS, 1: RECORDS + 10}
    assert {sync.where for sync in cell.syncs()} == {TopicPartition(topic, 1)}
    assert cell.policies() == ["compact", "compact"]
    assert (elsewhere.syncs(), elsewhere.positions(), elsewhere.states()) == before


@pytest.mark.mirror
def test_syncs_are_renewed_alone(start: StartCell, flows: FlowChanger) -> None:
    """Where nothing is to be replicated again, offsets stay as they are; the next record brings a sync."""
    cell = start()
    [topic] = cell.topics
    put_sync(cell, topic, 0, RECORDS - 1, 5000)
    positions = cell.positions()

    run, summary = flows.plan(cell.params, "current")
    outcome = flows.apply(run)

    assert (summary["set"], summary["clear"], summary["duplicates"]) == (0, 0, 0)
    assert "There was no record to replicate again, so no new offset sync is expected yet." in outcome.message
    assert (cell.syncs(), cell.positions()) == ([], positions)
    cell.wait_until_running()
    cell.produce(topic, 1)
    wait_until(lambda: len(cell.syncs()) == 2, 60, "there are no new syncs", progress=cell.work)
    assert mappings(cell.syncs()) == {(RECORDS, RECORDS)}


def test_contradictory_requests_are_refused(start: StartCell, flows: FlowChanger) -> None:
    """The error explains it in one sentence, before anything is read or written."""
    cell = start()
    requested = cell.params

    with pytest.raises(InvalidInput, match=r"source_connector: .* is a org\.apache.*, not a MirrorSourceConnector"):
        flows.plan({**requested, "source_connector": cell.checkpoint_connector})
    with pytest.raises(InvalidInput, match="checkpoints=true needs checkpoint_connector"):
        flows.plan({**requested, "checkpoint_connector": "", "checkpoints": True})
    swapped = FlowChanger(flows.workspace, flows.worker, flows.target, flows.source)
    with pytest.raises(InvalidInput, match="Check that source_kafka_conn_id is the connection of the flow's source"):
        swapped.plan(requested)
    other = {**cell.checkpoint_config, "source.cluster.alias": "another"}
    cell.sandbox.connect.update_config(cell.checkpoint_connector, other)
    with pytest.raises(InvalidInput, match=r"its source\.cluster\.alias is 'another', not"):
        flows.plan(requested)
