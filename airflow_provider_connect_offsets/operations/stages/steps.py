"""The single steps of a change; each waits until its result can be observed."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import tenacity

from airflow_provider_connect_offsets.connect.protocols import ConnectorInfo, ConnectorStatus, State, WriteReply
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    Drift,
    InvalidRequest,
    NotApplied,
    NotReconciled,
    NotRunning,
    NotStopped,
    OutcomeUnknown,
    StoreError,
)
from airflow_provider_connect_offsets.kafka.group_kinds import why_left_alone
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.lag import next_records
from airflow_provider_connect_offsets.observe.log_positions import positions_in
from airflow_provider_connect_offsets.observe.waiting import is_in
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.families import TopicPartition
from airflow_provider_connect_offsets.offsets.family import Config
from airflow_provider_connect_offsets.offsets.kept_config import describe_changes
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.offsets.requests.place import To
from airflow_provider_connect_offsets.operations.stages.handling import handling
from airflow_provider_connect_offsets.words import as_sentence, join_first, quantify

log = logging.getLogger(__name__)

# Workers write these; nobody can request them.
_TRANSIENT = frozenset({State.UNASSIGNED, State.RESTARTING})
# Seconds in which a worker begins a restart that it has accepted.
_RESTART_BEGINS = 20.0
_ANSWER_LOST = tenacity.retry_if_exception_type(OutcomeUnknown)


def intended_state(status: ConnectorStatus) -> State:
    """Return the state that was last requested of a connector: PAUSED, STOPPED, or for any other state RUNNING."""
    return status.state if status.state in {State.PAUSED, State.STOPPED} else State.RUNNING


def await_lasting_status(clients: Clients, connector: str) -> ConnectorStatus:
    """Read the status of a connector, and wait while it is passing; changes nothing.

    A worker that shuts down writes UNASSIGNED for its connectors, PAUSED and STOPPED ones too, until another worker
    takes them, up to ``scheduled.rebalance.max.delay.ms`` later (Java classes ``WorkerGroupMember``,
    ``AbstractHerder.onShutdown``). That is not a state that anyone requested.

    Raises:
        NotStopped: It stays UNASSIGNED or RESTARTING for ``clients.timeout`` seconds.
        NotReconciled: It does not reach the state that its resource requests by then.
        StoreError: Connect does not answer, or refuses.
    """
    status = clients.await_status(connector, lambda one: not one.is_passing)
    if status.state in _TRANSIENT:
        raise NotStopped(
            f"{connector!r} has been {status.state} for {clients.timeout:.0f} s: no worker runs it, so its requested "
            "state is unknown. Start its workers again, then try again."
        )
    if status.is_passing:
        raise NotReconciled(
            f"{connector!r} has been {status.state} for {clients.timeout:.0f} s, although its resource requests "
            f"{status.requested}. Strimzi's operator has not changed the state: check that the operator is running."
        )
    return status


def stop(clients: Clients, connector: str, *, known: ConnectorInfo | None = None) -> None:
    """Stop ``connector``, and wait until it is STOPPED without tasks, and a sink's group has no members.

    Args:
        clients: Clients of its Connect cluster.
        connector: Its name.
        known: Its configuration, if it is known; None: it is read, which a worker that stops others answers late.

    Raises:
        NotStopped: It still runs after ``clients.timeout`` seconds; names what runs.
        UnknownConnector: It does not exist.
        StoreError: A system does not answer, or refuses.
    """
    clients.make_attempts(_ANSWER_LOST)(clients.control.stop, connector)
    await_stopped(clients, connector, known=known)


def await_stopped(clients: Clients, connector: str, *, known: ConnectorInfo | None = None) -> None:
    """Wait until a connector that was requested to stop is stopped; raises as :func:`stop` does."""
    status = clients.await_status(connector, lambda one: one.is_stopped)
    refuse_unless_in(status, connector, State.STOPPED, timeout=clients.timeout)
    groups = clients.groups
    group = None if groups is None else (known or clients.control.info(connector)).group_id
    if group is None or groups is None:
        return
    try:
        of_group = clients.settle(lambda: groups.state(group), until=lambda one: one.inactive or bool(one.kind))
    except AccessDenied as error:
        log.info("%s Connect itself refuses changes until the group is empty.", error)
        return
    if of_group.kind:
        raise NotStopped(f"{connector!r} is STOPPED, but {why_left_alone(group, of_group.kind)}")
    if not of_group.inactive:
        raise NotStopped(f"{connector!r} is STOPPED, but its consumer group {group!r} still has members.")


def restore_state(
    clients: Clients, connector: str, state: State, *, tasks: int | None = None, may_fail: bool = False
) -> ConnectorStatus:
    """Bring ``connector`` into ``state``, and wait until it and its tasks have it.

    Args:
        clients: Clients of its Connect cluster.
        connector: Its name.
        state: RUNNING, PAUSED or STOPPED.
        tasks: How many it had; 0: do not wait for tasks; None: unknown.
        may_fail: Whether a failed connector counts as being in its state.

    Raises:
        NotRunning: A task failed, or the state was not reached in ``clients.timeout`` seconds.
        StoreError: Connect does not answer, or refuses.
    """
    request_state(clients, connector, state)
    return await_state(clients, connector, state, tasks=tasks, may_fail=may_fail)


def await_state(
    clients: Clients, connector: str, state: State, *, tasks: int | None = None, may_fail: bool = False
) -> ConnectorStatus:
    """Wait until a connector has the requested state; raises as :func:`restore_state` does."""
    status = clients.await_status(connector, lambda one: one.has_failed or is_in(one, state, tasks=tasks))
    if may_fail and status.has_failed:
        return status
    refuse_failed(status, connector, state)
    refuse_unless_in(status, connector, state, timeout=clients.timeout, tasks=tasks or 0)
    return status


def refuse_failed(status: ConnectorStatus, connector: str, state: State) -> None:
    """Raise :class:`NotRunning` for a failed connector, unless STOPPED is requested: a failed one can be stopped."""
    if status.has_failed and state is not State.STOPPED:
        raise NotRunning(f"{connector!r} failed right after {state} was requested: {as_sentence(status.cause)}")


def refuse_unless_in(status: ConnectorStatus, connector: str, state: State, *, timeout: float, tasks: int = 0) -> None:
    """Raise :class:`NotStopped` or :class:`NotRunning` for a connector that is not in ``state`` after ``timeout``."""
    if is_in(status, state, tasks=tasks):
        return
    raise (NotStopped if state is State.STOPPED else NotRunning)(
        f"{connector!r} is {status.state} with {quantify(len(status.tasks), 'task')}, {timeout:.0f} s after {state} "
        "was requested."
    )


def refuse_invalid(info: ConnectorInfo, offsets: Offsets, *, otherwise: str) -> None:
    """Raise :class:`InvalidRequest`, beginning with ``otherwise``, for an offset that its family refuses."""
    for entry in offsets:
        offset = None if entry.offset is None else parse_map(entry.offset)
        for finding in info.family.check(parse_map(entry.partition), offset, info.config):
            raise InvalidRequest(f"{otherwise}: {info.name!r}, partition {entry.partition}: {finding.message}.")


def refuse_reconfigured(connector: str, planned: Config | None, clients: Clients) -> None:
    """Raise :class:`Drift` if settings on which positions depend have changed since the plan; raises store errors.

    ``planned``: the kept settings from which it was made; None: they are unknown.
    """
    if planned is None or not handling(clients).has_config:
        return
    info = clients.control.info(connector)
    if changed := describe_changes(planned, info.config, also=info.family.settings):
        raise Drift(
            f"{connector!r} has been reconfigured since the plan was made, so its positions may mean other records "
            f"now: {join_first(changed, 3, separator='; ')}. Make a new plan."
        )


def request_state(clients: Clients, connector: str, state: State) -> None:
    """Request RUNNING, PAUSED or STOPPED; repeats the request, which is idempotent, if its answer is lost."""
    requests = {
        State.RUNNING: clients.control.resume,
        State.PAUSED: clients.control.pause,
        State.STOPPED: clients.control.stop,
    }
    clients.make_attempts(_ANSWER_LOST)(requests[state], connector)


def request_restart(clients: Clients, connector: str, *, failed_only: bool) -> None:
    """Request a restart; repeats the request if its answer is lost, as a second restart does no harm."""
    clients.make_attempts(_ANSWER_LOST)(clients.registry().restart, connector, failed_only=failed_only)


def await_restarted(clients: Clients, connector: str, before: ConnectorStatus) -> ConnectorStatus:
    """Wait until a connector that was requested to restart has the requested state and the tasks of ``before`` again.

    A worker answers before it restarts anything, so for a while FAILED is the state from before.

    Raises:
        NotRunning: Something has failed again, or is not restarted in time.
        StoreError: Connect does not answer, or refuses.
    """
    timeout = min(_RESTART_BEGINS, clients.timeout)
    status = clients.control.await_status(
        connector, lambda one: not one.has_failed, timeout=timeout, clock=clients.clock
    )
    if status.has_failed:
        raise NotRunning(
            f"{connector!r} has failed again, or was not restarted in {timeout:.0f} s after the request: "
            f"{as_sentence(status.cause)}"
        )
    return await_state(clients, connector, intended_state(before), tasks=len(before.tasks))


def attempts_to_restore(clients: Clients) -> tenacity.Retrying:
    """Return three attempts to restore offsets, none later than ``clients.timeout`` seconds; raises the last error."""
    deadline = clients.clock.now() + clients.timeout
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(NotApplied),
        wait=tenacity.wait_exponential(multiplier=0.1, max=1.0),
        stop=lambda state: state.attempt_number >= 3 or clients.clock.now() > deadline,
        sleep=clients.clock.sleep,
        reraise=True,
    )


def rebase(plan: OffsetPlan, clients: Clients, at_stop: Offsets, *, moving: bool) -> OffsetPlan:
    """Fit ``plan`` to the offsets at which its connector is stopped.

    Args:
        plan: The plan.
        clients: Clients of its connector.
        at_stop: The offsets at the stop.
        moving: True if the connector ran until the stop, so its offsets may have moved forward.

    Raises:
        Drift: The offsets moved backwards or vanished, or ``clients`` have no logs for a relative request.
        StoreError: Kafka does not answer, or refuses.
    """
    moved = plan.moved_partitions(at_stop)
    if not moved or not plan.request.to.is_relative:
        return plan.rebase(at_stop, log_bounds={}, moving=moving)
    if clients.logs is None:
        raise Drift(
            f"{plan.connector!r} has moved on since the plan was made, and {plan.request} can't be computed again "
            "without the logs of its topics. Set kafka_conn_id to the Kafka cluster that its positions refer to."
        )
    bounds = {where: (log.log_start, log.log_end) for where, log in clients.logs.bounds(moved).items()}
    unread = _next_records(plan, clients, at_stop, moved) if plan.request.to is To.SKIP else {}
    return plan.rebase(at_stop, log_bounds=bounds, moving=moving, next_records=unread)


def _next_records(
    plan: OffsetPlan, clients: Clients, at_stop: Offsets, moved: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """Return the offset of the next record, by moved partition, for positions at which there is no record."""
    known = positions_in(plan.family, at_stop)
    positions = {where: position for where in moved if (position := known.get(where)) is not None}
    return next_records(clients, clients.control.info(plan.connector), positions)


def write(clients: Clients, connector: str, changes: Offsets) -> WriteReply:
    """Write ``changes``; repeat that while Connect answers that the tasks have not stopped completely yet.

    Connect answers the same for a connector that is resuming, before its status shows that: a connector whose status
    is no longer STOPPED is given up at once. After any error (:class:`StoreError`), read back: a part may be written.
    """

    def is_stopping(error: BaseException) -> bool:
        return isinstance(error, NotStopped) and await_lasting_status(clients, connector).state is State.STOPPED

    repeating = clients.make_attempts(tenacity.retry_if_exception(is_stopping))
    return repeating(clients.offsets.write_offsets, connector, changes)


def alter(clients: Clients, connector: str, changes: Offsets, *, expected: Offsets) -> WriteReply | None:
    """Write ``changes``, and verify that ``expected`` is stored.

    Returns:
        The store's reply; None if there was nothing to write, or no answer.

    Raises:
        NotApplied: Something else is stored; its cause is the store's error, if it raised one.
        StoreError: The offsets can't be read back.
    """
    reply: WriteReply | None = None
    refusal: StoreError | None = None
    try:
        reply = write(clients, connector, changes) if len(changes) else None
    except StoreError as error:
        # The answer alone decides nothing: a request that timed out may still have been carried out.
        log.warning("%s Reading back what is stored.", error)
        refusal = error
    try:
        prove(clients, connector, expected)
    except NotApplied as error:
        if refusal is None:
            raise
        raise NotApplied(f"{refusal} {error}") from refusal
    return reply


def prove(clients: Clients, connector: str, expected: Offsets) -> None:
    """Read the offsets back; raises :class:`NotApplied`, which names the first differences."""
    difference = differences(clients.offsets.read_offsets(connector), expected)
    if difference:
        raise NotApplied(f"{connector!r} was read back: {difference}.")


def differences(stored: Offsets, expected: Offsets) -> str:
    """Describe where ``stored`` differs from ``expected`` (up to three partitions); empty if they are equal."""
    now, then = stored.by_partition(), expected.by_partition()
    wrong = sorted(key for key in now.keys() | then.keys() if now.get(key) != then.get(key))
    texts = [f"{key} is at {now.get(key, 'no offset')}, not {then.get(key, 'no offset')}" for key in wrong]
    return join_first(texts, 3, separator="; ")
