"""The single steps of a change; each waits until what it asked for can be seen."""

from __future__ import annotations

import logging

import tenacity

from airflow_provider_connect_offsets.connect.protocols import ConnectorStatus, State, WriteReply
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    Drift,
    NotApplied,
    NotRunning,
    NotStopped,
    OutcomeUnknown,
    StoreError,
)
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.waiting import is_in
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan

log = logging.getLogger(__name__)


# Written by workers, whatever state the connector is meant to be in.
_TELL_NOTHING = frozenset({State.UNASSIGNED, State.RESTARTING})


def intended_state(status: ConnectorStatus) -> State:
    """The state a connector is to have again: PAUSED and STOPPED stay, anything else was meant to run."""
    return status.state if status.state in {State.PAUSED, State.STOPPED} else State.RUNNING


def lasting_status(clients: Clients, connector: str) -> ConnectorStatus:
    """The status of a connector once its state tells what anybody wants it to be; nothing is asked of it.

    A worker that goes away in order writes UNASSIGNED for its connectors, PAUSED and STOPPED ones too, and that stands
    until another one takes them, up to ``scheduled.rebalance.max.delay.ms`` (``WorkerGroupMember``,
    ``AbstractHerder.onShutdown``). It is waited out. Raises :class:`NotStopped` where it lasts, and store errors.
    """
    status = clients.settle(
        lambda: clients.control.status(connector), until=lambda seen: seen.state not in _TELL_NOTHING
    )
    if status.state in _TELL_NOTHING:
        raise NotStopped(
            f"{connector!r} has been {status.state} for {clients.timeout:.0f} s: no worker runs it, so nobody can tell "
            "which state it is to have. Let its workers come back, then try again."
        )
    return status


def stop(clients: Clients, connector: str) -> None:
    """Stop ``connector`` and wait until it is STOPPED without tasks; of a sink, until its group is empty.

    Raises :class:`NotStopped` that says what still runs, :class:`UnknownConnector`, and other store errors.
    """
    request_state(clients, connector, State.STOPPED)
    await_stopped(clients, connector)


def await_stopped(clients: Clients, connector: str) -> None:
    """Wait until a connector that was asked to stop stands still; raises as :func:`stop` does."""
    status = clients.settle(lambda: clients.control.status(connector), until=lambda seen: seen.is_stopped)
    refuse_unless_in(status, connector, State.STOPPED, timeout=clients.timeout)
    group = clients.control.info(connector).group_id
    if group is None or clients.groups is None:
        return
    groups = clients.groups
    try:
        empty = clients.settle(lambda: groups.state(group), until=lambda seen: seen.inactive).inactive
    except AccessDenied as error:
        log.info("%s Connect itself refuses changes until the group is empty.", error)
        return
    if not empty:
        raise NotStopped(f"{connector!r} is STOPPED, but its consumer group {group!r} still has members.")


def restore_state(clients: Clients, connector: str, state: State, *, tasks: int | None = None) -> ConnectorStatus:
    """Bring ``connector`` into ``state`` (RUNNING, PAUSED or STOPPED) and wait until it is there, with its tasks.

    tasks: how many it had; 0 means that none is waited for, None that it isn't known.
    Raises :class:`NotRunning` where a task failed or the state was not reached in time.
    """
    request_state(clients, connector, state)
    return await_state(clients, connector, state, tasks=tasks)


def await_state(clients: Clients, connector: str, state: State, *, tasks: int | None = None) -> ConnectorStatus:
    """Wait until a connector is in the state that it was asked to be in; raises as :func:`restore_state` does."""
    status = clients.settle(
        lambda: clients.control.status(connector), until=lambda seen: seen.has_failed or is_in(seen, state, tasks=tasks)
    )
    refuse_failed(status, connector, state)
    refuse_unless_in(status, connector, state, timeout=clients.timeout, tasks=tasks or 0)
    return status


def refuse_failed(status: ConnectorStatus, connector: str, state: State) -> None:
    """Raise :class:`NotRunning` where it has failed and is to be RUNNING or PAUSED; it may be stopped all the same."""
    if status.has_failed and state is not State.STOPPED:
        raise NotRunning(f"{connector!r} failed right after it was asked to be {state}: {status.cause}")


