"""Connectors of a worker that has left in order: UNASSIGNED, whatever their target state."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.operations.connector import stopped
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.registry import make_registry
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets
from airflow_provider_connect_offsets.saga import continue_saga
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox, wait_until
from sandbox.connectors import file_sink_config
from sandbox.worker import ConnectWorker
from tests.support.flows.flows import Changer

pytestmark = pytest.mark.processes
# For so long the group waits for a worker that has gone, before others get its connectors.
DELAY_MS = "10000"
RECORDS = 60


@pytest.fixture(scope="module")
def own() -> Iterator[Sandbox]:
    with Sandbox(worker_properties={"scheduled.rebalance.max.delay.ms": DELAY_MS}) as sandbox:
        yield sandbox


@pytest.fixture
def changer(own: Sandbox, spark: SparkSession, workspace: str) -> Changer:
    return Changer(spark, workspace, own.connect.url, own.target)


@pytest.fixture
def second(own: Sandbox) -> Iterator[ConnectWorker]:
    """One more worker; tests stop it."""
    worker = own.add_worker()
    yield worker
    if worker.process.is_alive:
        worker.process.stop()


def paused_sink_of(worker: ConnectWorker, own: Sandbox) -> str:
    """A PAUSED sink that ``worker`` runs, and that has delivered no record of its topic."""
    address = worker.url.removeprefix("http://")

    def assigned() -> str | None:
        for name in names:
            if own.connect.status(name)["connector"]["worker_id"] == address:
                return name
        return None

    names = []
    for _ in range(4):
        name = f"sink-{uuid4().hex[:8]}"
        own.target.create_topic(name)
        own.target.produce(name, [str(number) for number in range(RECORDS)])
        own.connect.create(name, file_sink_config(name, own.data / f"{name}.txt"), initial_state="PAUSED")
        own.connect.wait_state(name, "PAUSED")
        names.append(name)
    late = f"none of {names} was given to {address}"
    found: str = wait_until(assigned, 60, late, progress=own.connect.work) or ""
    return found


def leave(worker: ConnectWorker, own: Sandbox, connector: str) -> None:
    """Let the worker go away in order, which leaves its connector UNASSIGNED for a while."""
    worker.process.stop()

    def unassigned() -> bool:
        return bool(own.connect.status(connector)["connector"]["state"] == "UNASSIGNED")

    wait_until(unassigned, 60, f"{connector} is not UNASSIGNED", progress=own.connect.work)


def test_it_gets_back_the_state_that_it_is_meant_to_have(own: Sandbox, second: ConnectWorker, changer: Changer) -> None:
    """PAUSED, and nothing is delivered before someone resumes it."""
    sink = paused_sink_of(second, own)
    run, _summary = changer.plan(sink, "offset", "7")
    leave(second, own, sink)

    outcome = changer.apply(run)

    assert (outcome.result, outcome.prior_state, outcome.final_state) == (Result.APPLIED, "PAUSED", "PAUSED")
    own.connect.wait_state(sink, "PAUSED")
    assert not (own.data / f"{sink}.txt").exists()


def test_it_is_not_taken_for_resumed_by_someone(own: Sandbox, second: ConnectWorker, changer: Changer) -> None:
    """The prior state is restored all the same after a dead run: the worker went away while the sink was STOPPED."""
    sink = paused_sink_of(second, own)
    run, _summary = changer.plan(sink, "offset", "7")
    plan, dead = read_plan(run), Owner.here(run="dag/dead", task="begin")
    with changer.clients() as clients:
        stopped.stop_for_run([(clients, sink)], dead, seconds=60)
        with continue_saga(changer.journal(sink), dead, make_registry(clients), seconds=60) as executor:
            alter = AlterOffsets(sink, clients, plan)
            executor.add([alter])
            executor.announce(alter)
        leave(second, own, sink)

        sentence = stopped.restore([(clients, sink)], Owner.here(run="dag/dead", task="release"))
        assert sentence
        assert "the prior offsets were read back, and the connector is PAUSED again" in sentence
        own.connect.wait_state(sink, "PAUSED")

        applied = apply_plan(plan, clients, Owner.here(run="dag/next", task="apply"))
    assert (applied.result, applied.final_state) == (Result.APPLIED, "PAUSED")
