"""Names in a MirrorMaker 2 flow, as its replication policies form them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.flow import Flow, Policy, Side
from tests.support.programs.java_program import ask_java

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
    """The setting is ``offset-syncs.topic.location=target``."""
    flow = Flow.of({"offset-syncs.topic.location": "target", "source.cluster.alias": "eu"})

    assert (flow.syncs_on, flow.offset_syncs_topic) == (Side.TARGET, "mm2-offset-syncs.eu.internal")


def test_identity_keeps_names_except_of_heartbeats() -> None:
    """Every policy renames heartbeats."""
    flow = Flow.of({"replication.policy.class": IDENTITY})

    assert flow.policy is Policy.IDENTITY
    assert (flow.target_topic("orders"), flow.target_topic("heartbeats")) == ("orders", "source.heartbeats")
    assert flow.target_topic("app-heartbeats") == "source.app-heartbeats"
    assert flow.source_topic("source.app-heartbeats") == "app-heartbeats"
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
    """MirrorMaker 2 does the same since Kafka 4.0; the end of a name alone makes no topic internal."""
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
    assert flow.opposite().opposite() == flow


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


POLICIES = """
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.node.*;
import java.io.File;
import java.util.*;
import org.apache.kafka.connect.mirror.*;

public class Program {
    public static void main(String[] files) throws Exception {
        ObjectMapper json = new ObjectMapper();
        ArrayNode answers = json.createArrayNode();
        for (JsonNode asked : json.readTree(new File(files[0]))) {
            Map<String, String> config = json.convertValue(asked.get("config"), Map.class);
            String policyClass = config.getOrDefault("replication.policy.class", "DefaultReplicationPolicy");
            ReplicationPolicy policy = policyClass.endsWith("IdentityReplicationPolicy")
                ? new IdentityReplicationPolicy() : new DefaultReplicationPolicy();
            ((org.apache.kafka.common.Configurable) policy).configure(config);
            String alias = asked.get("alias").asText();
            ObjectNode answer = answers.addObject();
            answer.put("syncs", policy.offsetSyncsTopic(asked.get("other").asText()));
            answer.put("checkpoints", policy.checkpointsTopic(alias));
            ArrayNode topics = answer.putArray("topics");
            for (JsonNode topic : asked.get("topics")) {
                String remote = policy.formatRemoteTopic(alias, topic.asText());
                boolean ours = alias.equals(policy.topicSource(remote));
                topics.addObject().put("remote", remote).put("internal", policy.isInternalTopic(topic.asText()))
                    .put("back", ours ? policy.upstreamTopic(remote) : null);
            }
        }
        System.out.println(answers);
    }
}
"""


def test_kafkas_own_policies_name_topics_alike(tmp_path: Path) -> None:
    """The settings are random. Some are empty, which is not the same as not set."""
    rng = Random(36)
    asked: list[dict[str, Any]] = []
    for _ in range(300):
        config = {
            "replication.policy.class": rng.choice(
                [IDENTITY, "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"]
            ),
            "replication.policy.separator": rng.choice(["", ".", "_", "--", " ", "a"]),
            "replication.policy.internal.topic.separator.enabled": rng.choice(["true", "false", "", "TRUE", "yes"]),
            "source.cluster.alias": "eu",
            "target.cluster.alias": "us",
        }
        unset = rng.sample(list(config), rng.randint(0, 3))
        config = {name: value for name, value in config.items() if name not in unset or name.endswith("alias")}
        pieces = ["orders", "heartbeats", "eu", "us", ".", "_", "-", "mm2", "internal", "checkpoints", "a", "__x"]
        topics = ["".join(rng.choices(pieces, k=rng.randint(1, 4))) for _ in range(6)]
        asked.append({"config": config, "alias": "eu", "other": "us", "topics": topics})

    answers = ask_java(POLICIES, tmp_path, asked)

    for question, answer in zip(asked, answers, strict=True):
        flow = Flow.of(question["config"])
        assert (flow.offset_syncs_topic, flow.checkpoints_topic) == (answer["syncs"], answer["checkpoints"]), question
        for topic, said in zip(question["topics"], answer["topics"], strict=True):
            remote = flow.target_topic(topic)
            assert remote == said["remote"], (question, topic)
            assert flow.is_internal(topic) == said["internal"], (question, topic)
            if flow.separator and flow.separator != "a" and said["back"] is not None:
                assert flow.source_topic(remote) == said["back"] == topic, (question, topic)