def refuse_unless_in(status: ConnectorStatus, connector: str, state: State, *, timeout: float, tasks: int = 0) -> None:
    """Raise :class:`NotStopped` or :class:`NotRunning` for a connector that is not in ``state`` after ``timeout``."""
    if is_in(status, state, tasks=tasks):
        return
    kind, asked = (NotStopped, "stop") if state is State.STOPPED else (NotRunning, f"be {state}")
    raise kind(
        f"{connector!r} was asked to {asked} and after {timeout:.0f} s is {status.state} with "
        f"{len(status.tasks)} tasks."
    )


def request_state(clients: Clients, connector: str, state: State) -> None:
    """Ask for RUNNING, PAUSED or STOPPED until it is answered; it may be repeated, and a lost answer tells nothing."""
    asked = {
        State.RUNNING: clients.control.resume,
        State.PAUSED: clients.control.pause,
        State.STOPPED: clients.control.stop,
    }
    clients.retrying(tenacity.retry_if_exception_type(OutcomeUnknown))(asked[state], connector)


def until_it_stands(clients: Clients) -> tenacity.Retrying:
    """Attempts at putting offsets back: three, and none begins once timeout has ended; the last error is raised."""
    deadline = clients.clock.now() + clients.timeout
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(NotApplied),
        wait=tenacity.wait_exponential(multiplier=0.1, max=1.0),
        stop=lambda state: state.attempt_number >= 3 or clients.clock.now() > deadline,
        sleep=clients.clock.sleep,
        reraise=True,
    )


def rebase(plan: OffsetPlan, clients: Clients, at_stop: Offsets, *, moving: bool) -> OffsetPlan:
    """Fit ``plan`` to the offsets at which its connector stands now; raises :class:`Drift`.

    moving: whether it ran until a moment ago, so that its offsets may have gone forward.
    """
    moved = plan.moved_partitions(at_stop)
    if not moved or not plan.request.to.is_relative:
        return plan.rebased_on(at_stop, log_bounds={}, moving=moving)
    if clients.logs is None:
        raise Drift(
            f"{plan.connector!r} has moved on since the plan was made, and {plan.request} can't be counted again "
            "without looking at its log."
        )
    bounds = {where: (found.log_start, found.log_end) for where, found in clients.logs.bounds(moved).items()}
    return plan.rebased_on(at_stop, log_bounds=bounds, moving=moving)


def write(clients: Clients, connector: str, changes: Offsets) -> WriteReply:
    """Write ``changes``, again and again while Connect says that the tasks haven't stopped completely yet.

    It says the same of a connector that was asked to resume, whose status may tell that late: one that is seen to be
    resumed is given up at once. Whatever is raised (:class:`StoreError`), read back: a part may have been written.
    """

    def is_stopping(error: BaseException) -> bool:
        return isinstance(error, NotStopped) and lasting_status(clients, connector).state is State.STOPPED

    repeating = clients.retrying(tenacity.retry_if_exception(is_stopping))
    return repeating(clients.offsets.write_offsets, connector, changes)


def alter(clients: Clients, connector: str, changes: Offsets, *, expected: Offsets) -> WriteReply | None:
    """Write ``changes`` and prove that ``expected`` stands; the reply is None where there was none to have.

    Raises :class:`NotApplied` with what stands instead, chained to what the store said to the write.
    """
    reply: WriteReply | None = None
    refusal: StoreError | None = None
    try:
        reply = write(clients, connector, changes) if len(changes) else None
    except StoreError as error:
        # Connect's word alone decides nothing: a request that timed out may still have been carried out.
        log.warning("%s Reading back what stands.", error)
        refusal = error
    try:
        prove(clients, connector, expected)
    except NotApplied as error:
        if refusal is None:
            raise
        raise NotApplied(f"{refusal} {error}") from refusal
    return reply


def prove(clients: Clients, connector: str, expected: Offsets) -> None:
    """Read the offsets back; raises :class:`NotApplied` that names the first that is not as expected."""
    difference = differences(clients.offsets.read_offsets(connector), expected)
    if difference:
        raise NotApplied(f"{connector!r} was read back: {difference}.")


def differences(standing: Offsets, expected: Offsets) -> str:
    """Say where ``standing`` is not ``expected`` (up to three partitions); empty where it is."""
    stands, wanted = standing.stored(), expected.stored()
    wrong = sorted(key for key in stands.keys() | wanted.keys() if stands.get(key) != wanted.get(key))
    told = [f"{key} is at {stands.get(key, 'no offset')}, not {wanted.get(key, 'no offset')}" for key in wrong[:3]]
    more = [f"and {len(wrong) - 3} more"] if len(wrong) > 3 else []
    return "; ".join(told + more)
