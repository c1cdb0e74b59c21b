"""``connect-offsets recover`` lists and settles what a dead run has left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.flows.flows import RECORDS, Changer, SinkFlow, world
from tests.support.programs.shell import Shell, shell

DEAD = Owner.here(run="dag/dead", task="begin")


@pytest.fixture(name="run")
def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return shell(monkeypatch, capsys)


@pytest.fixture(name="changer")
def _changer(target_changer: Changer) -> Changer:
    """As Airflow's tasks, which get the id of the Kafka cluster from the worker."""
    with target_changer.clients() as clients:
        assert isinstance(clients.control, ConnectRest)
        return replace(target_changer, cluster=clients.control.version().kafka_cluster_id)


def leave(sink: SinkFlow, changer: Changer, *, read_back: bool) -> None:
    """What single steps leave if no further task of their run comes: leased, STOPPED, on the plan's offsets."""
    directory, _summary = changer.plan(sink.name, "offset", "7")
    plan, journal = read_plan(directory), changer.journal(sink.name)
    with changer.clients() as opened:
        clients = replace(opened, connections={"connect_conn_id": "orders", "kafka_conn_id": "eu"})
        stepwise.begin(plan, clients, DEAD, seconds=3600)
        sink.sandbox.connect.stop(sink.name)
        stepwise.alter(plan, clients, DEAD, seconds=3600)
        if read_back:
            stepwise.read_back(journal.resource, clients, DEAD, seconds=3600)
    assert sink.position() == 7


@pytest.mark.parametrize("read_back", [False, True])
def test_it_is_undone(sink: SinkFlow, changer: Changer, run: Shell, *, read_back: bool) -> None:
    """Prior offsets and state are restored; the lease's run has to be named, as it might still be alive."""
    before = world(sink.sandbox)
    leave(sink, changer, read_back=read_back)
    workspace, kafka = ("--workspace", changer.workspace), ("--kafka", sink.sandbox.target.bootstrap)
    requested = (sink.name, *workspace, "--url", sink.sandbox.connect.url, *kafka)

    listed = run("recover", "--list", *workspace)
    refused = run("recover", *requested)
    done = run("recover", *requested, "--run", "dag/dead")

    assert listed.code == 0
    assert listed.out.startswith(f"{sink.name}: the change of offsets by run dag/dead (task begin, ")
    assert f"begun: stop_connector {sink.name}, alter_offsets {sink.name}" in listed.out
    assert listed.out.endswith("; by the connections connect_conn_id=orders, kafka_conn_id=eu\n")
    assert (refused.code, "being changed by run 'dag/dead' (task begin)" in refused.err) == (1, True)
    assert (
        done.code,
        "the prior offsets were read back, and the connector is RUNNING again." in done.err,
    ) == (
        0,
        True,
    )
    sink.wait_until_caught_up()
    assert world(sink.sandbox) == before
    assert "Nothing is unfinished" in run("recover", "--list", *workspace).err
    assert f"There is nothing to recover for connector '{sink.name}'" in run("recover", *requested).err


def test_it_is_finished(sink: SinkFlow, changer: Changer, run: Shell) -> None:
    """It is finished only if everything that was written is read back."""
    written = len(sink.lines())
    leave(sink, changer, read_back=False)
    places = ("--workspace", changer.workspace, "--url", sink.sandbox.connect.url)

    done = run("recover", sink.name, *places, "--run", "dag/dead", "--forward")

    assert (done.code, "was applied and read back; the connector is RUNNING again." in done.err) == (0, True)
    sink.wait_until_caught_up()
    assert sink.lines()[written:] == [str(number) for number in range(7, RECORDS)]
