"""Families: the meaning of an offset, the offset for a position, and the findings on an offset."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidRequest
from airflow_provider_connect_offsets.offsets.advice import mirrored_groups
from airflow_provider_connect_offsets.offsets.document import JsonMap
from airflow_provider_connect_offsets.offsets.families import (
    FAMILIES,
    MAX_INT,
    ConnectorType,
    Family,
    FileStreamSource,
    MirrorCheckpoint,
    MirrorHeartbeat,
    MirrorSource,
    OffsetReset,
    Sink,
    TopicPartition,
    family_of,
)
from airflow_provider_connect_offsets.offsets.family import MAX_OFFSET
from airflow_provider_connect_offsets.offsets.replay import refuse_unbounded

CONFIG = {"source.cluster.alias": "north", "target.cluster.alias": "south", "file": "/in"}
POSITIONS = st.integers(0, MAX_OFFSET)
PLACES = st.builds(TopicPartition, st.text(min_size=1), st.integers(0, MAX_INT))
NORTH_0: JsonMap = {"cluster": "north", "topic": "orders", "partition": 0}
ORDERS_0: JsonMap = {"kafka_topic": "orders", "kafka_partition": 0}


def rules(family: Family, partition: JsonMap, offset: JsonMap | None, config: dict[str, str] = CONFIG) -> list[str]:
    """Return the names of the rules that a family finds broken."""
    return [finding.rule.value for finding in family.check(partition, offset, config)]


@pytest.mark.parametrize("family", [Sink(), MirrorSource()])
@given(position=POSITIONS, where=PLACES)
def test_what_is_stored_for_a_position_means_that_position(
    family: Family, position: int, where: TopicPartition
) -> None:
    """The conversion is reversible, and a family has no finding on its own offsets."""
    offset, partition = family.offset_at(position), family.partition_of(where, CONFIG)
    assert partition is not None

    assert family.topic_partition(partition) == where
    assert list(family.check(partition, offset, CONFIG)) == []
    if offset is not None:
        assert family.position(offset) == position


def test_a_mirror_source_stores_the_record_before() -> None:
    """For 0 nothing is stored; else the offset is one less than the position."""
    assert MirrorSource().offset_at(0) is None
    assert MirrorSource().offset_at(1) == {"offset": 0}
    assert MirrorSource().position({"offset": 0}) == 1
    assert MirrorSource().position(None) is None


@pytest.mark.parametrize("offset", [None, {}, {"kafka_offset": "5"}, {"kafka_offset": True}, {"kafka_offset": 1.5}])
def test_no_position_in_what_is_no_offset(offset: JsonMap | None) -> None:
    """An unreadable offset has no position; whether it is wrong is checked elsewhere."""
    assert Sink().position(offset) is None


@pytest.mark.parametrize("family", [Family(), MirrorCheckpoint(), MirrorHeartbeat(), FileStreamSource()])
def test_families_without_positions(family: Family) -> None:
    """They give a reason and return no offset."""
    assert not family.has_positions
    assert family.position({"offset": 5, "position": 5}) is None
    assert family.why_no_position
    assert family.without_offset
    assert family.partition_of(TopicPartition("orders", 0), CONFIG) is None
    with pytest.raises(NotImplementedError, match=family.why_no_position):
        family.offset_at(1)


@pytest.mark.parametrize(
    ("family", "partition", "offset", "broken"),
    [
        (Sink(), ORDERS_0, {"kafka_offset": 0}, []),
        (Sink(), ORDERS_0, None, []),
        (Sink(), {"kafka_topic": "orders"}, None, ["wrong_keys"]),
        (Sink(), {**ORDERS_0, "x": 1}, None, ["wrong_keys"]),
        (Sink(), {}, {}, ["wrong_keys", "wrong_keys"]),
        (Sink(), {**ORDERS_0, "kafka_topic": 7}, None, ["wrong_type"]),
        (Sink(), {**ORDERS_0, "kafka_topic": ""}, None, ["wrong_type"]),
        (Sink(), {**ORDERS_0, "kafka_topic": None}, None, ["wrong_type"]),
        (Sink(), {**ORDERS_0, "kafka_partition": "0"}, None, ["wrong_type"]),
        (Sink(), {**ORDERS_0, "kafka_partition": True}, None, ["wrong_type"]),
        (Sink(), {**ORDERS_0, "kafka_partition": MAX_INT}, None, []),
        (Sink(), {**ORDERS_0, "kafka_partition": MAX_INT + 1}, None, ["wrong_type"]),
        (Sink(), {**ORDERS_0, "kafka_partition": -1}, None, ["negative"]),
        (Sink(), ORDERS_0, {"kafka_offset": None}, ["wrong_type"]),
        (Sink(), ORDERS_0, {"kafka_offset": 1.0}, ["wrong_type"]),
        (Sink(), ORDERS_0, {"kafka_offset": MAX_OFFSET + 1}, ["wrong_type"]),
        (Sink(), ORDERS_0, {"kafka_offset": -1}, ["negative"]),
        (Sink(), ORDERS_0, {"offset": 1}, ["wrong_keys"]),
        (MirrorSource(), NORTH_0, {"offset": 5}, []),
        (MirrorSource(), NORTH_0, {"offset": "5"}, ["wrong_type"]),
        (MirrorSource(), {**NORTH_0, "cluster": "nroth"}, None, ["foreign_alias"]),
        (MirrorSource(), {"topic": "orders", "partition": 0}, {"offset": 5}, ["wrong_keys"]),
        (MirrorCheckpoint(), {"group": "g", "topic": "orders", "partition": 0}, {"offset": 0}, []),
        (MirrorCheckpoint(), {"group": "g", "topic": "orders", "partition": 0}, {"offset": 1}, ["only_zero"]),
        (MirrorCheckpoint(), {"group": "g", "topic": "orders", "partition": 0}, {"offset": -1}, ["negative"]),
        (MirrorHeartbeat(), {"sourceClusterAlias": "north", "targetClusterAlias": "south"}, {"offset": 0}, []),
        (
            MirrorHeartbeat(),
            {"sourceClusterAlias": "south", "targetClusterAlias": "north"},
            {"offset": 1},
            ["foreign_alias", "foreign_alias", "only_zero"],
        ),
        (FileStreamSource(), {"filename": "/in"}, {"position": 9}, []),
        (FileStreamSource(), {"filename": "/out"}, {"position": 9}, ["not_consumed"]),
        (Family(), {"anything": 1.5}, {"goes": None}, []),
    ],
)
def test_checks(family: Family, partition: JsonMap, offset: JsonMap | None, broken: list[str]) -> None:
    """Wrong keys, types, signs and aliases are found."""
    assert rules(family, partition, offset) == broken


def test_aliases_that_are_not_configured_have_names_of_their_own() -> None:
    """MirrorMaker 2's defaults are ``source`` and ``target``."""
    assert rules(MirrorSource(), {**NORTH_0, "cluster": "source"}, None, {}) == []
    assert MirrorSource().partition_of(TopicPartition("t", 3), {}) == {
        "cluster": "source",
        "topic": "t",
        "partition": 3,
    }


