"""``connector_offsets_change`` of connectors that Strimzi's operator owns, with the rights of our Role only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox, wait_for
from sandbox.kubernetes import Release
from tests.support.airflow.dag_runs import Ran
from tests.support.flows.flows import RECORDS, MirrorFlow, SinkFlow
from tests.support.strimzi.owned import Owned

pytestmark = pytest.mark.kubernetes
RunDag = Callable[..., Ran]
EACH_RELEASE = pytest.mark.parametrize("release", [Release.V1, Release.V1BETA2], indirect=True)
ONE_RELEASE = pytest.mark.parametrize("release", [Release.V1], indirect=True)


@pytest.fixture
def mirror(sandbox: Sandbox, owned: Owned) -> Iterator[MirrorFlow]:
    """A MirrorSource as a KafkaConnector, as MirrorMaker 2 runs with Cloudera's operator."""
    flow = MirrorFlow.start(sandbox, create=owned.create)
    yield flow
    owned.delete(flow.name)


@pytest.fixture
def sink(sandbox: Sandbox, owned: Owned) -> Iterator[SinkFlow]:
    flow = SinkFlow.start(sandbox, create=owned.create)
    yield flow
    owned.delete(flow.name)


@EACH_RELEASE
def test_a_mirror_source_resumes_where_requested(mirror: MirrorFlow, owned: Owned, run_dag: RunDag) -> None:
    """The task stops, lists, alters and lists; only partition 0 is replicated again, the resource is unchanged."""
    for to, value, again in (("offset", "70", RECORDS - 70), ("shift", "-10", 10), ("earliest", "", RECORDS)):
        before = mirror.target_ends()

        with owned.kept(mirror.name), owned.history(mirror.name) as history:
            ran = run_dag(
                connector=mirror.name,
                to=to,
                value=value,
                partitions="0",
                control="strimzi",
                kafka_conn_id="kafka_source",
            )

        assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
        assert ran.outcome is not None
        assert ran.outcome.final_state == "RUNNING"
        mirror.wait_until_caught_up()
        assert mirror.target_ends() == {0: before[0] + again, 1: before[1]}
        assert history.states == [None, "stopped", None]
        assert [one for one in history.operations if one != "list"] == ["alter"]


@ONE_RELEASE
def test_a_sink_delivers_again(sink: SinkFlow, owned: Owned, run_dag: RunDag) -> None:
    """The offsets of its consumer group are changed by its resource."""
    with owned.kept(sink.name):
        ran = run_dag(connector=sink.name, to="offset", value="90", control="strimzi")

    assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
    sink.wait_until_caught_up()
    assert sink.lines()[RECORDS:] == [str(number) for number in range(90, RECORDS)]


@ONE_RELEASE
@pytest.mark.parametrize("state", ["paused", "stopped"])
def test_what_did_not_run_does_not_run_afterwards(sink: SinkFlow, owned: Owned, run_dag: RunDag, state: str) -> None:
    """The position is changed, and the state that the resource requested is requested again."""
    owned.set_state(sink.name, state)

    with owned.kept(sink.name):
        ran = run_dag(connector=sink.name, to="offset", value="40", control="strimzi")

    assert (ran.state, ran.outcome and ran.outcome.final_state) == ("success", state.upper()), ran.output
    assert sink.sandbox.connect.status(sink.name)["connector"]["state"] == state.upper()
    assert sink.position() == 40
    assert len(sink.lines()) == RECORDS
    owned.set_state(sink.name, "running")
    wait_for(sink.position, RECORDS, 60, "it does not read again", progress=sink.sandbox.connect.work)


@EACH_RELEASE
def test_states_by_the_resource_and_offsets_by_rest(mirror: MirrorFlow, owned: Owned, run_dag: RunDag) -> None:
    """Cloudera's procedure: the resource gets a state and no annotation for offsets; everything is replicated again."""
    before = mirror.target_ends()

    with owned.kept(mirror.name), owned.history(mirror.name) as history:
        ran = run_dag(
            connector=mirror.name, to="offset", value="60", control="strimzi+rest", kafka_conn_id="kafka_source"
        )

    assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
    mirror.wait_until_caught_up()
    assert mirror.target_ends() == {number: end + RECORDS - 60 for number, end in before.items()}
    assert history.states == [None, "stopped", None]
    assert history.operations == []
