"""Every call that an operation makes is broken in turn, in every way; whoever comes next ends it, wholly.

The cells are made from a clean run of the operation, so that an operation, or a call, that is added later is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from uuid import uuid4

import pytest
from fault_table import Ending, Note
from faulty_doors import Fault, Faults, Killed
from flows import RECORDS, Changer, SinkFlow
from pyspark.sql import SparkSession
from successors import Successor

from airflow_provider_connect_offsets.change import direct, held, recovery, stepwise
from airflow_provider_connect_offsets.change.apply import apply_plan
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.plans import read_plan
from airflow_provider_connect_offsets.cli import recovering
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Drift, NotApplied, Overlap
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.stores.connect import ConnectRest
from airflow_provider_connect_offsets.stores.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.stores.protocols import State
from sandbox import Sandbox

pytestmark = pytest.mark.faults
SET_TO = 7


@dataclass
class Case:
    """A sink, and a plan that moves it back; it is made ready anew for each cell."""

    flow: SinkFlow
    changer: Changer
    plan: OffsetPlan
    written: int = 0

    @property
    def changes(self) -> Offsets:
        """What the plan says, as offsets."""
        where = f'{{"kafka_partition":0,"kafka_topic":"{self.flow.topic}"}}'
        return Offsets.of([Entry(where, f'{{"kafka_offset":{SET_TO}}}')])

    def prepare(self, state: State) -> None:
        """The position that the plan was made from, and that state."""
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

    def is_applied(self, state: State) -> bool:
        """Whether the plan stands; fails where neither it nor what was before does, and in another state."""
        self.flow.sandbox.connect.wait_state(self.flow.name, state.value, tasks=1 if state is State.RUNNING else None)
        if state is State.RUNNING:
            self.flow.wait_until_caught_up()
            again = len(self.flow.lines()) - self.written
            assert again in {0, RECORDS - SET_TO}
            return again > 0
        position = self.flow.position()
        assert position in {SET_TO, RECORDS}
        return position == SET_TO


Operation = Callable[[Case, Doors, Journal, Owner], object]


def change(case: Case, doors: Doors, journal: Journal, owner: Owner) -> object:
    """A change by a plan."""
    return apply_plan(case.plan, doors, journal, owner)


def write(case: Case, doors: Doors, journal: Journal, owner: Owner) -> object:
    """Offsets that are named, without a plan."""
    return direct.alter(doors, journal, owner, case.changes)


def single_steps(case: Case, doors: Doors, journal: Journal, owner: Owner) -> object:
    """A change in steps, each a task of its own."""
    prior = stepwise.begin(case.plan, doors, journal, owner, seconds=60)
    doors.control.stop(case.flow.name)
    doors.settle(lambda: doors.control.status(case.flow.name), until=lambda seen: seen.stands_still)
    stepwise.alter(case.plan, doors, journal, owner, seconds=60)
    stepwise.read_back(doors, journal, owner, seconds=60)
    if prior is not State.STOPPED:
        (doors.control.pause if prior is State.PAUSED else doors.control.resume)(case.flow.name)
    return stepwise.take_back(case.plan, doors, journal, owner)


def hold(case: Case, doors: Doors, journal: Journal, owner: Owner) -> object:
    """A connector that is held STOPPED, as a failover does, and given back."""
    del case
    members = [held.Member(doors, journal)]
    held.hold_stopped(members, owner, seconds=60)
    held.give_back(members, owner, seconds=60)
    return held.take_back(members, owner)


@dataclass(frozen=True)
class Broken:
    """An operation that is broken: the prior states that it may meet, and who may come after it.

    ``moves``: whether it changes the connector's position.
    """

    operation: Operation
    states: tuple[State, ...] = (State.STOPPED, State.PAUSED, State.RUNNING)
    successors: tuple[Successor, ...] = tuple(Successor)
    moves: bool = True


OPERATIONS = {
    "change": Broken(change),
    "offsets without a plan": Broken(write, states=(State.STOPPED,)),
    # Airflow tries one step again, never all of them.
    "single steps": Broken(single_steps, successors=(Successor.TEARDOWN, Successor.STRANGER, Successor.PERSON)),
    "held by a failover": Broken(hold, moves=False),
}

CELLS = [(name, fault) for name in OPERATIONS for fault in Fault]


@pytest.fixture(scope="module")
def case(sandbox: Sandbox, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """One sink for all cells of this module."""
    flow = SinkFlow.start(sandbox)
    folder = tmp_path_factory.mktemp("generated").as_uri()
    with ConnectRest(ConnectEndpoint((sandbox.connect.url,))) as connect:
        cluster = connect.version().kafka_cluster_id  # by which the shell finds journals
    changer = Changer(spark, folder, sandbox.connect.url, sandbox.target, cluster, patience=15)
    run, summary = changer.plan(flow.name, "offset", str(SET_TO))
    assert summary["errors"] == []
    yield Case(flow, changer, read_plan(run))
    sandbox.connect.delete(flow.name)


@pytest.mark.parametrize(("name", "fault"), CELLS)
@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)])
def test_broken_at_each_call(
    case: Case, note_generated: Note, monkeypatch: pytest.MonkeyPatch, name: str, fault: Fault, every: int
) -> None:
    """All of it or nothing, in the state it had; whoever is asked to do it again has it done.

    Prior states and successors take turns, so that each meets each other one. ``every``: which share of the cells.
    """
    broken = OPERATIONS[name]
    turns = list(product(broken.states, broken.successors))
    with case.changer.doors() as doors:
        calls = _calls(case, broken.operation, doors, broken.states[0])
        moments = list(product(range(len(calls)), (False, True)))
        first = CELLS.index((name, fault)) % every
        endings = set()
        for number, (at, after) in list(enumerate(moments))[first::every]:
            state, successor = turns[(number + first) % len(turns)]
            faults = Faults(fault, at, after)
            told = f"{name}, {fault} {'after' if after else 'before'} call {at} ({state}, {successor})"
            try:
                with faults.journals(monkeypatch):
                    ending = _cell(case, doors, broken, faults, state, successor)
            except BaseException as error:
                error.add_note(f"{told}; the calls: {faults.calls}")
                raise
            if ending is not None:
                endings.add(ending)
    for ending in sorted(endings):
        note_generated(fault, name, "sink", ending)


def _calls(case: Case, operation: Operation, doors: Doors, state: State) -> list[str]:
    """The calls of a clean run."""
    case.prepare(state)
    counted = Faults()
    operation(case, counted.doors(doors), _elsewhere(case).journal(case.flow.name), _owner())
    assert counted.calls
    return counted.calls


def _cell(
    case: Case, doors: Doors, broken: Broken, faults: Faults, state: State, successor: Successor
) -> Ending | None:
    case.prepare(state)
    changer, owner, error = _elsewhere(case), _owner(), None
    journal = changer.journal(case.flow.name)
    try:
        broken.operation(case, faults.doors(doors), journal, owner)
    except (Killed, SystemExit, ConnectOffsetsError) as raised:
        error = raised
    if not faults.happened:  # another state takes fewer calls
        return None
    faults.mend()
    if successor is Successor.RETRY:
        broken.operation(case, doors, journal, owner)
        assert case.is_applied(state) is broken.moves
        return Ending.APPLIED if error is None else Ending.NEXT
    _settle(changer, doors, journal, owner, successor)
    applied = case.is_applied(state)
    assert not (applied and not broken.moves)
    if error is None:
        assert applied is broken.moves
        return Ending.APPLIED
    if isinstance(error, NotApplied | Drift):
        assert not applied
    return Ending.APPLIED if applied else Ending.RESTORED


def _settle(changer: Changer, doors: Doors, journal: Journal, owner: Owner, successor: Successor) -> None:
    """As a teardown of the same run does, a person, or another run: refused as long as the connector is held."""
    if successor is Successor.PERSON:
        systems = recovering.Systems(changer.worker, kafka=changer.kafka.bootstrap)
        recovering.recover(changer.workspace, journal.connector, systems, toward=Toward.BACK, run=owner.run)
        return
    if successor is Successor.STRANGER:
        with suppress(Overlap), journal.claim(_owner()) as entry:
            recovery.recover(entry, Toward.FORWARD, doors)
            return
    with journal.claim(owner) as entry:
        recovery.recover(entry, Toward.BACK, doors)


def _elsewhere(case: Case) -> Changer:
    """With a workspace, and so journals, of its own."""
    return replace(case.changer, workspace=f"{case.changer.workspace}/{uuid4().hex}")


def _owner() -> Owner:
    return Owner.here(run=f"test/{uuid4().hex}", task="apply")
