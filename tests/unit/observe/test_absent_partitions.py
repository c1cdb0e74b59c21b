"""Partitions that the connector replicates and the target lacks: they are observed, and are no success."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from airflow_provider_connect_offsets.exceptions import NotDrained
from airflow_provider_connect_offsets.kafka.cluster import KafkaCluster
from airflow_provider_connect_offsets.observe.clusters import Clusters
from airflow_provider_connect_offsets.observe.flow.compared import write_checked_claims, write_compared
from airflow_provider_connect_offsets.observe.flow.failback import HomeEvidence, observe_failback
from airflow_provider_connect_offsets.observe.flow.failover import refuse_undrained
from airflow_provider_connect_offsets.observe.flow.kept_mappings import kept_mappings
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    RemotePartition,
    remote_partitions_of,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchor
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import (
    CHECKED_CLAIMS,
    COMPARE_RANGES,
    MIRROR_PARTITIONS,
    RECORD_DIGESTS,
    REWINDS,
    SAMPLED_CLAIMS,
)
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow, MadeUpLog

EMPTY, THREE = MadeUpLog.of(), MadeUpLog.of("a", "b", "c")
ADDED = TopicPartition("orders", 1)


def flow(
    added: MadeUpLog,
    config: Mapping[str, str] | None = None,
    *,
    on_target: dict[str, list[MadeUpLog]] | None = None,
    stored: int | None = None,
) -> MadeUpFlow:
    """Topic ``orders``, whose partition 0 is replicated, and whose partition 1 is only at the source."""
    source = MadeUpCluster({"orders": [THREE, added]})
    target = MadeUpCluster({"here.orders": [THREE]} if on_target is None else on_target)
    offsets = {("orders", 0): 2} | ({} if stored is None else {("orders", 1): stored})
    return MadeUpFlow(source, target, offsets, config or {})


def observed(made_up: MadeUpFlow) -> dict[int, RemotePartition]:
    """The remote partitions that a planned failover observes, by partition."""
    found = remote_partitions_of(made_up.info(), made_up.clients, made_up.clusters, {"orders"})
    return {one.where.partition: one for one in anchor(made_up.clusters, found)}


def test_a_partition_that_the_remote_topic_lacks_is_observed() -> None:
    """Its row has no log start and end offset on the target, and it is not drained."""
    found = observed(flow(THREE))

    assert (found[0].drained, found[0].ends_with_stored) == (True, True)
    assert (found[1].on_target, found[1].target, found[1].drained) == (TopicPartition("here.orders", 1), None, False)
    row = found[1].row(None)
    assert (row["target_topic"], row["kafka_partition"]) == ("here.orders", 1)
    assert (row["source_start"], row["source_end"], row["target_start"], row["target_end"]) == (0, 3, None, None)
    assert (row["ends_with_stored"], row["origin_upstream"], row["source_from"]) == (None, None, None)
    assert {column.name for column in MIRROR_PARTITIONS.columns if row[column.name] is None} <= {
        column.name for column in MIRROR_PARTITIONS.columns if column.nullable
    }


def test_all_partitions_of_a_topic_without_a_remote_topic_are_observed() -> None:
    """Whatever offset the connector has stored: the target has no copy of their records."""
    found = observed(flow(THREE, on_target={}, stored=2))

    assert {number: (one.target, one.stored, one.drained) for number, one in found.items()} == {
        0: (None, 2, False),
        1: (None, 2, False),
    }


@pytest.mark.parametrize(
    ("added", "drained"),
    [
        (EMPTY, True),
        (MadeUpLog.of(start=7), True),  # all that it ever held is deleted
        (MadeUpLog({}, end=2), True),  # a transaction's markers
        (MadeUpLog.of("c", start=2), False),
    ],
)
def test_where_no_record_is_left_there_is_nothing_to_replicate(
    added: MadeUpLog,
    drained: bool,  # noqa: FBT001 - a column
) -> None:
    """From the log start on, even if the connector would begin at the log end."""
    latest = {"source.consumer.auto.offset.reset": "latest"}

    assert observed(flow(added))[1].drained is drained
    assert observed(flow(added, latest))[1].drained is drained


@pytest.mark.parametrize("config", [{"topics": "payments"}, {"topics.exclude": "orders"}])
def test_what_the_connector_does_not_replicate_is_left_out(config: dict[str, str]) -> None:
    """Only partition 0 stays: it has an offset, so it was replicated before."""
    assert set(observed(flow(THREE, config))) == {0}


def test_records_that_the_target_lacks_refuse_a_planned_failover() -> None:
    """The error names topic and partition. An empty partition does not block the failover."""
    made_up = flow(THREE)
    refuse_undrained(observed(flow(EMPTY)).values())

    with pytest.raises(
        NotDrained,
        match=r"partition 1 ends at 3 and the target topic 'here\.orders' does not have this partition yet .*refresh",
    ):
        refuse_undrained(observed(made_up).values())


def test_no_record_of_it_is_compared(tmp_path: Path) -> None:
    """Whatever an earlier translation or a reset has claimed of it."""
    made_up = flow(EMPTY)
    before, after = FailoverDirectory(f"{tmp_path.as_uri()}/1"), FailoverDirectory(f"{tmp_path.as_uri()}/2")
    place = {"topic": "orders", "target_topic": "here.orders", "kafka_partition": 1}
    write_dataset(before.compare_ranges, COMPARE_RANGES, [{**place, "source_from": 0, "target_from": 0}])
    write_dataset(before.sampled_claims, SAMPLED_CLAIMS, [{**place, "upstream": 0, "downstream": 0}])
    kept = {"topic": "orders", "kafka_partition": 1, "closing_upstream": 0, "closing_downstream": 0}
    opening = {"opening_upstream": None, "opening_downstream": 1, "written_at": datetime(2026, 1, 31, tzinfo=UTC)}
    write_dataset(f"{tmp_path.as_uri()}/kept/1", REWINDS, [{**kept, **opening}])
    remote_partitions = observed(made_up).values()

    assert write_compared(made_up.clusters, remote_partitions, before, after) == {}
    assert kept_mappings(f"{tmp_path.as_uri()}/kept", made_up.clusters, remote_partitions) == []
    write_checked_claims(made_up.clusters, remote_partitions, before, after)

    assert read_dataset(after.record_digests, RECORD_DIGESTS) == []
    assert [row["same"] for row in read_dataset(after.checked_claims, CHECKED_CLAIMS)] == [None]


def test_a_failback_does_not_wait_for_it() -> None:
    """No group was in a partition that is at home only."""
    made_up = flow(THREE)
    back = Clusters(made_up.clusters.target, cast("KafkaCluster", made_up.clusters.source))
    forward = Flow.of(made_up.info().config)
    request = FailoverRequest.parse(
        planned=True, flow=forward.opposite(), groups=".*", forward=forward, forward_connector="mirror"
    )

    found = observe_failback(request, made_up.clients, back, {"here.orders"}, [], evidence=HomeEvidence())

    assert [(one.where.partition, one.ends_with_stored) for one in found.forward] == [(0, True)]
    assert [(row["kafka_partition"], row["forward_end"]) for row in found.rows()] == [(0, 3)]
