"""The stages of a change one by one, for those who lay a change out in tasks of their own.

``begin`` opens the saga and captures the state that the connector has; stopping it is a task that knows nothing of the
saga. ``undo`` settles whatever is left of it.
"""

from __future__ import annotations

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import NotStopped
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.plans import refuse_planned_on, refuse_undone
from airflow_provider_connect_offsets.operations.stages import recovery
from airflow_provider_connect_offsets.operations.stages.captured import ALTER, RESUME, PriorState, alteration_in
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, change_stages
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.outcome import Outcome


def begin(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner, *, seconds: float) -> State:
    """Hold the connector for ``seconds`` and make its prior state durable; returns that state. Changes nothing else.

    Raises :class:`Overlap` where another run holds it. What a dead run left is restored first; raises :class:`Drift`
    where the plan was made from that.
    """
    import_told = recovery.undo_import(journal, owner, clients)
    if import_told is not None:
        refuse_undone(plan, clients.offsets.read_offsets(plan.connector), import_told)
    with journal.claim(owner) as left:  # not held yet: who fails here holds nothing
        told = recovery.recover(left, Toward.BACK, clients)
        if told is not None:
            refuse_planned_on(left.record, plan, told)
    entry = journal.claim_for_run(owner, seconds=seconds)
    stages = change_stages(plan, clients)
    entry.begin(owner, operation="the change of offsets", key=outcomes.key_of(plan), stages=stages)
    recovery.executor(clients, entry, list(stages)).announce(stages[0])
    return PriorState.of(entry.record.captures[stages[0].name]).state


def refuse_unless_still(clients: Clients, connector: str) -> None:
    """Raise :class:`NotStopped` for a connector that runs."""
    status = clients.control.status(connector)
    if not status.is_stopped:
        raise NotStopped(
            f"Nothing was written: {connector!r} is {status.state} with {len(status.tasks)} tasks. Stop it first."
        )


def alter(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner, *, seconds: float) -> Offsets:
    """Write the plan and prove it; returns what stands. The connector must be STOPPED, and held by this run.

    Raises :class:`NotStopped`, :class:`Overlap`, :class:`Drift` before anything is written, and :class:`NotApplied`,
    after which ``undo`` restores.
    """
    with journal.continued(owner, seconds=seconds) as entry:
        refuse_unless_still(clients, plan.connector)
        stage = AlterOffsets(plan.connector, clients, plan)
        recovery.executor(clients, entry, [stage]).make(stage)
        found = alteration_in(entry.record)
    return Offsets() if found is None else found.expected


def read_back(clients: Clients, journal: Journal, owner: Owner, *, seconds: float) -> Offsets:
    """Prove once more that what was to be written stands, and its records are there; returns it.

    Raises :class:`NotApplied`, and :class:`Drift` where records were deleted, after which ``undo`` restores.
    """
    with journal.continued(owner, seconds=seconds) as entry:
        stages = {one.title: one for one in recovery.built(entry.record, clients)}
        change = recovery.executor(clients, entry, [stages[ALTER], stages[RESUME]])
        change.check()
        change.announce(stages[RESUME])
        found = alteration_in(entry.record)
    return Offsets() if found is None else found.expected


def undo(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner) -> Outcome | None:
    """End the run's hold; whatever it left unfinished is restored. Gives the outcome, None where nothing was left.

    Where the connector has been given back already (it is not STOPPED any more, or was STOPPED before), the change
    counts as done if the plan's offsets were proved.
    """
    with journal.claim(owner) as entry:
        told = recovery.recover(entry, Toward.BACK, clients)
        return None if told is None else outcomes.recovered(plan, entry.record, told)
