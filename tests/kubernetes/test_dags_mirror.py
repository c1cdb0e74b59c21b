"""MirrorMaker 2 flows that Strimzi's operator owns: a KafkaMirrorMaker2, or KafkaConnectors as Cloudera runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox
from sandbox.kubernetes import Release
from tests.support.airflow.dag_runs import Ran
from tests.support.faults.reset_cell import RECORDS, ResetCell
from tests.support.strimzi.owned import Owned, connection_to

pytestmark = pytest.mark.kubernetes
RunDag = Callable[..., Ran]
EACH_RELEASE = pytest.mark.parametrize("release", [Release.V1, Release.V1BETA2], indirect=True)
ONE_RELEASE = pytest.mark.parametrize("release", [Release.V1], indirect=True)
MIRROR_MAKER = "KafkaMirrorMaker2"


@contextmanager
def flow_of_mirror_maker(
    sandbox: Sandbox, owned: Owned, patch: pytest.MonkeyPatch, *, group_sync: str = "true"
) -> Iterator[tuple[ResetCell, str]]:
    """A flow of one KafkaMirrorMaker2, to which Airflow's connection leads, and the name of that."""
    name = f"mirror-{uuid4().hex[:6]}"
    try:
        cell = ResetCell.start(
            sandbox,
            overrides={"sync.group.offsets.enabled": group_sync},
            create=owned.mirror_maker(name),
            names=lambda mark: (
                f"s-{mark}->t-{mark}.MirrorSourceConnector",
                f"s-{mark}->t-{mark}.MirrorCheckpointConnector",
            ),
        )
        patch.setenv("AIRFLOW_CONN_KAFKA_CONNECT_DEFAULT", connection_to(owned.strimzi, f"{MIRROR_MAKER}/{name}"))
        yield cell, name
    finally:
        owned.strimzi.delete(MIRROR_MAKER, name)


@EACH_RELEASE
def test_one_connector_of_a_mirror_maker_is_changed(
    sandbox: Sandbox, owned: Owned, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records arrive again; the other connector of the resource runs on, and the resource is as it was."""
    with flow_of_mirror_maker(sandbox, owned, monkeypatch) as (cell, name):
        [topic] = cell.topics
        before = cell.replicated(topic)

        with owned.kept(name, kind=MIRROR_MAKER), owned.history(name, kind=MIRROR_MAKER) as history:
            ran = run_dag(
                connector=cell.source_connector,
                to="offset",
                value="80",
                partitions="1",
                control="strimzi",
                kafka_conn_id="kafka_source",
            )

        assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
        cell.wait_until_caught_up()
        after = cell.replicated(topic)
        assert after[0] == before[0]
        assert after[1] == [*before[1], *(f"1:{number}" for number in range(80, RECORDS))]
        assert [one for one in history.operations if one != "list"] == ["alter"]
        checkpoints = [one["spec"]["mirrors"][0]["checkpointConnector"].get("state") for one in history.versions]
        assert set(checkpoints) == {None}


@EACH_RELEASE
def test_a_flow_of_a_mirror_maker_is_reset(
    sandbox: Sandbox, owned: Owned, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both connectors are changed, one at a time: each record is replicated again, and only new copies have syncs."""
    with flow_of_mirror_maker(sandbox, owned, monkeypatch) as (cell, name):
        [topic] = cell.topics
        cell.wait_until_synced()

        with owned.kept(name, kind=MIRROR_MAKER):
            ran = run_dag("mirror_reset", control="strimzi", **cell.params)

        assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
        assert_replicated_again(cell, topic)


@ONE_RELEASE
@pytest.mark.parametrize("control", ["strimzi", "strimzi+rest"])
def test_a_flow_of_connectors_is_reset(sandbox: Sandbox, owned: Owned, run_dag: RunDag, control: str) -> None:
    """Cloudera runs MirrorMaker 2 so; with strimzi+rest only states are set in the resources."""
    cell = ResetCell.start(sandbox, create=owned.create)
    [topic] = cell.topics
    cell.wait_until_synced()

    with (
        owned.kept(cell.source_connector, cell.checkpoint_connector),
        owned.history(cell.source_connector) as history,
    ):
        ran = run_dag("mirror_reset", control=control, **cell.params)

    assert (ran.state, ran.outcome and ran.outcome.result) == ("success", Result.APPLIED), ran.output
    assert_replicated_again(cell, topic)
    assert history.states == [None, "stopped", None]
    assert bool(history.operations) == (control == "strimzi")
    owned.delete(cell.source_connector, cell.checkpoint_connector)


@ONE_RELEASE
def test_readiness_and_a_planned_failover(
    sandbox: Sandbox, owned: Owned, run_dag: RunDag, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The flow is ready; after the failover its resource has both connectors stopped, the group its exact offsets."""
    with flow_of_mirror_maker(sandbox, owned, monkeypatch, group_sync="false") as (cell, name):
        [topic] = cell.topics
        cell.commit(topic, {0: 55, 1: 42})
        cell.wait_until_synced()

        ready = run_dag("mirror_readiness", control="strimzi", groups=cell.group, **cell.params)

        assert (ready.state, set(ready.tasks.values())) == ("success", {"success"}), ready.output

        ran = run_dag("mirror_failover", control="strimzi", groups=cell.group, **cell.params)

        assert ran.state == "success", ran.output
        remote = cell.remote_partition(topic)
        assert cell.group_on_target() == {(remote, 0): 55, (remote, 1): 42}
        [mirror] = owned.strimzi.read(MIRROR_MAKER, name)["spec"]["mirrors"]
        assert [mirror[part]["state"] for part in ("sourceConnector", "checkpointConnector")] == ["stopped"] * 2
        for connector in (cell.source_connector, cell.checkpoint_connector):
            assert sandbox.connect.status(connector)["connector"]["state"] == "STOPPED"


def assert_replicated_again(cell: ResetCell, topic: str) -> None:
    """Assert that each record has exactly two copies, and that both connectors run with syncs of the second ones."""
    cell.wait_until_caught_up()
    once = {number: [f"{number}:{offset}" for offset in range(RECORDS)] for number in (0, 1)}
    assert cell.replicated(topic) == {number: values * 2 for number, values in once.items()}
    syncs = cell.syncs()
    assert {sync.where.partition for sync in syncs} == {0, 1}
    assert all(sync.downstream - sync.upstream == RECORDS for sync in syncs)
    cell.wait_until_running()
