"""What an observation of a flow keeps of MirrorMaker 2's records."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings
from airflow_provider_connect_offsets.observe.flow.observed_groups import write_internal_records
from airflow_provider_connect_offsets.observe.flow.remote_partitions import RemotePartition
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import REWINDS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import STORED_RECORDS
from sandbox import Sandbox
from tests.support.flows.groups import cluster


def test_of_each_checkpoint_the_last_one(sandbox: Sandbox, tmp_path: Path) -> None:
    """As compaction leaves it, whether it has come by yet or not; of a key that was deleted no value."""
    flow = Flow(source_alias=f"here{uuid4().hex[:8]}")
    sandbox.target.create_topic(flow.checkpoints_topic, config={"cleanup.policy": "compact"})
    sandbox.target.produce(flow.checkpoints_topic, ["1", "2", "3", None, "4"], keys=["a", "b", "a", "b", "c"])
    request = FailoverRequest.parse(planned=False, flow=flow, groups=".*")
    directory = FailoverDirectory(tmp_path.as_uri())

    with cluster(sandbox.target) as target:
        write_internal_records(request, Clusters(None, target), directory)

    found = read_dataset(directory.stored_checkpoints, STORED_RECORDS)
    assert {(row["key"], row["value"], row["log_offset"]) for row in found} == {
        (b"a", b"3", 2),
        (b"b", None, 3),
        (b"c", b"4", 4),
    }
    assert read_dataset(directory.stored_syncs, STORED_RECORDS) == []


def test_of_what_resets_have_kept_only_what_the_records_prove(sandbox: Sandbox, tmp_path: Path) -> None:
    """Offset mappings of an earlier remote topic of the same name are left out, and those of records that are gone."""
    mark = uuid4().hex[:8]
    sandbox.source.create_topic(f"orders-{mark}")
    sandbox.target.create_topic(f"here.orders-{mark}")
    values = [f"{mark}:{number}" for number in range(10)]
    times = range(1_700_000_000_000, 1_700_000_000_010)
    sandbox.source.produce(f"orders-{mark}", values, timestamps=times)
    copied = [*range(10), *range(4, 10)]
    again = [values[number] for number in copied]
    sandbox.target.produce(f"here.orders-{mark}", again, timestamps=[times[number] for number in copied])
    where = TopicPartition(f"orders-{mark}", 0)
    remote_partition = RemotePartition(where, f"here.orders-{mark}", LogBounds(0, 10), LogBounds(0, 16))
    root = tmp_path.as_uri()
    _keep(f"{root}/first", where, (9, 9), (4, 10))
    _keep(f"{root}/second", where, (7, 3), (3, 12))
    _keep(f"{root}/third", where, (9, 15), (10, 16))

    with cluster(sandbox.source) as source, cluster(sandbox.target) as target:
        found = kept_mappings(root, Clusters(source, target), [remote_partition])

    assert [(row["upstream"], row["downstream"]) for row in found] == [(9, 9), (4, 10), (9, 15)]


def _keep(uri: str, where: TopicPartition, closing: tuple[int, int], opening: tuple[int, int]) -> None:
    row = {
        "topic": where.topic,
        "kafka_partition": where.partition,
        "closing_upstream": closing[0],
        "closing_downstream": closing[1],
        "opening_upstream": opening[0],
        "opening_downstream": opening[1],
        "written_at": datetime(2026, 1, 31, 12, tzinfo=UTC),
    }
    write_dataset(uri, REWINDS, [row])
