"""A running flow is observed: MirrorMaker 2's records are within the observed logs."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from airflow_provider_connect_offsets.kafka.logs import LogBounds
from airflow_provider_connect_offsets.kafka.topic_reader import TopicRecord
from airflow_provider_connect_offsets.observe.flow.failover import observe_failover
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import MIRROR_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from airflow_provider_connect_offsets.workspace.schemas import STORED_RECORDS
from tests.support.rows.made_up_cluster import MadeUpFlow, MadeUpLog, WithReader

SYNCS = "mm2-offset-syncs.there.internal"


class Busy(WithReader):
    """A cluster with one group; each time its topic or its syncs are read, a record and its sync are added."""

    reads = 0

    def topics(self) -> dict[str, int]:
        return {**super().topics(), SYNCS: 1}

    def bounds(self, partitions: Iterable[TopicPartition], **more: Any) -> dict[TopicPartition, LogBounds]:
        self._replicate()
        return super().bounds(partitions, **more)

    @contextmanager
    def topic(self, _name: str) -> Iterator[Busy]:
        """What ``kafka.topic_reader.TopicReader`` reads of the topic of syncs."""
        self.reads += 1
        self._replicate()
        yield self

    def records(self) -> Iterator[TopicRecord]:
        """A sync of the last record."""
        key = struct.pack(">h", 6) + b"orders" + struct.pack(">i", 0)
        last = len(self.topics_held["orders"][0].records) - 1
        yield TopicRecord(0, last, 0, key, struct.pack(">qq", last, last))

    def _replicate(self) -> None:
        for log in self.topics_held.get("orders", []):
            records = cast("dict[int, str]", log.records)
            records[len(records)] = "next"


def test_no_sync_is_of_a_record_beyond_the_log_end(tmp_path: Path) -> None:
    """It would be taken for a sync of an earlier topic, and so would all before it."""
    source, target = Busy({"orders": [MadeUpLog({0: "a"})]}), Busy({"here.orders": [MadeUpLog({0: "a"})]})
    made_up = MadeUpFlow(source, target, {("orders", 0): 0})
    request = FailoverRequest.parse(
        planned=True, flow=Flow.of(made_up.info().config), groups=".*", source_connector="mirror"
    )
    directory = FailoverDirectory(tmp_path.as_uri())

    observe_failover(request, replace(made_up.clients, clusters=made_up.clusters), directory)

    [sync] = read_dataset(directory.stored_syncs, STORED_RECORDS)
    [partition] = read_dataset(directory.mirror_partitions, MIRROR_PARTITIONS)
    assert struct.unpack(">qq", sync["value"])[0] < partition["source_end"]
    assert source.reads == 1  # or the search of single records would go by others
