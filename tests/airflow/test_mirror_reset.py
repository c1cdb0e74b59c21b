"""Resets of whole flows by the DAG, on two real clusters with MirrorMaker 2 on the shared worker."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_provider_connect_offsets.connect.storage.offsets_topic import OffsetsTopic
from airflow_provider_connect_offsets.connect.storage.worker_group import WorkerGroups
from airflow_provider_connect_offsets.exceptions import NotStopped
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.sync_record import parse_sync
from airflow_provider_connect_offsets.operators.mirror_reset import ApproveMirrorResetOperator
from airflow_provider_connect_offsets.operators.mirror_syncs import ClearOffsetSyncsOperator
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import list_names, read_bytes, read_json
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from airflow_provider_connect_offsets.workspace.outcome import Result
from airflow_provider_connect_offsets.workspace.paths import join
from airflow_provider_connect_offsets.workspace.schemas import STORED_RECORDS
from sandbox import Sandbox, wait_for, wait_until
from tests.support.airflow.dag_runs import Ran, connections_in
from tests.support.faults.reset_cell import RECORDS, ResetCell

RunDag = Callable[..., Ran]


@contextmanager
def started(sandbox: Sandbox, **requested: Any) -> Iterator[ResetCell]:
    cell = ResetCell.start(sandbox, **requested)
    try:
        yield cell
    finally:
        cell.close()


def reset(run_dag: RunDag, cell: ResetCell, **params: Any) -> Ran:
    return run_dag("mirror_reset", **{**cell.params, **params})


def directory_of(ran: Ran) -> ResetDirectory:
    return ResetDirectory(ran.directory.uri)


def sync_bytes(topic: str, partition: int, upstream: int, downstream: int) -> tuple[bytes, bytes]:
    key = struct.pack(">h", len(topic)) + topic.encode() + struct.pack(">i", partition)
    return key, struct.pack(">qq", upstream, downstream)


def put_sync(cell: ResetCell, topic: str, partition: int, upstream: int, downstream: int) -> None:
    """A sync of another time, such as a remote topic that is gone leaves behind."""
    key, value = sync_bytes(topic, partition, upstream, downstream)
    cell.syncs_on.produce(cell.flow.offset_syncs_topic, [value], keys=[key])


def test_a_whole_flow_is_replicated_again_exactly_as_planned(sandbox: Sandbox, run_dag: RunDag, workspace: str) -> None:
    """After a rewind by hand, restarts and half-stale syncs: each record once more, clean syncs, groups in the copy."""
    with started(sandbox) as cell:
        [topic] = cell.topics
        cell.commit(topic, {0: RECORDS, 1: RECORDS - 1})
        cell.set_by_hand(topic, 0, 50)
        cell.restart()
        sandbox.connect.stop(cell.checkpoint_connector)
        put_sync(cell, topic, 1, RECORDS - 1, 5000)
        before, policies = cell.replicated(topic), cell.policies()
        assert [len(before[partition]) for partition in (0, 1)] == [150, 100]

        ran = reset(run_dag, cell)

        assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
        summary = read_json(directory_of(ran).summary)
        assert (summary["records_again"], summary["duplicates"]) == (200, 200)
        cell.wait_until_caught_up()
        after = cell.replicated(topic)
        again = {number: after[number][len(before[number]) :] for number in (0, 1)}
        assert again == {number: [f"{number}:{place}" for place in range(RECORDS)] for number in (0, 1)}
        assert sum(map(len, again.values())) == summary["records_again"]
        # MirrorMaker 2 keeps only the newest sync that waits to be sent, so that the first may be one further on.
        syncs = cell.syncs()
        assert {sync.where.partition for sync in syncs} == {0, 1}
        assert all(sync.downstream - sync.upstream == {0: 150, 1: 100}[sync.where.partition] for sync in syncs)
        assert cell.policies() == policies == ["compact", "compact"]
        sandbox.connect.wait_state(cell.source_connector, "RUNNING", tasks=1)
        sandbox.connect.wait_state(cell.checkpoint_connector, "STOPPED")
        sandbox.connect.resume(cell.checkpoint_connector)
        openings = {(cell.remote_partition(topic), 0): 150, (cell.remote_partition(topic), 1): 100}

        def is_in_the_copy() -> bool:
            stands = cell.group_on_target()
            return all(stands.get(where, 0) >= opening for where, opening in openings.items())

        wait_until(is_in_the_copy, 60, "the group was not put into the second copy", progress=cell.work)
        exact = {(cell.remote_partition(topic), 0): 150 + RECORDS, (cell.remote_partition(topic), 1): 100 + RECORDS - 1}
        for where, stands in cell.group_on_target().items():
            assert stands <= exact[where]
            rest = after[where[1]][stands:]  # nothing that it has not read is passed over
            assert rest == [f"{where[1]}:{number}" for number in range(RECORDS - len(rest), RECORDS)]
        rows = read_dataset(directory_of(ran).rewinds, REWINDS)
        assert {row["kafka_partition"]: tuple(row.values())[2:6] for row in rows} == {
            0: (99, 149, 0, 150),
            1: (99, 99, 0, 100),
        }
        [cluster] = list_names(join(workspace, "_mirror"))
        history = join(workspace, "_mirror", cluster, cell.source_connector, "rewinds")
        [kept] = list_names(history)
        assert read_dataset(join(history, kept), REWINDS) == rows
        assert connections_in(workspace, cell.source_connector) == {
            "connect_conn_id=kafka_connect_default",
            "source_kafka_conn_id=kafka_source",
            "target_kafka_conn_id=kafka_target",
        }
        html = (read_bytes(ran.directory.report) or b"").decode()
        assert "Topic by topic" in html
        assert "200 predicted" in html


@pytest.mark.processes
def test_a_dedicated_mirror_maker_is_reset_while_it_is_down(
    sandbox: Sandbox, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused while the process runs; offsets and syncs are reset in storage, and it goes on as planned."""
    topic, count = f"dedicated-{uuid4().hex[:8]}", 20
    sandbox.source.create_topic(topic)
    sandbox.source.produce(topic, [f"{number}" for number in range(count)], partition=0)
    storage = {"offsets_topic": "mm2-offsets.source.internal", "storage_kafka_conn_id": "kafka_target"}
    monkeypatch.setenv("AIRFLOW_CONN_DEDICATED", json.dumps({"conn_type": "kafka_connect", "extra": storage}))
    requested = {
        "source_connector": "MirrorSourceConnector",
        "checkpoint_connector": "MirrorCheckpointConnector",
        "connect_conn_id": "dedicated",
        "control": "storage",
        "checkpoints": True,
    }
    maker = sandbox.mirror_maker(topic)

    def replicated() -> list[bytes | None]:
        there = f"source.{topic}" in sandbox.target.topics()
        return [record.value for record in sandbox.target.consume(f"source.{topic}")] if there else []

    def stored() -> bool:
        offsets = OffsetsTopic(sandbox.target.client_settings(), "mm2-offsets.source.internal")
        return [entry.offset for entry in offsets.read_offsets("MirrorSourceConnector")] == ['{"offset":19}']

    def syncs() -> list[tuple[int, int]]:
        records = sandbox.source.consume("mm2-offset-syncs.target.internal")
        found = [parse_sync(record.key or b"", record.value) for record in records]
        return [(one.upstream, one.downstream) for one in found if one and one.where == TopicPartition(topic, 0)]

    try:
        work = maker.process.work
        wait_for(lambda: len(replicated()), count, 60, "nothing is replicated", progress=work)
        wait_until(stored, 60, "nothing is stored", progress=work)
        wait_until(
            lambda: "source.checkpoints.internal" in sandbox.target.topics(),
            60,
            "there are no checkpoints",
            progress=work,
        )
        refused = run_dag("mirror_reset", **requested)

        assert refused.state == "failed"
        assert "Stop the connector or the process first" in refused.output

        maker.process.stop()
        with WorkerGroups(sandbox.target.client_settings()) as groups:
            wait_until(lambda: not groups.members("source-mm2"), 60, "the process is still in its group")
        ran = run_dag("mirror_reset", **requested)

        assert ran.state == "success", ran.output
        assert ran.outcome is not None
        assert "Start the process. Then MirrorMaker 2 writes new syncs" in ran.outcome.message
        assert syncs() == []
        maker.process.start()
        work = maker.process.work
        wait_for(lambda: len(replicated()), 2 * count, 60, "nothing is replicated again", progress=work)
        assert replicated()[count:] == replicated()[:count]
        wait_until(syncs, 60, "there is no new sync", progress=work)
        assert all(downstream - upstream == count for upstream, downstream in syncs())
    finally:
        maker.process.close()


