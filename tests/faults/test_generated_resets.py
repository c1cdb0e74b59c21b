"""Each call of a reset, to a worker and to both clusters, is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift, NotApplied
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.flow.flow_reset import (
    ResetPlan,
    read_reset,
    reset_flow,
)
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.saga import Toward, settle
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from sandbox import Sandbox
from tests.support.faults.fault_table import Ending, Note
from tests.support.faults.faulty_clients import CHANGES, Fault, Faults, Killed, Outage
from tests.support.faults.outages import Outages, two_workers
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.reset_cell import RECORDS, ResetCell
from tests.support.flows.flow_changer import FlowChanger

pytestmark = [pytest.mark.faults, pytest.mark.long, pytest.mark.timeout(3600)]
# Of all cells every sixth is run: each takes as long as a flow takes to replicate again.
EVERY = 6
FAULTS: list[Fault] = [fault for fault in Fault if fault is not Fault.THEIRS]


@dataclass(frozen=True)
class Case:
    """A flow, and a plan that replicates all of it again."""

    cell: ResetCell
    flows: FlowChanger
    run: ResetDirectory
    plan: ResetPlan

    def reset(self, clients: Clients, flows: FlowChanger, owner: Owner) -> object:
        """Make it; ``flows`` has a workspace, and so journals, of its own."""
        clients = replace(clients, workspace=flows.workspace)
        return reset_flow(self.plan, clients, owner, self.run, sync_timeout=60)

    def calls(self) -> list[str]:
        """The calls of a clean reset."""
        counted = Faults()
        with self.flows.clients() as clients:
            self.reset(counted.clients(clients), _elsewhere(self), _owner())
        assert counted.calls
        return counted.calls

    def replicated(self) -> int:
        """Number of records of the remote topic once the flow has caught up and runs, with its policies as before."""
        self.cell.wait_until_running()
        self.cell.wait_until_caught_up()
        assert self.cell.policies() == ["compact", "compact"]
        return sum(len(values) for values in self.cell.replicated(self.cell.topics[0]).values())


@pytest.fixture(scope="module")
def case(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """One flow for all cells of this module."""
    cell = ResetCell.start(sandbox)
    with ConnectRest(ConnectEndpoint((sandbox.connect.url,))) as connect:
        cluster = connect.version().kafka_cluster_id  # by which the shell finds journals
    flows = FlowChanger.on(sandbox, tmp_path_factory.mktemp("generated").as_uri(), spark)
    flows = replace(flows, cluster_id=cluster)
    run, summary = flows.plan(cell.params)
    assert summary["errors"] == []
    yield Case(cell, flows, run, read_reset(run))
    cell.close()


@pytest.fixture(scope="module")
def outages(sandbox: Sandbox, case: Case) -> Iterator[Outages]:
    """A second worker for the cells that come last."""
    del case
    with two_workers(sandbox) as opened:
        yield opened


@pytest.mark.parametrize("fault", FAULTS)
def test_broken_at_each_call(case: Case, note_generated: Note, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """All of it is replicated again or nothing; after a retry it is all."""
    calls = case.calls()
    numbers = [number for number, name in enumerate(calls) if fault is not Fault.LATE or name in CHANGES]
    moments = list(product(numbers, (False,) if fault is Fault.LATE else (False, True)))
    endings = set()
    for number, (at, after) in enumerate(moments[FAULTS.index(fault) :: EVERY]):
        faults = Faults(fault, at, after)
        with faults.files(monkeypatch):
            endings.add(_cell(case, faults, list(RecoveredBy)[number % len(RecoveredBy)]))
    for ending in sorted(endings):
        note_generated(fault, "reset", "flow", ending)


@pytest.mark.parametrize("outage", Outage)
def test_outage_at_each_change(case: Case, outages: Outages, note_generated: Note, outage: Outage) -> None:
    """The same where a worker or a broker goes away before or after a call that changes something."""
    changes = [number for number, name in enumerate(case.calls()) if name in CHANGES]
    nth, endings = list(Outage).index(outage), set()
    for number, (at, after) in enumerate(list(product(changes, (False, True)))[nth :: len(Outage)]):
        faults = Faults(outage, at, after, world=lambda: outages.begin(outage))
        successor = list(RecoveredBy)[(number + nth) % len(RecoveredBy)]
        endings.add(_cell(case, faults, successor, over=outages.wait))
    for ending in sorted(endings):
        note_generated(outage, "reset", "flow", ending)


def _cell(case: Case, faults: Faults, successor: RecoveredBy, *, over: Callable[[], None] = lambda: None) -> Ending:
    with faults.naming("reset", successor), case.flows.clients() as clients:
        return _broken(case, clients, faults, successor, over)


def _broken(case: Case, clients: Clients, faults: Faults, successor: RecoveredBy, over: Callable[[], None]) -> Ending:
    before = case.replicated()
    flows, owner, error = _elsewhere(case), _owner(), None
    try:
        case.reset(faults.clients(clients), flows, owner)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    over()
    assert faults.happened
    if successor is RecoveredBy.RETRY:
        case.reset(clients, flows, owner)
    else:
        _settle(case, clients, flows, owner, successor)
    again = case.replicated() - before
    # A worker that dies before it has stored its offsets replicates again, as always with Connect.
    assert again in (
        {0, 2 * RECORDS} if not isinstance(faults.fault, Outage) else {0, *range(2 * RECORDS, 4 * RECORDS)}
    )
    if error is None or successor is RecoveredBy.RETRY:
        assert again
        return Ending.APPLIED if error is None else Ending.NEXT
    if isinstance(error, NotApplied | Drift):
        assert not again
    return Ending.APPLIED if again else Ending.RESTORED


def _settle(case: Case, clients: Clients, flows: FlowChanger, owner: Owner, successor: RecoveredBy) -> None:
    """As the teardown of the run does, a person, or another run."""
    clients = replace(clients, workspace=flows.workspace)
    if successor is RecoveredBy.TEARDOWN:
        stepwise.undo(case.plan.offsets, clients, owner)
    elif successor is RecoveredBy.PERSON:
        systems = {"url": flows.worker, "source_kafka": flows.source, "target_kafka": flows.target}
        name = case.plan.reset.source_connector
        recovering.recover(flows.workspace, name, toward=Toward.BACK, run=owner.run, **systems)
    else:
        settle(clients.journal(case.plan.reset.source_connector), _owner(), reached(clients))


def _elsewhere(case: Case) -> FlowChanger:
    return replace(case.flows, workspace=f"{case.flows.workspace}/{uuid4().hex}")


def _owner() -> Owner:
    return Owner.here(run=f"test/{uuid4().hex}", task="apply")
