"""Operations that change where a sink resumes, in this process or in another."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import direct, stepwise, stopped
from airflow_provider_connect_offsets.operations.connector.apply import apply_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from tests.support.faults.faulty_clients import Faults, Killed, Outage
from tests.support.flows.flows import Address

_HERE, _GO_ON = "here", "go on"


@dataclass(frozen=True)
class Requested:
    """The input of an operation: a plan, and the same as offsets."""

    plan: OffsetPlan
    changes: Offsets


Operation = Callable[[Requested, Clients, Owner], object]


def change(requested: Requested, clients: Clients, owner: Owner) -> object:
    """Change the sink by a plan."""
    return apply_plan(requested.plan, clients, owner)


def write(requested: Requested, clients: Clients, owner: Owner) -> object:
    """Write offsets without a plan."""
    return direct.alter(requested.plan.connector, clients, owner, requested.changes)


def single_steps(requested: Requested, clients: Clients, owner: Owner) -> object:
    """Change the sink in single steps, each a task of its own."""
    plan, name = requested.plan, requested.plan.connector
    prior = stepwise.begin(plan, clients, owner, seconds=60)
    stepwise.set_state(name, State.STOPPED, clients, owner, seconds=60)
    clients.settle(lambda: clients.control.status(name), until=lambda seen: seen.is_stopped)
    stepwise.alter(plan, clients, owner, seconds=60)
    stepwise.read_back(name, clients, owner, seconds=60)
    if prior is not State.STOPPED:
        stepwise.set_state(name, prior, clients, owner, seconds=60)
    return stepwise.undo(plan, clients, owner)


def keep_stopped(requested: Requested, clients: Clients, owner: Owner) -> object:
    """Keep the sink STOPPED between tasks, as a failover does, and resume it."""
    members = [(clients, requested.plan.connector)]
    stopped.stop_for_run(members, owner, seconds=60)
    stopped.resume(members, owner, seconds=60)
    return stopped.restore(members, owner)


@dataclass(frozen=True)
class Order:
    """The order for another process: an operation, and the call at which it waits."""

    operation: Operation
    requested: Requested
    address: Address
    run: str
    at: int

    def carry_out(self, faults: Faults) -> None:
        """Run the operation with the journal of the workspace, as in the tests' own process."""
        with self.address.clients() as clients:
            self.operation(self.requested, faults.clients(clients), Owner.here(run=self.run, task="apply"))


def run_elsewhere(order: Order, *, after: bool, world: Callable[[], None]) -> None:
    """Run an operation in another process, and call ``world`` before or after the call, if it is reached.

    Raises what it raised, and :class:`Killed` where it ended itself.
    """
    spawning = get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_main, args=(order, theirs), kwargs={"after": after})
    process.start()
    theirs.close()
    error: ConnectOffsetsError | None = None
    try:
        while (said := _said(ours)) is not None:
            if said == _HERE:
                world()
                ours.send(_GO_ON)
            elif isinstance(said, ConnectOffsetsError):
                error = said
    finally:
        process.join()
        ours.close()
    if error is not None:
        raise error
    assert process.exitcode in {0, -signal.SIGABRT}
    if process.exitcode:
        raise Killed


def _said(pipe: Connection) -> object:
    try:
        return pipe.recv()
    except (EOFError, ConnectionResetError):
        return None


def _main(order: Order, pipe: Connection, *, after: bool) -> None:
    def world() -> None:
        pipe.send(_HERE)
        pipe.recv()

    try:
        order.carry_out(Faults(Outage.BROKER_KILLED, order.at, after, world=world))
    except ConnectOffsetsError as error:
        pipe.send(error)
