"""The observation of each partition of a flow, on made-up clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.observe.flow.compared import write_compared
from airflow_provider_connect_offsets.observe.flow.observed_groups import GroupsOfFlow, write_observation
from airflow_provider_connect_offsets.observe.flow.remote_partitions import (
    ReadFrom,
    RemotePartition,
    remote_partitions_of,
    remote_partitions_without_source,
)
from airflow_provider_connect_offsets.observe.flow.single_records import anchor
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.flow import Flow, Policy
from airflow_provider_connect_offsets.offsets.mappings.bisecting import OffsetMapping
from airflow_provider_connect_offsets.offsets.requests.failover import FailoverRequest
from airflow_provider_connect_offsets.workspace.datasets import read_dataset, write_dataset
from airflow_provider_connect_offsets.workspace.flow_schemas import COMPARE_RANGES, MIRROR_PARTITIONS
from airflow_provider_connect_offsets.workspace.layout import FailoverDirectory
from tests.support.rows.made_up_cluster import MadeUpCluster, MadeUpFlow, MadeUpLog

HERE, THERE = "orders", "here.orders"
WHERE = TopicPartition(HERE, 0)


def flow(
    source: MadeUpLog, target: MadeUpLog, *, stored: int | None = None, **settings: Mapping[str, str]
) -> MadeUpFlow:
    """A topic with one partition; ``settings``: of ``source_topic``, ``target_topic`` and ``connector``."""
    return MadeUpFlow(
        MadeUpCluster({HERE: [source]}, {HERE: settings.get("source_topic", {})}),
        MadeUpCluster({THERE: [target]}, {THERE: settings.get("target_topic", {})}),
        {} if stored is None else {(HERE, 0): stored},
        settings.get("connector", {}),
    )


def observed(made_up: MadeUpFlow) -> list[RemotePartition]:
    """The remote partitions that a planned failover observes."""
    return anchor(made_up.clusters, remote_partitions_of(made_up.info(), made_up.clients, made_up.clusters, {HERE}))


THREE = MadeUpLog.of("a", "b", "c")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


@pytest.mark.parametrize(
    ("source", "target", "stored", "expected"),
    [
        (THREE, THREE, 2, True),
        (THREE, MadeUpLog.of("a", "b", "c", "somebody else's"), 2, False),
        (THREE, MadeUpLog({0: "a", 1: "b", 2: "c"}, end=4), 2, True),  # behind it is a transaction's marker
        (MadeUpLog.of("a", "b", "c", "d"), THREE, 2, None),  # not drained
        (MadeUpLog.of(start=3), THREE, 2, None),  # the record is deleted
        (MadeUpLog.of(), THREE, None, None),
        (THREE, MadeUpLog.of(start=3), 2, None),
    ],
)
def test_whether_the_remote_topic_ends_with_the_record_that_is_stored(
    source: MadeUpLog,
    target: MadeUpLog,
    stored: int | None,
    expected: bool | None,  # noqa: FBT001 - a column
) -> None:
    """Null if the two records were not compared; ``gapless`` does not matter."""
    [one] = observed(flow(source, target, stored=stored))

    assert (one.ends_with_stored, one.gapless) == (expected, True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (True, False, True)),
        ({"source_topic": {"cleanup.policy": "compact"}}, (False, False, True)),
        ({"target_topic": {"cleanup.policy": "compact,delete"}}, (False, False, True)),
        ({"connector": {"transforms": "mask"}}, (True, True, True)),
        ({"connector": {"transforms": " "}}, (True, False, True)),
        ({"connector": {"value.converter": "org.apache.kafka.connect.json.JsonConverter"}}, (True, True, True)),
        ({"connector": {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}}, (True, True, True)),
        ({"connector": {"key.converter": BYTES, "value.converter": BYTES}}, (True, False, True)),
        ({"target_topic": {"message.timestamp.type": "LogAppendTime"}}, (True, False, False)),
        ({"source_topic": {"message.timestamp.type": "LogAppendTime"}}, (True, False, True)),
    ],
)
def test_compaction_transformations_and_timestamps_are_kept_apart(
    settings: dict[str, dict[str, str]], expected: tuple[bool, bool, bool]
) -> None:
    """Columns ``gapless``, ``transformed`` and ``timed``: each kind of evidence needs other ones."""
    [one] = observed(flow(THREE, THREE, stored=2, **settings))

    assert (one.gapless, one.transformed, one.timed) == expected


def test_without_a_source_the_remote_topic_is_observed() -> None:
    """Nothing is known of the connector's transformations then."""
    target = MadeUpCluster(
        {THERE: [THREE]}, {THERE: {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}}
    )

    [one] = remote_partitions_without_source(Flow(source_alias="here"), MadeUpFlow(target, target).clusters.target)

    assert (one.where, one.source, one.ends_with_stored) == (WHERE, None, None)
    assert (one.gapless, one.transformed, one.timed) == (False, False, False)


