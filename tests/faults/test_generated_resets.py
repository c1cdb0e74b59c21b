"""The same for resets of flows: each call that one makes, to a worker and to both clusters, is broken in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from uuid import uuid4

import pytest
from fault_table import Ending, Note
from faulty_doors import Fault, Faults, Killed
from flow_changer import FlowChanger
from pyspark.sql import SparkSession
from reset_cell import RECORDS, ResetCell
from successors import Successor

from airflow_provider_connect_offsets.change import recovery
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.flow_reset import ResetPlan, read_reset, reset_flow, take_back_reset
from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift, NotApplied
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.stores.connect import ConnectRest
from airflow_provider_connect_offsets.stores.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from sandbox import Sandbox

pytestmark = [pytest.mark.faults, pytest.mark.long]
# Of all cells every sixth is run: each takes as long as a flow takes to replicate again.
EVERY = 6


@dataclass(frozen=True)
class Case:
    """A flow, and a plan that replicates all of it again."""

    cell: ResetCell
    flows: FlowChanger
    run: ResetDirectory
    plan: ResetPlan

    def reset(self, doors: Doors, flows: FlowChanger, owner: Owner) -> object:
        """Make it; ``flows`` has a workspace, and so journals, of its own."""
        return reset_flow(self.plan, doors, flows.held(self.plan.reset), owner, self.run, sync_patience=60)

    def replicated(self) -> int:
        """How many records the replica has, once the flow has caught up and runs, with the policies that it had."""
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


@pytest.mark.parametrize("fault", Fault)
def test_broken_at_each_call(case: Case, note_generated: Note, monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    """All of it is replicated again or nothing; after a retry it is all."""
    with case.flows.doors() as doors:
        counted = Faults()
        case.reset(counted.doors(doors), _elsewhere(case), _owner())
        moments = list(product(range(len(counted.calls)), (False, True)))[list(Fault).index(fault) :: EVERY]
        endings = set()
        for number, (at, after) in enumerate(moments):
            successor, faults = list(Successor)[number % len(Successor)], Faults(fault, at, after)
            try:
                with faults.journals(monkeypatch):
                    endings.add(_cell(case, doors, faults, successor))
            except BaseException as error:
                when = "after" if after else "before"
                error.add_note(f"reset, {fault} {when} call {at} ({successor}); the calls: {faults.calls}")
                raise
    for ending in sorted(endings):
        note_generated(fault, "reset", "flow", ending)


def _cell(case: Case, doors: Doors, faults: Faults, successor: Successor) -> Ending:
    before = case.replicated()
    flows, owner, error = _elsewhere(case), _owner(), None
    try:
        case.reset(faults.doors(doors), flows, owner)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    faults.mend()
    if successor is Successor.RETRY:
        case.reset(doors, flows, owner)
    elif successor is Successor.TEARDOWN:
        take_back_reset(case.plan, doors, flows.held(case.plan.reset), owner)
    elif successor is Successor.PERSON:
        systems = recovering.Systems(flows.worker, source=flows.source, target=flows.target)
        name = case.plan.reset.source_connector
        recovering.recover(flows.workspace, name, systems, toward=Toward.BACK, run=owner.run)
    else:
        held = flows.held(case.plan.reset)
        with held.journal.claim(_owner(), beside=held.locks) as entry:
            recovery.recover(entry, Toward.FORWARD, doors)
    again = case.replicated() - before
    assert again in {0, 2 * RECORDS}
    if error is None or successor is Successor.RETRY:
        assert again
        return Ending.APPLIED if error is None else Ending.NEXT
    if isinstance(error, NotApplied | Drift):
        assert not again
    return Ending.APPLIED if again else Ending.RESTORED


def _elsewhere(case: Case) -> FlowChanger:
    return replace(case.flows, workspace=f"{case.flows.workspace}/{uuid4().hex}")


def _owner() -> Owner:
    return Owner.here(run=f"test/{uuid4().hex}", task="apply")
