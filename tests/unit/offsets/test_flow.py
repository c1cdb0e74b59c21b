"""Names in a MirrorMaker 2 flow, as its replication policies form them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.flow import Flow, Policy, Side

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
NAMES = st.text("ab.-_", min_size=1, max_size=8)


def test_defaults() -> None:
    """Aliases, separator and location are those of MirrorMaker 2 if unset."""
    flow = Flow.of({})

    assert flow == Flow(source_alias="source", target_alias="target")
    assert (flow.offset_syncs_topic, flow.checkpoints_topic) == (
        "mm2-offset-syncs.target.internal",
        "source.checkpoints.internal",
    )
    assert flow.target_topic("orders") == "source.orders"


def test_a_separator_stands_in_internal_names_too() -> None:
    """Unless that is switched off."""
    config = {"replication.policy.separator": "_", "source.cluster.alias": "eu", "target.cluster.alias": "us"}
    kept = Flow.of({**config, "replication.policy.internal.topic.separator.enabled": "false"})
    flow = Flow.of(config)

    assert flow.target_topic("orders") == kept.target_topic("orders") == "eu_orders"
    assert (flow.offset_syncs_topic, flow.checkpoints_topic) == (
        "mm2-offset-syncs_us_internal",
        "eu_checkpoints_internal",
    )
    assert (kept.offset_syncs_topic, kept.checkpoints_topic) == (
        "mm2-offset-syncs.us.internal",
        "eu.checkpoints.internal",
    )


@pytest.mark.parametrize(("text", "separator"), [("TRUE", "_"), ("False", "."), ("no", "."), (" true", ".")])
def test_a_separator_is_kept_as_java_reads_it(text: str, separator: str) -> None:
    """Only the word true is true."""
    flow = Flow.of({"replication.policy.separator": "_", "replication.policy.internal.topic.separator.enabled": text})

    assert flow.internal_separator == separator


def test_syncs_on_the_target_bear_the_sources_alias() -> None:
    """``offset-syncs.topic.location=target``."""
    flow = Flow.of({"offset-syncs.topic.location": "target", "source.cluster.alias": "eu"})

    assert (flow.syncs_on, flow.offset_syncs_topic) == (Side.TARGET, "mm2-offset-syncs.eu.internal")


def test_identity_keeps_names_except_of_heartbeats() -> None:
    """Every policy renames heartbeats."""
    flow = Flow.of({"replication.policy.class": IDENTITY})

    assert flow.policy is Policy.IDENTITY
    assert (flow.target_topic("orders"), flow.target_topic("heartbeats")) == ("orders", "source.heartbeats")
    assert (flow.source_topic("source.orders"), flow.source_topic("source.heartbeats")) == (
        "source.orders",
        "heartbeats",
    )


def test_a_topic_renamed_twice_loses_one_alias_at_a_time() -> None:
    """``a.b.topic`` on the target of a is b's ``b.topic`` of a's."""
    flow = Flow(source_alias="a", target_alias="c")

    assert flow.source_topic("a.b.topic") == "b.topic"
    assert flow.source_topic("b.topic") is None
    assert flow.source_topic("ab.topic") is None


@pytest.mark.parametrize(
    ("config", "yes", "no"),
    [
        (
            {},
            ["mm2-offset-syncs.b.internal", "mm2-configs.a.internal", "a.checkpoints.internal", "__offsets", ".hidden"],
            ["orders", "orders-internal", "payments.internal", "ordersinternal", "mm2", "a_checkpoints_internal"],
        ),
        (
            {"replication.policy.separator": "_"},
            ["mm2-offset-syncs_b_internal", "a_checkpoints_internal", "__offsets"],
            ["a.checkpoints.internal", "mm2-configs.a.internal"],
        ),
        (
            {"replication.policy.separator": "_", "replication.policy.internal.topic.separator.enabled": "false"},
            ["mm2-offset-syncs.b.internal", "a.checkpoints.internal"],
            ["a_checkpoints_internal"],
        ),
    ],
)
def test_internal_are_kafkas_topics_and_mirror_makers_own(
    config: dict[str, str], yes: list[str], no: list[str]
) -> None:
    """As in MirrorMaker 2 since Kafka 4.0; the end of a name alone makes no topic internal."""
    flow = Flow.of(config)

    assert [topic for topic in yes + no if flow.is_internal(topic)] == yes


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("replication.policy.class", "com.example.OwnPolicy"),
        ("offset-syncs.topic.location", "elsewhere"),
        ("source.cluster.alias", "${file:/secrets:alias}"),
    ],
)
def test_what_is_ambiguous_is_refused(name: str, value: str) -> None:
    """The setting is named, because a guess could lead to wrong topics."""
    with pytest.raises(InvalidInput, match=name):
        Flow.of({name: value})


@given(
    alias=NAMES, other=NAMES, separator=st.sampled_from([".", "_", "--"]), topic=NAMES, policy=st.sampled_from(Policy)
)
def test_names_lead_back(alias: str, other: str, separator: str, topic: str, policy: Policy) -> None:
    """Every remote topic leads back to its source topic, and JSON to its flow."""
    flow = Flow(source_alias=alias, target_alias=other, separator=separator, policy=policy)

    assert flow.source_topic(flow.target_topic(topic)) == topic
    assert Flow.from_json(flow.as_json()) == flow
    assert flow.reversed().reversed() == flow


def test_the_json_of_a_flow_is_that_of_earlier_versions() -> None:
    """Their datasets are read by this version."""
    flow = Flow(source_alias="a", target_alias="b", policy=Policy.IDENTITY, separator="_", syncs_on=Side.TARGET)
    written = {
        "source_alias": "a",
        "target_alias": "b",
        "policy": "identity",
        "separator": "_",
        "internal_separator": ".",
        "syncs_on": "target",
    }

    assert flow.as_json() == written
    assert Flow.from_json(written) == flow
