"""Operations on a sink that are broken at one call, and the states allowed afterwards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import Drift, NotApplied, Overlap
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.registry import settle_of
from airflow_provider_connect_offsets.saga import Toward
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox, wait_until
from sandbox.connect import Connect
from tests.support.faults.faulty_clients import Fault, Faults, Outage
from tests.support.faults.recovered_by import RecoveredBy
from tests.support.faults.rows import PlannedRow, Row, owner
from tests.support.flows.flows import RECORDS, Changer, SinkFlow
from tests.support.flows.sink_operations import (
    Operation,
    Order,
    Requested,
    change,
    keep_stopped,
    run_elsewhere,
    single_steps,
    write,
)

SET_TO = 7
AGAIN = RECORDS - SET_TO


@dataclass
class SinkCase:
    """A sink, and a plan that rewinds it; prepared again for each cell."""

    flow: SinkFlow
    changer: Changer
    plan: OffsetPlan
    written: int = 0

    @classmethod
    @contextmanager
    def started(cls, sandbox: Sandbox, spark: SparkSession, folder: Path, *, timeout: float) -> Iterator[SinkCase]:
        """Create the sink and the plan."""
        flow = SinkFlow.start(sandbox)
        with ConnectRest(ConnectEndpoint((sandbox.connect.url,))) as connect:
            cluster = connect.version().kafka_cluster_id  # by which the shell finds journals
        workers = tuple(worker.url for worker in sandbox.workers)
        changer = Changer(spark, folder.as_uri(), workers[0], sandbox.target, cluster, timeout, workers[1:])
        run, summary = changer.plan(flow.name, "offset", str(SET_TO))
        assert summary["errors"] == []
        yield cls(flow, changer, read_plan(run))
        sandbox.connect.delete(flow.name)

    @property
    def requested(self) -> Requested:
        """The input of an operation."""
        where = f'{{"kafka_partition":0,"kafka_topic":"{self.flow.topic}"}}'
        return Requested(self.plan, Offsets.of([Entry(where, f'{{"kafka_offset":{SET_TO}}}')]))

    def prepare(self, state: State) -> None:
        """Set the position from which the plan was made, and that state."""
        connect, name = self.connect, self.flow.name
        connect.stop(name)
        self.set_position(RECORDS)
        self.written = len(self.flow.lines())
        if state is State.RUNNING:
            connect.resume(name)
            connect.wait_state(name, "RUNNING", tasks=1)
        elif state is State.PAUSED:
            connect.pause(name)
            connect.wait_state(name, "PAUSED")

    def set_position(self, position: int) -> None:
        """Set the position of the sink, which is STOPPED, as another user would."""
        where = {"kafka_topic": self.flow.topic, "kafka_partition": 0}
        self.connect.alter(self.flow.name, [{"partition": where, "offset": {"kafka_offset": position}}])

    @property
    def connect(self) -> Connect:
        """The worker."""
        return self.flow.sandbox.connect

    def resume(self) -> None:
        """Resume the sink as another user would."""
        self.flow.sandbox.connect.resume(self.flow.name)

    def is_applied(self, states: frozenset[State], *, most: int = AGAIN) -> bool:
        """Whether the plan is applied; fails on neither the plan's nor the prior offsets, and on another state.

        ``most``: records that may be delivered again where it does.
        """
        state = self._state_of(states)
        if state is State.RUNNING:
            self.flow.wait_until_caught_up()
            again = len(self.flow.lines()) - self.written
            assert again == 0 or AGAIN <= again <= most
            return again > 0
        position = self.flow.position()
        assert position in {SET_TO, RECORDS}
        return position == SET_TO

    def _state_of(self, states: frozenset[State]) -> State:
        """The state in which the sink settles, one of ``states``; RUNNING with its task."""

        def found() -> str:
            status = self.flow.sandbox.connect.status(self.flow.name)
            state = State(status["connector"]["state"])
            tasks = [task["state"] for task in status["tasks"]]
            is_whole = state is not State.RUNNING or tasks == ["RUNNING"]
            return state.value if state in states and is_whole else ""

        work = self.flow.sandbox.connect.work
        late = f"{self.flow.name} is in none of the states {sorted(states)}"
        return State(wait_until(found, 60, late, progress=work))


@dataclass
class SinkRow(Row):
    """An operation on one sink for all cells of a module (fixture ``case``), in each prior state."""

    case: SinkCase
    changer: Changer
    state: State = State.STOPPED
    fault: Fault | Outage | None = None

    share = 10
    faults = tuple(Fault)
    successors = tuple(RecoveredBy)
    states: ClassVar[tuple[State, ...]] = (State.STOPPED, State.PAUSED, State.RUNNING)
    moves: ClassVar[bool] = True

    @classmethod
    @contextmanager
    def opened(cls, request: pytest.FixtureRequest) -> Iterator[SinkRow]:
        case: SinkCase = request.getfixturevalue("case")
        config = case.connect.config(case.flow.name)
        yield cls(case, case.changer)
        if case.connect.config(case.flow.name) != config:
            case.connect.update_config(case.flow.name, config)

    @property
    @abstractmethod
    def operation(self) -> Operation:
        """What is done; another process has to know it by its name."""

    def ready(self, turn: int) -> None:
        self.state, self.fault = self.states[(turn // len(self.successors)) % len(self.states)], None
        self.changer = replace(self.case.changer, workspace=f"{self.case.changer.workspace}/{uuid4().hex}")
        self.case.prepare(self.state)

    def act(self, faults: Faults, by: Owner) -> None:
        self.fault = self.fault or faults.fault
        if faults.fault is Outage.BROKER_KILLED:
            self.act_elsewhere(faults, by)
        else:
            with self.changer.clients() as clients:
                self.operation(self.case.requested, faults.clients(clients), by)

    def act_elsewhere(self, faults: Faults, by: Owner) -> None:
        """In a process of its own: librdkafka ends it where a broker dies while groups are described (docs/seen.md)."""

        def world() -> None:
            faults.happened = True
            faults.world()

        order = Order(self.operation, self.case.requested, self.changer.address, by.run, faults.at)
        run_elsewhere(order, after=faults.after, world=world)

    def check(self, error: BaseException | None) -> None:
        """It may be left STOPPED, as the error says; whoever comes brings it into its state."""

    def is_done(self) -> bool:
        theirs = {State.RUNNING} if self.fault is Fault.THEIRS else set()
        # A sink whose worker dies before it has committed delivers again, as always with Connect.
        most = 2 * AGAIN if isinstance(self.fault, Outage) else AGAIN
        applied = self.case.is_applied(frozenset({self.state, *theirs}), most=most)
        assert not (applied and not self.moves)
        return applied or not self.moves

    def finish(self, by: Owner, error: BaseException | None, successor: RecoveredBy) -> None:
        """Another attempt makes it; what anyone else has settled stays so."""
        if successor is RecoveredBy.RETRY:
            super().finish(by, error, successor)
        elif self.fault is not Fault.THEIRS:
            done = self.is_done()
            assert done or error is not None
            assert not (done and self.moves and isinstance(error, NotApplied | Drift))

    def recover(self, by: Owner) -> None:
        systems = {"url": self.changer.worker, "kafka": self.changer.kafka.bootstrap}
        workspace, name = self.changer.workspace, self.case.flow.name
        recovering.recover(workspace, name, toward=Toward.BACK, run=by.run, **systems)

    def tear_down(self, by: Owner) -> None:
        with self.changer.clients() as clients:
            settle_of(clients, self.case.flow.name, by, run=by.run)

    def come_next(self, by: Owner) -> None:
        """Refused as long as the connector is leased; then the run's teardown comes."""
        with self.changer.clients() as clients:
            try:
                settle_of(clients, self.case.flow.name, owner())
            except Overlap:
                settle_of(clients, self.case.flow.name, by, run=by.run)

    def world(self, fault: Fault | Outage) -> None:
        assert fault is Fault.THEIRS
        self.case.resume()

    def change_theirs(self) -> None:
        self.case.set_position(3)

    def observed(self) -> Any:
        return self.case.flow.position(), self.case.connect.status(self.case.flow.name)["connector"]["state"]


