"""The steps of a change as functions, for a change that is laid out in several tasks.

``begin`` opens the saga and captures the connector's state; the task that stops the connector does not use the saga.
``alter`` and ``read_back`` continue it; ``undo`` settles what is left of it.
"""

from __future__ import annotations

import logging

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, NotStopped
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.plans import refuse_planned_on, refuse_undone
from airflow_provider_connect_offsets.operations.stages import recovery
from airflow_provider_connect_offsets.operations.stages.captured import ALTER, RESUME, PriorState, alteration_in
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, change_stages
from airflow_provider_connect_offsets.saga import Journal, Owner, Toward
from airflow_provider_connect_offsets.words import counted
from airflow_provider_connect_offsets.workspace.outcome import Outcome

log = logging.getLogger(__name__)


def begin(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner, *, seconds: float) -> State:
    """Claim the connector for the run, and make its prior state durable; what a dead run left is undone first.

    Args:
        plan: The approved plan.
        clients: Clients of its connector.
        journal: The connector's journal.
        owner: This process.
        seconds: How long the lease lasts; the next step continues it.

    Returns:
        The connector's state.

    Raises:
        Overlap: Another run changes the connector.
        Drift: The plan was made from what a dead run had left.
        StoreError: A system does not answer, or refuses.
    """
    refuse_undone(plan, clients, recovery.undo_import(journal, owner, clients))
    with journal.claim(owner) as unfinished:  # ends with the block: an error leaves no lease behind
        settled = recovery.recover(unfinished, Toward.BACK, clients)
        refuse_planned_on(unfinished.record, plan, settled)
    entry = journal.claim_for_run(owner, seconds=seconds)
    stages = change_stages(plan, clients)
    try:
        entry.begin(owner, operation="the change of offsets", key=outcomes.key_of(plan), stages=stages)
        recovery.executor(clients, entry, stages).announce(stages[0])
    except BaseException:
        _end_lease(journal, owner, clients)
        raise
    return PriorState.from_json(entry.record.captures[stages[0].name]).state


def _end_lease(journal: Journal, owner: Owner, clients: Clients) -> None:
    """End the lease of steps that did not begin, as no later task of the run does; if that fails, it runs out."""
    try:
        recovery.undo(journal, owner, clients)
    except ConnectOffsetsError as error:
        log.warning("%s", error)


def refuse_unless_stopped(clients: Clients, connector: str) -> None:
    """Raise :class:`NotStopped` for a connector that runs."""
    status = clients.control.status(connector)
    if not status.is_stopped:
        raise NotStopped(
            f"Nothing was written: {connector!r} is {status.state} with {counted(len(status.tasks), 'task')}. Stop it "
            "first."
        )


def alter(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner, *, seconds: float) -> Offsets:
    """Write the plan, and prove it; ``begin`` and a stop must come first.

    Returns:
        The connector's offsets.

    Raises:
        NotStopped, Overlap, Drift: Nothing was written.
        NotApplied: Something may be written; ``undo`` restores the prior offsets.
    """
    with journal.continued(owner, seconds=seconds) as entry:
        refuse_unless_stopped(clients, plan.connector)
        stage = AlterOffsets(plan.connector, clients, plan)
        recovery.executor(clients, entry, [stage]).make(stage)
        alteration = alteration_in(entry.record)
    return Offsets() if alteration is None else alteration.expected


def read_back(clients: Clients, journal: Journal, owner: Owner, *, seconds: float) -> Offsets:
    """Prove once more that the plan's offsets are stored, and their records exist; returns the connector's offsets.

    Raises :class:`NotApplied`, and :class:`Drift` if records were deleted; ``undo`` then restores the prior offsets.
    """
    with journal.continued(owner, seconds=seconds) as entry:
        stages = {one.title: one for one in recovery.built(entry.record, clients)}
        change = recovery.executor(clients, entry, [stages[ALTER], stages[RESUME]])
        change.check()
        change.announce(stages[RESUME])
        alteration = alteration_in(entry.record)
    return Offsets() if alteration is None else alteration.expected


def undo(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner) -> Outcome | None:
    """End the run's lease, and undo what it left unfinished.

    If the connector has its prior state already (it is not STOPPED any more, or was STOPPED before), the change counts
    as done if the plan's offsets were proved.

    Returns:
        The outcome; None if nothing was left.
    """
    undone = recovery.undo(journal, owner, clients)
    return None if undone is None else outcomes.recovered(plan, *undone)
