"""Records of both logs, read to compare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import DatasetError, StoreError
from airflow_provider_connect_offsets.kafka.spans import Digest
from airflow_provider_connect_offsets.observe.flow import compared
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.remote_partitions import remote_partitions_of
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    RECORD_DIGESTS,
    SAMPLED_CLAIMS,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow, MadeUpLog

LETTERS = "abcdefghij"
LOG = MadeUpLog.of(*LETTERS)


class Unreadable(MadeUpCluster):
    """A cluster whose records can't be read to their end."""

    def digests(self, spans: Mapping[TopicPartition, range], *, timed: Mapping[str, bool]) -> Iterator[Digest]:
        yield next(super().digests(spans, timed=timed))
        raise StoreError("nothing came")


def read_whole(tmp_path: Path, target: MadeUpCluster) -> FailoverDirectory:
    """Read two partitions on either side, as a preview has requested."""
    made_up = MadeUpFlow(MadeUpCluster({"orders": [LOG, LOG]}), target, {("orders", 0): 9, ("orders", 1): 9})
    before, after = FailoverDirectory(f"{tmp_path.as_uri()}/1"), FailoverDirectory(f"{tmp_path.as_uri()}/2")
    names = {"topic": "orders", "target_topic": "here.orders"}
    ranges = [{**names, "kafka_partition": one, "source_from": one, "target_from": 2 * one} for one in (0, 1)]
    write_dataset(before.compare_ranges, COMPARE_RANGES, ranges)
    remote_partitions = remote_partitions_of(made_up.info(), made_up.clients, made_up.clusters, {"orders"})
    write_compared(made_up.clusters, remote_partitions, before, after)
    return after


def test_what_is_read_is_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many digests are in memory at a time; with the source's names on either side."""
    monkeypatch.setattr(compared, "_IN_MEMORY", 3)

    directory = read_whole(tmp_path, MadeUpCluster({"here.orders": [LOG, LOG]}))

    begins = {("source", 0): 0, ("source", 1): 1, ("target", 0): 0, ("target", 1): 2}
    rows: list[dict[str, Any]] = [
        {
            "side": side,
            "topic": "orders",
            "kafka_partition": number,
            "log_offset": at,
            "digest": LETTERS[at].encode(),
        }
        for (side, number), start in begins.items()
        for at in range(start, 10)
    ]
    found = read_dataset(directory.record_digests, RECORD_DIGESTS)
    assert sorted(found, key=lambda row: (row["side"], row["kafka_partition"], row["log_offset"])) == rows


def test_a_side_that_can_not_be_read_ends_the_other_one(tmp_path: Path) -> None:
    """No dataset is left behind."""
    with pytest.raises(StoreError, match="nothing came"):
        read_whole(tmp_path, Unreadable({"here.orders": [LOG, LOG]}))

    with pytest.raises(DatasetError, match="never finished"):
        read_dataset(FailoverDirectory(f"{tmp_path.as_uri()}/2").record_digests, RECORD_DIGESTS)


@pytest.mark.parametrize(
    ("config", "expected"),
    [({}, [True, False, False, None, False]), ({"transforms": "mask"}, [None] * 5)],
    ids=["unchanged", "transformed"],
)
def test_a_record_without_a_counterpart_disproves_a_claim(
    tmp_path: Path, config: dict[str, str], expected: list[bool | None]
) -> None:
    """In the other log is a transaction's marker. Where neither log has a record, nothing is known."""
    source = MadeUpLog({0: "a", 1: "b", 2: "c", 5: "d"}, end=6)
    target = MadeUpLog({0: "a", 1: "x", 3: "c", 5: "d"}, end=6)
    made_up = MadeUpFlow(
        MadeUpCluster({"orders": [source]}), MadeUpCluster({"here.orders": [target]}), {("orders", 0): 5}, config
    )
    before, after = FailoverDirectory(f"{tmp_path.as_uri()}/1"), FailoverDirectory(f"{tmp_path.as_uri()}/2")
    place = {"topic": "orders", "target_topic": "here.orders", "kafka_partition": 0}
    claims = [(0, 0), (1, 1), (2, 2), (4, 4), (3, 3)]
    rows = [{**place, "upstream": upstream, "downstream": downstream} for upstream, downstream in claims]
    write_dataset(before.sampled_claims, SAMPLED_CLAIMS, rows)
    remote_partitions = remote_partitions_of(made_up.info(), made_up.clients, made_up.clusters, {"orders"})

    write_checked_claims(made_up.clusters, remote_partitions, before, after)

    found = read_dataset(after.checked_claims, CHECKED_CLAIMS)
    same = {(row["upstream"], row["downstream"]): row["same"] for row in found}
    assert [same[claim] for claim in claims] == expected