class ChangeOfSink(SinkRow, PlannedRow):
    """A change by a plan."""

    name = "change"

    @property
    def operation(self) -> Operation:
        return change

    def reconfigure(self, by: Owner) -> None:
        """The plan is that of all cells, whoever makes it."""
        del by
        config = self.case.connect.config(self.case.flow.name)
        self.case.connect.update_config(self.case.flow.name, {**config, "topics": "another"})


class WriteOfSink(SinkRow):
    """Offsets that are written without a plan."""

    name = "offsets without a plan"
    states = (State.STOPPED,)
    is_made_once = False

    @property
    def operation(self) -> Operation:
        return write


class StepsOfSink(SinkRow):
    """A change in single steps. Airflow tries one step again, never all of them."""

    name = "single steps"
    successors = (RecoveredBy.TEARDOWN, RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)
    is_one_task = False

    @property
    def operation(self) -> Operation:
        return single_steps


class KeptStoppedSink(SinkRow):
    """It is kept STOPPED between tasks, as a failover does."""

    name = "kept stopped by a failover"
    moves = False
    is_one_task = False

    @property
    def operation(self) -> Operation:
        return keep_stopped


#: All operations on a sink.
OPERATIONS: tuple[type[SinkRow], ...] = (ChangeOfSink, WriteOfSink, StepsOfSink, KeptStoppedSink)
