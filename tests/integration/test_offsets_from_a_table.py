"""A sink resumes where its own output ends, by the query of docs/use-cases/offsets-from-a-table.md."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sandbox import Sandbox, wait_for
from sandbox.connectors import file_sink_config
from tests.support.flows.flows import Changer

pytestmark = pytest.mark.jobs
PAGE = Path(__file__).parents[2] / "docs" / "use-cases" / "offsets-from-a-table.md"
WITH_OFFSETS = {
    "transforms": "hoist,insert",
    "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
    "transforms.insert.topic.field": "topic",
    "transforms.insert.partition.field": "partition",
    "transforms.insert.offset.field": "offset",
}


@pytest.fixture
def name(sandbox: Sandbox) -> Iterator[str]:
    """A connector, which is deleted."""
    name = f"landing-{uuid4().hex[:8]}"
    yield name
    if name in sandbox.connect.connectors():
        sandbox.connect.delete(name)


def test_it_resumes_where_its_output_ends(sandbox: Sandbox, target_changer: Changer, tmp_path: Path, name: str) -> None:
    """Its committed offsets are lost, as they are after offsets.retention.minutes; nothing is delivered twice."""
    directory = tmp_path / "landed"
    directory.mkdir()
    file = directory / "lines.txt"
    sandbox.target.create_topic(name, partitions=3)
    for partition, count in ((0, 5), (1, 3)):
        sandbox.target.produce(name, [str(number) for number in range(count)], partition=partition)
    sandbox.connect.create(name, file_sink_config(name, file, overrides=WITH_OFFSETS))
    wait_for(lambda: len(landed(file)), 8, 60, "it delivers nothing")
    sandbox.connect.stop(name)
    sandbox.connect.wait_state(name, "STOPPED", tasks=0)
    sandbox.connect.reset(name)
    [query] = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [table] = re.findall(r"`(CREATE TABLE [^`]*)`", PAGE.read_text())
    assert "file:///data/landed" in table
    target_changer.spark.sql(table.replace("file:///data/landed", directory.as_uri()))

    try:
        outcome = target_changer.change(name, "query", query)
    finally:
        target_changer.spark.sql("DROP TABLE landed")

    assert outcome.result == "applied"
    positions = {
        entry["partition"]["kafka_partition"]: entry["offset"]["kafka_offset"]
        for entry in sandbox.connect.offsets(name)
    }
    assert positions == {0: 5, 1: 3}
    sandbox.connect.resume(name)
    for partition in (0, 1, 2):
        sandbox.target.produce(name, ["new"], partition=partition)
    wait_for(lambda: len(landed(file)), 11, 60, "it does not go on")
    assert set(Counter(landed(file)).values()) == {1}


def landed(file: Path) -> list[tuple[str, str]]:
    """Partition and offset of each line."""
    return re.findall(r"partition=(\d+),offset=(\d+)", file.read_text()) if file.exists() else []
