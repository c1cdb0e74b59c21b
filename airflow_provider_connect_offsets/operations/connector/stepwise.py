"""The steps of a change as functions, for a change that is laid out in several tasks.

``begin`` opens the saga and captures the connector's state; the task that stops the connector does not use the saga.
``alter`` and ``read_back`` continue it; ``undo`` settles what is left of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotStopped, Unsupported
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.plans import refuse_outdated
from airflow_provider_connect_offsets.operations.registry import (
    journal_of,
    make_registry,
    operation_on_connector,
    settle_of,
)
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import RESUME, PriorState, alteration_in
from airflow_provider_connect_offsets.operations.stages.connector_stages import RestartConnector, SetState
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, change_stages
from airflow_provider_connect_offsets.saga import Executor, Left, Owner, Stage, continue_saga, open_saga, operate
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.outcome import Outcome


def begin(plan: OffsetPlan, clients: Clients, owner: Owner, *, seconds: float) -> State:
    """Claim the connector for the run, and make its prior state durable; what a dead run left is undone first.

    Args:
        plan: The approved plan.
        clients: Clients of its connector.
        owner: This process.
        seconds: How long the lease lasts; the next step continues it.

    Returns:
        The connector's state.

    Raises:
        Overlap: Another run changes the connector.
        Drift: The plan was made from what a dead run had left.
        StoreError: A system does not answer, or refuses.
    """
    stages = change_stages(plan, clients)

    def check_left(left: Sequence[Left]) -> Sequence[Stage]:
        refuse_outdated(left, plan, clients)
        return stages

    operation = operation_on_connector(
        clients, plan.connector, "the change of offsets", check_left, key=outcomes.key_of(plan)
    )
    record = open_saga(operation, owner, seconds=seconds, make=lambda executor: executor.announce(stages[0]))
    return PriorState.from_json(record.captures[stages[0].name]).state


def set_state(connector: str, state: State, clients: Clients, owner: Owner, *, seconds: float) -> None:
    """Request a state of a connector, as a saga of one stage or within the saga that the run has begun; does not wait.

    What a dead run left of the connector is undone first. ``seconds``: how long the run's lease lasts, if it has begun.

    Raises:
        Overlap: Another run changes the connector.
        StoreError: Connect does not answer, or refuses.
    """
    _request(SetState(connector, clients, state=state.value), f"the request for {state}", clients, owner, seconds)


def restart(connector: str, clients: Clients, owner: Owner, *, failed_only: bool, seconds: float) -> int:
    """Restart a connector and its tasks, or what of them has failed, and wait until it has its state again.

    Like :func:`set_state`, as a saga of one stage or within the saga that the run has begun.

    Returns:
        How many had failed: the connector itself counts as one.

    Raises:
        InvalidRequest: It is STOPPED; nothing was restarted.
        Unsupported: Only its offsets are reached, or only its resource; nothing was restarted.
        Overlap: Another run changes the connector.
        NotRunning: Something has failed again, or is not restarted in time.
        StoreError: Connect does not answer, or refuses.
    """
    clients.registry()
    if clients.origin is Origin.STRIMZI:
        raise Unsupported(
            f"Nothing was restarted: for {connector!r} that needs Connect's REST API. Use control=strimzi+rest, or "
            "autoRestart in its resource."
        )
    status = steps.await_lasting_status(clients, connector)
    if status.state is State.STOPPED:
        raise InvalidRequest(f"Nothing was restarted: {connector!r} is STOPPED. Resume it instead.")
    failed = [status.state, *(task.state for task in status.tasks)].count(State.FAILED)
    if failed or not failed_only:
        stage = RestartConnector(connector, clients, failed_only=failed_only)
        _request(stage, "the restart", clients, owner, seconds)
        steps.await_restarted(clients, connector, status)
    return failed


def _request(
    stage: SetState | RestartConnector, operation: str, clients: Clients, owner: Owner, seconds: float
) -> None:
    """Make a stage that is not undone, within the saga that the run has begun, or else as a saga of its own."""
    if journal_of(clients, stage.subject).is_open_for(owner.run):
        with _continue_saga(stage.subject, clients, owner, seconds):
            stage.do({})
    else:
        operate(operation_on_connector(clients, stage.subject, operation, lambda _left: [stage]), owner)


def refuse_unless_stopped(clients: Clients, connector: str) -> None:
    """Raise :class:`NotStopped` for a connector that runs."""
    status = clients.control.status(connector)
    if not status.is_stopped:
        raise NotStopped(
            f"Nothing was written: {connector!r} is {status.state} with {quantify(len(status.tasks), 'task')}. Stop it "
            "first."
        )


def alter(plan: OffsetPlan, clients: Clients, owner: Owner, *, seconds: float) -> Offsets:
    """Write the planned offsets, and read them back; ``begin`` and a stop must come first.

    Returns:
        The connector's offsets.

    Raises:
        NotStopped, Overlap, Drift: Nothing was written.
        InvalidRequest: It changes something that may not be changed here; nothing was written.
        NotApplied: Something may be written; ``undo`` restores the prior offsets.
    """
    with _continue_saga(plan.connector, clients, owner, seconds) as executor:
        refuse_unless_stopped(clients, plan.connector)
        stage = AlterOffsets(plan.connector, clients, plan)
        make_registry(clients).refuse_protected([stage])
        executor.make(stage)
        alteration = alteration_in(executor.entry.record)
    return Offsets() if alteration is None else alteration.expected_offsets


def read_back(connector: str, clients: Clients, owner: Owner, *, seconds: float) -> Offsets:
    """Prove once more that the plan's offsets are stored and their records exist; return the connector's offsets.

    Raises :class:`NotApplied`, and :class:`Drift` if records were deleted; ``undo`` then restores the prior offsets.
    """
    with _continue_saga(connector, clients, owner, seconds) as executor:
        executor.check()
        resume = next(stage for stage in executor.stages if stage.title == RESUME)
        executor.announce(resume)
        alteration = alteration_in(executor.entry.record)
    return Offsets() if alteration is None else alteration.expected_offsets


def undo(plan: OffsetPlan, clients: Clients, owner: Owner) -> Outcome | None:
    """End the run's lease, and undo what it left unfinished.

    If the connector has its prior state already (it is not STOPPED any more, or was STOPPED before), the change counts
    as done if the plan's offsets were read back.

    Returns:
        The outcome; None if nothing was left.
    """
    left = settle_of(clients, plan.connector, owner, run=owner.run)
    return None if left is None else outcomes.of_recovered(plan, left.sentence, left.record)


def _continue_saga(connector: str, clients: Clients, owner: Owner, seconds: float) -> AbstractContextManager[Executor]:
    """Continue the saga that an earlier task of the run has begun."""
    return continue_saga(
        journal_of(clients, connector), owner, make_registry(clients), seconds=seconds, clock=clients.clock
    )
