"""What a look at a flow keeps of the records that MirrorMaker 2 has written."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

from failing_over import cluster

from airflow_provider_connect_offsets.change.flow_look import Look, write_look
from airflow_provider_connect_offsets.change.replicas import Clusters
from airflow_provider_connect_offsets.offsets.failover import FailoverRequest
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import STORED_RECORDS
from sandbox import Sandbox


def test_of_each_checkpoint_the_last_one(sandbox: Sandbox, tmp_path: Path) -> None:
    """As compaction leaves it, whether it has come by yet or not; of a key that was deleted no value."""
    flow = Flow(source_alias=f"here{uuid4().hex[:8]}")
    sandbox.target.create_topic(flow.checkpoints_topic, config={"cleanup.policy": "compact"})
    sandbox.target.produce(flow.checkpoints_topic, ["1", "2", "3", None, "4"], keys=["a", "b", "a", "b", "c"])
    request = FailoverRequest.parse(planned=False, flow=flow, groups=".*")
    directory = FailoverDirectory(tmp_path.as_uri())

    with cluster(sandbox.target) as target:
        write_look(request, Clusters(None, target), directory, Look({}, {}, []))

    found = read_dataset(directory.stored_checkpoints, STORED_RECORDS)
    assert {(row["key"], row["value"], row["log_offset"]) for row in found} == {
        (b"a", b"3", 2),
        (b"b", None, 3),
        (b"c", b"4", 4),
    }
    assert read_dataset(directory.stored_syncs, STORED_RECORDS) == []