@pytest.mark.mirror
def test_a_dry_run_and_the_single_step(sandbox: Sandbox, run_dag: RunDag, workspace: str) -> None:
    """A dry run plans and touches nothing; the step empties the syncs of a flow that is STOPPED, and of no other."""
    with started(sandbox) as cell:
        cell.wait_until_synced()
        cell.wait_until_running()
        before = cell.syncs(), cell.positions(), cell.states()
        dry = reset(run_dag, cell, dry_run=True)
        assert (dry.state, dry.tasks["reset.apply"], dry.tasks["reset.plan"]) == ("success", "skipped", "success")
        assert (cell.syncs(), cell.positions(), cell.states()) == before
        assert "Dry run: nothing was changed" in (read_bytes(dry.directory.report) or b"").decode()
        summary = {
            "run_uri": dry.directory.uri,
            "connector": cell.source_connector,
            "report": dry.directory.report,
        }
        subject, body = ApproveMirrorResetOperator(task_id="approve", summary=summary).question()
        assert subject == f"Reset the flow of {cell.source_connector}?"
        assert "**200** records would be duplicated on the target" in body

        clear = ClearOffsetSyncsOperator(task_id="clear", source_connector=cell.source_connector, checkpoints="False")
        context = {"ti": SimpleNamespace(dag_id="own", run_id="run", task_id="clear", map_index=-1)}
        with pytest.raises(NotStopped, match="Stop it first"):
            type(clear).execute.__wrapped__(clear, context)  # type: ignore[attr-defined]
        sandbox.connect.stop(cell.source_connector)
        put_sync(cell, "of-another-flow", 0, 5, 5)
        with pytest.raises(AirflowFailException, match=r"holds syncs of topics that .* does not replicate: of-another"):
            type(clear).execute.__wrapped__(clear, context)  # type: ignore[attr-defined]
        count = len(cell.syncs())
        clear.foreign = True
        returned = type(clear).execute.__wrapped__(clear, context)  # type: ignore[attr-defined]

        assert returned["emptied"] == {cell.flow.offset_syncs_topic: count}
        assert (cell.syncs(), cell.policies()) == ([], ["compact", "compact"])
        assert len(read_dataset(ResetDirectory(returned["kept"]).sync_records, STORED_RECORDS)) == count
        assert workspace in returned["kept"]