def test_a_file_stream_source_without_a_file_takes_nothing() -> None:
    """It reads standard input, which has no offsets."""
    assert rules(FileStreamSource(), {"filename": "/in"}, None, {}) == ["wrong_keys"]


def consumes(family: Family, config: dict[str, str], topic: str) -> bool:
    """Whether the patterns for Java, which mean the same to Python here, select a topic."""
    read, excluded = family.consumed_topics(config), family.excluded_topics(config)
    return bool(read and re.fullmatch(read, topic)) and not (excluded and re.fullmatch(excluded, topic))


@pytest.mark.parametrize(
    ("config", "yes", "no"),
    [
        ({"topics": "a.b, c"}, ["a.b", "c"], ["axb", "ab", " c", "a.b,c", "c2"]),
        ({"topics.regex": "or.*"}, ["orders", "or"], ["xor", "o"]),
        ({"topics": "a", "topics.regex": "b"}, ["b"], ["a"]),
    ],
)
def test_topics_of_a_sink(config: dict[str, str], yes: list[str], no: list[str]) -> None:
    """A list of names, which are no patterns, or a pattern that matches whole names."""
    assert [topic for topic in yes + no if consumes(Sink(), config, topic)] == yes


@pytest.mark.parametrize(
    ("config", "yes", "no"),
    [
        ({}, ["orders", "heartbeats"], ["__offsets", "mm2-configs.x.internal", "x-internal", "a.replica", ".hidden"]),
        (
            {"replication.policy.separator": "_"},
            ["orders", "checkpoints_internal", "mm2_internals"],
            ["mm2-offset-syncs_b_internal", "a_checkpoints_internal"],
        ),
        (
            {"replication.policy.separator": "_", "replication.policy.internal.topic.separator.enabled": "false"},
            ["a_checkpoints_internal"],
            ["a.checkpoints.internal"],
        ),
        ({"topics": "or.*,c"}, ["orders", "c", "heartbeats", "b.heartbeats"], ["xor", "cc"]),
        ({"topics": "or.*", "heartbeats.replication.enabled": "false"}, ["orders"], ["heartbeats", "b.heartbeats"]),
        ({"topics": "or.*", "heartbeats.replication.enabled": " False"}, ["orders"], ["heartbeats", "b.heartbeats"]),
        ({"topics": "or.*", "heartbeats.replication.enabled": "${env:ON}"}, ["orders", "heartbeats"], ["b"]),
        ({"topics.exclude": "secret.*"}, ["orders", "a.replica"], ["secrets", "x.internal"]),
        ({"target.cluster.alias": "b.c"}, ["b", "bxc.orders"], ["b.c.orders", "a.b.c.orders"]),
        ({"target.cluster.alias": "b", "replication.policy.separator": "-"}, ["b.orders"], ["b-orders", "a-b-orders"]),
        (
            {
                "target.cluster.alias": "b",
                "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
            },
            ["b.orders"],
            ["__x"],
        ),
    ],
)
def test_topics_of_a_mirror_source(config: dict[str, str], yes: list[str], no: list[str]) -> None:
    """Lists of patterns, less what MirrorMaker 2 never replicates."""
    assert [topic for topic in yes + no if consumes(MirrorSource(), config, topic)] == yes


