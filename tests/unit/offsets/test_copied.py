"""Offsets of a copied connector: its source partitions are named by its own settings."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.offsets.copied import copy_offsets, stale_setting
from airflow_provider_connect_offsets.offsets.document import Entry, JsonMap, Offsets
from airflow_provider_connect_offsets.offsets.families import FAMILIES

DEBEZIUM = {"connector.class": "io.debezium.connector.mysql.MySqlConnector", "topic.prefix": "shop"}
MIRROR = {"source.cluster.alias": "a", "target.cluster.alias": "b"}


@pytest.mark.parametrize(
    ("family", "before", "config", "partition", "expected"),
    [
        ("mirror_source", MIRROR, {"source.cluster.alias": "c"}, {"cluster": "a", "topic": "t", "partition": 0}, "c"),
        ("mirror_source", MIRROR, {}, {"cluster": "a", "topic": "t", "partition": 0}, "a"),
        ("mirror_source", {}, {"source.cluster.alias": "c"}, {"cluster": "source", "topic": "t", "partition": 0}, "c"),
        ("generic_source", DEBEZIUM, {"topic.prefix": "shop2"}, {"server": "shop"}, "shop2"),
        ("generic_source", DEBEZIUM, {"topic.prefix": "shop2"}, {"server": "other"}, "other"),
        ("debezium_mongodb", DEBEZIUM, {"topic.prefix": "shop2"}, {"server_id": "shop", "rs": "r"}, "shop2"),
        ("generic_source", DEBEZIUM, {"topic.prefix": "${file:/a:b}"}, {"server": "shop"}, "shop"),
        ("generic_source", {**DEBEZIUM, "connector.class": "x"}, {"topic.prefix": "y"}, {"server": "shop"}, "shop"),
    ],
)
def test_a_source_partition_is_named_by_the_copys_settings(
    family: str, before: dict[str, str], config: dict[str, str], partition: JsonMap, expected: str
) -> None:
    """The family has to know how; here the first field comes from a setting."""
    field = next(iter(partition))

    found = FAMILIES[family].under(partition, {**before, **config}, before=before)

    assert found == {**partition, field: expected}


def test_both_aliases_of_a_heartbeat() -> None:
    """Either may change."""
    partition = {"sourceClusterAlias": "a", "targetClusterAlias": "b"}

    found = FAMILIES["mirror_heartbeat"].under(partition, {**MIRROR, "target.cluster.alias": "c"}, before=MIRROR)

    assert found == {"sourceClusterAlias": "a", "targetClusterAlias": "c"}


def test_offsets_of_topics_that_it_does_not_read_are_left_out() -> None:
    """If the topics are known; offsets that are not stored are none to copy."""
    entries = [
        Entry.of({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 5} if stored else None)
        for topic, stored in (("orders", True), ("bills", True), ("none", False))
    ]
    sink = FAMILIES["sink"]

    some = copy_offsets(Offsets.of(entries), sink, {}, before={}, reads=lambda topic: topic == "orders")
    every = copy_offsets(Offsets.of(entries), sink, {}, before={}, reads=None)

    assert some == Offsets.of(entries[:1])
    assert every == Offsets.of(sorted(entries[:2]))


@pytest.mark.parametrize(
    ("changed", "partition", "setting"),
    [
        ({"database": "new"}, {"db": "orders"}, "database"),
        ({"database": None}, {"db": "orders"}, "database"),
        ({"database": "new"}, {"db": "other"}, None),
        ({"tasks.max": "2"}, {"protocol": "1"}, None),
        ({"bucket": "b2"}, {"bucket": "b1"}, None),
        ({}, {"db": "orders"}, None),
    ],
)
def test_a_changed_setting_whose_value_a_partition_still_has(
    changed: dict[str, str | None], partition: JsonMap, setting: str | None
) -> None:
    """It is named, unless it is short or a number, which may be equal by chance."""
    before = {"database": "orders", "tasks.max": "1", "bucket": "b1"}
    config = {name: value for name, value in {**before, **changed}.items() if value is not None}

    assert stale_setting(partition, config, before=before) == setting
