"""Each call of a reset, to a worker and to both clusters, is broken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import Drift, NotApplied
from airflow_provider_connect_offsets.operations.connector import stepwise
from airflow_provider_connect_offsets.operations.flow.flow_reset import (
    ResetPlan,
    read_reset,
    reset_flow,
)
from airflow_provider_connect_offsets.operations.registry import settle_of
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.layout import ResetDirectory
from sandbox import Sandbox
from tests.support.faults.faulty_clients import Fault, Faults, Outage
from tests.support.faults.matrix import Broken, GeneratedByPlan
from tests.support.faults.outages import Outages, two_workers
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.reset_cell import RECORDS, ResetCell
from tests.support.faults.rows import InOutage, PlannedRow, owner
from tests.support.flows.flow_changer import FlowChanger

pytestmark = [pytest.mark.faults, pytest.mark.long, pytest.mark.timeout(3600)]


@dataclass(frozen=True)
class Case:
    """A flow, and a plan that replicates all of it again."""

    cell: ResetCell
    flows: FlowChanger
    run: ResetDirectory
    plan: ResetPlan


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


@dataclass
class Reset(PlannedRow):
    """A reset of the flow, with journals of its own."""

    case: Case
    flows: FlowChanger
    before: int = 0
    fault: Fault | Outage | None = None

    name = "reset"
    kind = "flow"
    is_slow = True
    successors = tuple(RecoveredBy)

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[Reset]:
        case: Case = request.getfixturevalue("case")
        name, connect = case.cell.source_connector, case.cell.sandbox.connect
        yield cls(case, case.flows)
        if connect.config(name) != {"name": name, **case.cell.source_config}:
            connect.update_config(name, case.cell.source_config)

    def ready(self, turn: int) -> None:
        del turn
        self.flows = replace(self.case.flows, workspace=f"{self.case.flows.workspace}/{uuid4().hex}")
        self.before, self.fault = self.replicated(), None

    def act(self, faults: Faults, by: Owner) -> None:
        self.fault = self.fault or faults.fault
        with self.flows.clients() as clients:
            reset_flow(self.case.plan, faults.clients(clients), by, self.case.run, sync_timeout=60)

    def check(self, error: BaseException | None) -> None:
        """It may be left STOPPED, as the error says; whoever comes finishes or undoes it."""

    def is_done(self) -> bool:
        """Whether all of it was replicated again; fails on a part of it."""
        again = self.replicated() - self.before
        # A worker that dies before it has stored its offsets replicates again, as always with Connect.
        is_outage = isinstance(self.fault, Outage)
        assert again in ({0, *range(2 * RECORDS, 4 * RECORDS + 1)} if is_outage else {0, 2 * RECORDS})
        return again > 0

    def finish(self, by: Owner, error: BaseException | None, successor: RecoveredBy) -> None:
        """Another attempt makes it; what anyone else has settled stays so."""
        if successor is RecoveredBy.RETRY:
            super().finish(by, error, successor)
        elif isinstance(error, NotApplied | Drift):
            assert not self.is_done()

    def recover(self, by: Owner) -> None:
        flows = self.flows
        systems = {"url": flows.worker, "source_kafka": flows.source, "target_kafka": flows.target}
        recovering.recover(flows.workspace, self.connector, toward=Toward.BACK, run=by.run, **systems)

    def tear_down(self, by: Owner) -> None:
        with self.flows.clients() as clients:
            stepwise.undo(self.case.plan.offsets, clients, by)

    def come_next(self, by: Owner) -> None:
        with self.flows.clients() as clients:
            left = settle_of(clients, self.connector, owner())
            assert left is None or left.record.owner.run == by.run

    @property
    def connector(self) -> str:
        """The MirrorSource."""
        return self.case.plan.reset.source_connector

    def replicated(self) -> int:
        """Number of records of the remote topic once the flow has caught up and runs, with its policies as before."""
        cell = self.case.cell
        cell.wait_until_running()
        cell.wait_until_caught_up()
        assert cell.policies() == ["compact", "compact"]
        return sum(len(values) for values in cell.replicated(cell.topics[0]).values())

    def change_theirs(self) -> None:
        """Another run resets it once more."""
        self.act(Faults(), owner())

    def observed(self) -> Any:
        return self.replicated()

    def reconfigure(self, by: Owner) -> None:
        """The plan is that of all cells, whoever makes it."""
        del by
        connect, config = self.case.cell.sandbox.connect, self.case.cell.source_config
        connect.update_config(self.connector, {**config, "topics": f"{config['topics']},another"})


class ResetInOutage(InOutage, Reset):
    """A worker or a broker goes away."""

    share = len(Outage)


class TestResets(GeneratedByPlan):
    """All of it is replicated again or nothing; after a retry it is all."""

    rows = (Reset,)


class TestOutages(Broken):
    """The same where a worker or a broker goes away."""

    rows = (ResetInOutage,)
