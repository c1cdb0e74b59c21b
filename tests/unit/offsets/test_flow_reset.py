"""What of a flow is reset besides its MirrorSource's offsets."""

from __future__ import annotations

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


def test_it_is_read_as_it_was_written() -> None:
    """And has the same digest, which is another one where anything of it is another."""
    assert FlowReset.from_json(RESET.as_json()) == RESET
    others = [
        FlowReset.from_json({**RESET.as_json(), **change})
        for change in ({"checkpoints": False}, {"checkpoint_connector": None}, {"flow": Flow().as_json()})
    ]
    assert len({one.digest() for one in (RESET, *others)}) == 4


def test_what_is_emptied() -> None:
    """Syncs where the flow has them; checkpoints only where that is asked."""
    here = Flow.of({**EU_TO_US, "offset-syncs.topic.location": "target"})
    without = FlowReset(source_connector="s", checkpoint_connector=None, checkpoints=False, flow=here)

    assert RESET.emptied == (
        OwnTopic(Side.SOURCE, "mm2-offset-syncs.us.internal"),
        OwnTopic(Side.TARGET, "eu.checkpoints.internal"),
    )
    assert without.emptied == (OwnTopic(Side.TARGET, "mm2-offset-syncs.eu.internal"),)


def test_connectors_of_one_flow() -> None:
    """A MirrorSource and a MirrorCheckpoint that agree on all that names the flow's topics."""
    flow = flow_of("source", MirrorSource(), EU_TO_US)
    refuse_other_flow(flow, "check", MirrorCheckpoint(), EU_TO_US)

    with pytest.raises(InvalidInput, match=r"source_connector: 'files' is a sink, not a MirrorSourceConnector"):
        flow_of("files", Sink(), {})
    with pytest.raises(InvalidInput, match=r"'check' is not of the flow that is reset: its .* is 'asia', not 'eu'"):
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
def test_who_shares_the_syncs(config: dict[str, str], *, shared: bool) -> None:
    """Whatever topics it replicates: the name of the topic follows from aliases, separator and location."""
    assert shares_syncs(RESET.flow, config) is shared
