"""What of a flow is reset other than its MirrorSource's offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.families import MirrorCheckpoint, MirrorSource, Sink
from airflow_provider_connect_offsets.offsets.flow import Flow, Side
from airflow_provider_connect_offsets.offsets.requests.flow_reset import (
    FlowReset,
    OwnTopic,
    flow_of,
    refuse_other_flow,
    shares_syncs,
)

EU_TO_US = {"source.cluster.alias": "eu", "target.cluster.alias": "us"}
RESET = FlowReset(
    source_connector="source", checkpoint_connector="check", checkpoints=True, flow=Flow.of(EU_TO_US), sharing=("a",)
)


def test_a_reset_is_written_and_read() -> None:
    """The keys and values of its JSON are fixed, so plans of earlier versions can be read."""
    assert RESET.as_json() == {
        "source_connector": "source",
        "checkpoint_connector": "check",
        "checkpoints": True,
        "flow": RESET.flow.as_json(),
        "sharing": ["a"],
    }
    without = {name: value for name, value in RESET.as_json().items() if name != "sharing"}
    assert FlowReset.from_json(without) == replace(RESET, sharing=())


def test_a_reset_that_differs_in_any_field_has_another_digest() -> None:
    """A reset that was written and read has the same one."""
    assert FlowReset.from_json(RESET.as_json()) == RESET
    others = [
        FlowReset.from_json({**RESET.as_json(), **change})
        for change in ({"checkpoints": False}, {"checkpoint_connector": None}, {"flow": Flow().as_json()})
    ]
    assert len({one.digest() for one in (RESET, *others)}) == 4
    assert FlowReset.from_json(RESET.as_json()).digest() == RESET.digest()


def test_emptied_topics() -> None:
    """Syncs on the cluster that the flow has them on; checkpoints only if requested."""
    on_target = Flow.of({**EU_TO_US, "offset-syncs.topic.location": "target"})
    without = FlowReset(source_connector="s", checkpoint_connector=None, checkpoints=False, flow=on_target)

    assert RESET.emptied_topics == (
        OwnTopic(Side.SOURCE, "mm2-offset-syncs.us.internal"),
        OwnTopic(Side.TARGET, "eu.checkpoints.internal"),
    )
    assert without.emptied_topics == (OwnTopic(Side.TARGET, "mm2-offset-syncs.eu.internal"),)


def test_connectors_of_one_flow() -> None:
    """A MirrorSource and a MirrorCheckpoint that agree on everything that the names of internal topics depend on."""
    flow = flow_of("source", MirrorSource(), EU_TO_US)
    refuse_other_flow(flow, "check", MirrorCheckpoint(), EU_TO_US)

    with pytest.raises(InvalidInput, match=r"source_connector: 'files' is a sink, not a MirrorSourceConnector"):
        flow_of("files", Sink(), {})
    with pytest.raises(
        InvalidInput, match=r"'check' does not belong to the flow that is reset: its .* is 'asia', not 'eu'"
    ):
        refuse_other_flow(flow, "check", MirrorCheckpoint(), {**EU_TO_US, "source.cluster.alias": "asia"})
    with pytest.raises(InvalidInput, match=r"its offset-syncs topic is 'mm2-offset-syncs\.eu\.internal on the target'"):
        refuse_other_flow(flow, "check", MirrorCheckpoint(), {**EU_TO_US, "offset-syncs.topic.location": "target"})
    with pytest.raises(InvalidInput, match=r"Nothing was read or changed\. 'source': source\.cluster\.alias is"):
        flow_of("source", MirrorSource(), {"source.cluster.alias": "${file:aliases:eu}"})


@pytest.mark.parametrize(
    ("config", "shared"),
    [
        (EU_TO_US, True),
        ({**EU_TO_US, "topics": "others"}, True),
        ({**EU_TO_US, "offset-syncs.topic.location": "target"}, False),
        ({**EU_TO_US, "source.cluster.alias": "asia"}, False),
        ({**EU_TO_US, "replication.policy.class": "com.example.Own"}, False),
    ],
)
def test_connectors_that_share_offset_syncs(config: dict[str, str], *, shared: bool) -> None:
    """Their topics don't matter: the name of the syncs topic depends on aliases, separator and location."""
    assert shares_syncs(RESET.flow, config) is shared