@pytest.mark.parametrize(
    ("family", "config"),
    [
        (Sink(), {}),
        (Sink(), {"topics": "${file:/run/topics:names}"}),
        (Sink(), {"topics.regex": "${env:TOPICS}"}),
        (MirrorSource(), {"topics": "${env:TOPICS}"}),
        (MirrorSource(), {"topic.filter.class": "com.example.Filter"}),
        (Family(), {"topics": "orders"}),
    ],
)
def test_topics_that_the_configuration_hides(family: Family, config: dict[str, str]) -> None:
    """Only workers resolve config providers, and a custom filter is code."""
    assert family.consumed_topics(config) is None


@pytest.mark.parametrize(
    ("family", "config", "reset"),
    [
        (Sink(), {}, OffsetReset.EARLIEST),
        (Sink(), {"consumer.override.auto.offset.reset": "LATEST"}, OffsetReset.LATEST),
        (Sink(), {"consumer.override.auto.offset.reset": "none"}, OffsetReset.NONE),
        (Sink(), {"consumer.override.auto.offset.reset": "by_duration:P1D"}, OffsetReset.BY_DURATION),
        (Sink(), {"consumer.override.auto.offset.reset": "nonsense"}, OffsetReset.EARLIEST),
        (Sink(), {"consumer.override.auto.offset.reset": "${env:RESET}"}, OffsetReset.UNKNOWN),
        (MirrorSource(), {}, OffsetReset.EARLIEST),
        (MirrorSource(), {"consumer.auto.offset.reset": "latest"}, OffsetReset.LATEST),
        (
            MirrorSource(),
            {"consumer.auto.offset.reset": "latest", "source.consumer.auto.offset.reset": "earliest"},
            OffsetReset.EARLIEST,
        ),
        (FileStreamSource(), {"consumer.override.auto.offset.reset": "latest"}, OffsetReset.EARLIEST),
    ],
)
def test_where_a_consumer_starts_without_an_offset(family: Family, config: dict[str, str], reset: OffsetReset) -> None:
    """Connect and MirrorMaker 2 start at the beginning unless configured otherwise."""
    assert family.offset_reset(config) is reset


MIRROR, FILE = "org.apache.kafka.connect.mirror", "org.apache.kafka.connect.file"


@pytest.mark.parametrize(
    ("connector_type", "java_class", "name"),
    [
        (ConnectorType.SINK, "com.example.AnySink", "sink"),
        (ConnectorType.SINK, f"{MIRROR}.MirrorSourceConnector", "sink"),
        (ConnectorType.SOURCE, f"{MIRROR}.MirrorSourceConnector", "mirror_source"),
        (ConnectorType.SOURCE, "MirrorSourceConnector", "mirror_source"),
        (ConnectorType.SOURCE, "MirrorSource", "mirror_source"),
        (ConnectorType.SOURCE, "MirrorCheckpoint", "mirror_checkpoint"),
        (ConnectorType.SOURCE, f"{MIRROR}.MirrorHeartbeatConnector", "mirror_heartbeat"),
        (ConnectorType.SOURCE, "FileStreamSource", "file_stream_source"),
        (ConnectorType.SOURCE, f"{FILE}.FileStreamSourceConnector", "file_stream_source"),
        (ConnectorType.SOURCE, f"{FILE}.MirrorSourceConnector", "generic_source"),
        (ConnectorType.SOURCE, "com.example.MirrorSourceConnector", "generic_source"),
        (ConnectorType.SOURCE, "Tide", "generic_source"),
    ],
)
def test_family_of(connector_type: ConnectorType, java_class: str, name: str) -> None:
    """A class name or its alias leads to the family; a class of another package has no special family."""
    assert family_of(connector_type, java_class) is FAMILIES[name]


def test_a_class_that_only_ends_like_the_default_is_another_one() -> None:
    """Which topics a filter of one's own lets pass, or how a policy of one's own names them, is unknown."""
    own = {"topic.filter.class": "com.acme.NoDefaultTopicFilter", "topics": "orders"}
    apache = {"topic.filter.class": "org.apache.kafka.connect.mirror.DefaultTopicFilter", "topics": "orders"}

    assert MirrorSource().consumed_topics(own) is None
    assert "orders" in (MirrorSource().consumed_topics(apache) or "")
    with pytest.raises(InvalidRequest, match="chooses its topics by topic"):
        refuse_unbounded("flow", MirrorSource(), own)
    assert mirrored_groups({"group.filter.class": "com.acme.NoDefaultGroupFilter"}) is None