@pytest.mark.parametrize("policy", Policy)
def test_without_a_source_no_topic_is_left_out_for_the_end_of_its_name(policy: Policy) -> None:
    """MirrorMaker 2 replicates topics that end with ``internal``; only its own and Kafka's are left out."""
    flow = Flow(source_alias="here", policy=policy)
    names = {"orders", "orders-internal", "ordersinternal", "payments.internal"}
    never = {"here.checkpoints.internal", "mm2-offset-syncs.here.internal", "__hidden", flow.target_topic("__hidden")}
    target = MadeUpCluster({name: [THREE] for name in {*map(flow.target_topic, names), *never}})

    found = remote_partitions_without_source(flow, MadeUpFlow(target, target).clusters.target)

    assert {one.where.topic for one in found} == names


def test_rows_name_from_where_on_both_logs_were_read(tmp_path: Path) -> None:
    """No further back than either log reaches; null if nothing was read."""
    made_up = flow(MadeUpLog.of("b", "c", start=1), THREE, stored=2)
    before, after = FailoverDirectory(f"{tmp_path.as_uri()}/1"), FailoverDirectory(f"{tmp_path.as_uri()}/2")
    place = {"topic": HERE, "target_topic": THERE, "kafka_partition": 0}
    write_dataset(before.compare_ranges, COMPARE_RANGES, [{**place, "source_from": 0, "target_from": 1}])
    remote_partitions = observed(made_up)

    read_from = write_compared(made_up.clusters, remote_partitions, before, after)

    assert read_from == {WHERE: ReadFrom(source=1, target=1)}
    assert written(made_up, after, GroupsOfFlow({}, {}, remote_partitions, read_from)) == [
        {
            **place,
            "source_start": 1,
            "source_end": 3,
            "stored": 2,
            "drained": True,
            "target_start": 0,
            "target_end": 3,
            "origin_upstream": None,
            "origin_downstream": None,
            "ends_with_stored": True,
            "target_last": 2,
            "gapless": True,
            "transformed": False,
            "timed": True,
            "contradicted_upstream": None,
            "contradicted_downstream": None,
            "source_from": 1,
            "target_from": 1,
        }
    ]
    [unread] = written(made_up, after, GroupsOfFlow({}, {}, remote_partitions))
    assert (unread["source_from"], unread["target_from"]) == (None, None)


def written(made_up: MadeUpFlow, directory: FailoverDirectory, look: GroupsOfFlow) -> list[dict[str, Any]]:
    """Rows of the dataset ``mirror_partitions``."""
    request = FailoverRequest.parse(
        planned=True, flow=Flow.of(made_up.info().config), groups=".*", source_connector="mirror"
    )
    write_observation(request, directory, look)
    return read_dataset(directory.mirror_partitions, MIRROR_PARTITIONS)


def test_an_offset_sync_whose_records_differ_is_named() -> None:
    """The newest such sync is named; records that a transformation has changed prove nothing."""
    source, target = MadeUpLog.of("a", "b", "c", "d"), MadeUpLog.of("x", "b", "y", "d")
    syncs = {WHERE: [OffsetMapping(at, at) for at in range(4)]}

    def contradicted(**settings: dict[str, str]) -> OffsetMapping | None:
        made_up = flow(source, target, stored=3, **settings)
        found = remote_partitions_of(made_up.info(), made_up.clients, made_up.clusters, {HERE})
        return anchor(made_up.clusters, found, syncs)[0].contradicted

    assert contradicted() == OffsetMapping(2, 2)
    assert contradicted(connector={"transforms": "mask"}) is None
