"""Operations on a sink that are broken at one call, and the states allowed afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift, NotApplied, Overlap
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.operations.registry import reached
from airflow_provider_connect_offsets.saga import Toward, settle
from airflow_provider_connect_offsets.saga.lease import Owner
from sandbox import Sandbox, wait_until
from tests.support.faults.fault_table import Ending
from tests.support.faults.faulty_clients import Fault, Faults, Killed, Outage
from tests.support.faults.recovered_by import RecoveredBy
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
        connect, name = self.flow.sandbox.connect, self.flow.name
        connect.stop(name)
        where = {"kafka_topic": self.flow.topic, "kafka_partition": 0}
        connect.alter(name, [{"partition": where, "offset": {"kafka_offset": RECORDS}}])
        self.written = len(self.flow.lines())
        if state is State.RUNNING:
            connect.resume(name)
            connect.wait_state(name, "RUNNING", tasks=1)
        elif state is State.PAUSED:
            connect.pause(name)
            connect.wait_state(name, "PAUSED")

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


@dataclass(frozen=True)
class Broken:
    """An operation that is broken: the possible prior states, and who may recover it.

    ``moves``: whether it changes the connector's position.
    """

    operation: Operation
    states: tuple[State, ...] = (State.STOPPED, State.PAUSED, State.RUNNING)
    successors: tuple[RecoveredBy, ...] = tuple(RecoveredBy)
    moves: bool = True


OPERATIONS = {
    "change": Broken(change),
    "offsets without a plan": Broken(write, states=(State.STOPPED,)),
    # Airflow tries one step again, never all of them.
    "single steps": Broken(single_steps, successors=(RecoveredBy.TEARDOWN, RecoveredBy.OTHER_RUN, RecoveredBy.PERSON)),
    "kept stopped by a failover": Broken(keep_stopped, moves=False),
}


@dataclass
class SinkCell:
    """One operation, broken at one call in one way; ``over`` waits for the end of the fault."""

    case: SinkCase
    clients: Clients
    broken: Broken
    faults: Faults
    state: State
    successor: RecoveredBy
    over: Callable[[], None] = lambda: None
    owner: Owner = field(default_factory=lambda: Owner.here(run=f"test/{uuid4().hex}", task="apply"))

    def run(self) -> Ending | None:
        """Applied or not, in the prior state; None if the fault did not happen, as there is no such call."""
        self.case.prepare(self.state)
        changer, error = elsewhere(self.case), None
        clients = replace(self.clients, workspace=changer.workspace)
        try:
            if self.faults.fault is Outage.BROKER_KILLED:
                self._elsewhere(changer)
            else:
                self.broken.operation(self.case.requested, self.faults.clients(clients), self.owner)
        except (Killed, SystemExit, ConnectOffsetsError) as raised:
            error = raised
        if not self.faults.happened:  # another state takes fewer calls
            return None
        self.faults.mend()
        self.over()
        # Whoever comes next has connections of its own, which know nothing of the outage.
        with changer.clients() as self.clients:
            if self.successor is RecoveredBy.RETRY and self.faults.fault is not Fault.THEIRS:  # whose it is now
                self.broken.operation(self.case.requested, self.clients, self.owner)
                assert self._is_applied() is self.broken.moves
                return Ending.APPLIED if error is None else Ending.NEXT
            self._settle(changer)
            return self._ending(error)

    def _elsewhere(self, changer: Changer) -> None:
        """In a process of its own: librdkafka ends it where a broker dies while groups are described (docs/seen.md)."""

        def world() -> None:
            self.faults.happened = True
            self.faults.world()

        order = Order(
            self.broken.operation,
            self.case.requested,
            changer.address,
            self.owner.run,
            self.faults.at,
        )
        run_elsewhere(order, after=self.faults.after, world=world)

    def _ending(self, error: BaseException | None) -> Ending:
        applied = self._is_applied()
        assert not (applied and not self.broken.moves)
        if self.faults.fault is Fault.THEIRS:
            return Ending.APPLIED if error is None else Ending.THEIRS
        if error is None:
            assert applied is self.broken.moves
            return Ending.APPLIED
        if isinstance(error, NotApplied | Drift):
            assert not applied
        return Ending.APPLIED if applied else Ending.RESTORED

    def _is_applied(self) -> bool:
        theirs = {State.RUNNING} if self.faults.fault is Fault.THEIRS else set()
        # A sink whose worker dies before it has committed delivers again, as always with Connect.
        most = 2 * AGAIN if isinstance(self.faults.fault, Outage) else AGAIN
        return self.case.is_applied(frozenset({self.state, *theirs}), most=most)

    def _settle(self, changer: Changer) -> None:
        """As a teardown of the same run does, a person, or another run: refused as long as the connector is leased."""
        journal = changer.journal(self.case.flow.name)
        if self.successor is RecoveredBy.PERSON:
            systems = {"url": changer.worker, "kafka": changer.kafka.bootstrap}
            recovering.recover(changer.workspace, journal.resource, toward=Toward.BACK, run=self.owner.run, **systems)
            return
        if self.successor is RecoveredBy.OTHER_RUN:
            stranger = Owner.here(run=f"test/{uuid4().hex}", task="apply")
            with suppress(Overlap):
                settle(journal, stranger, reached(self.clients))
                return
        settle(journal, self.owner, reached(self.clients), run=self.owner.run)


def calls_of(case: SinkCase, broken: Broken, clients: Clients) -> list[str]:
    """The calls of a run without a fault."""
    case.prepare(broken.states[0])
    counted = Faults()
    owner = Owner.here(run=f"test/{uuid4().hex}", task="apply")
    clients = replace(clients, workspace=elsewhere(case).workspace)
    broken.operation(case.requested, counted.clients(clients), owner)
    assert counted.calls
    return counted.calls


def elsewhere(case: SinkCase) -> Changer:
    """The same with a workspace and journals of its own."""
    return replace(case.changer, workspace=f"{case.changer.workspace}/{uuid4().hex}")
