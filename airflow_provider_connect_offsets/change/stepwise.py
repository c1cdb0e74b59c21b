"""The same change in single steps, for those who lay it out as tasks of their own; the journal ties them together.

``begin`` holds the connector for the run, ``alter`` writes and proves under that hold, and ``take_back`` (in a
teardown) ends it: nothing to do where the connector was given back, everything put back where it was not.
"""

from __future__ import annotations

from airflow_provider_connect_offsets.change import log_positions, outcomes, recovery, steps
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.journal import Journal
from airflow_provider_connect_offsets.change.lease import Owner
from airflow_provider_connect_offsets.change.record import Phase, moment
from airflow_provider_connect_offsets.change.recovery import WayOut
from airflow_provider_connect_offsets.exceptions import NotStopped
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.stores.protocols import State
from airflow_provider_connect_offsets.workspace.outcome import Outcome


def begin(plan: OffsetPlan, doors: Doors, journal: Journal, owner: Owner, *, seconds: float) -> State:
    """Hold the connector for ``seconds`` and make its prior state durable; returns that state. Changes nothing else.

    Raises :class:`Overlap` where another run holds it. What a dead run left is restored first.
    """
    entry = journal.hold(owner, seconds=seconds)
    recovery.recover(doors, entry, WayOut.BACK)
    entry.begin(owner)
    status = steps.told_status(doors, plan.connector)
    prior = steps.state_to_give_back(status)
    known = {"digest": plan.digest, "observed_at": moment(plan.observed_at)}
    entry.note(Phase.STOPPING, prior_state=prior, prior_tasks=len(status.tasks), **known)
    return prior


def refuse_unless_still(doors: Doors, connector: str) -> None:
    """Raise :class:`NotStopped` for a connector that runs."""
    status = doors.control.status(connector)
    if not status.stands_still:
        raise NotStopped(
            f"Nothing was written: {connector!r} is {status.state} with {len(status.tasks)} tasks. Stop it first."
        )


def alter(plan: OffsetPlan, doors: Doors, journal: Journal, owner: Owner, *, seconds: float) -> Offsets:
    """Write the plan and prove it; returns what stands. The connector must stand still, and be held by this run.

    Raises :class:`NotStopped`, :class:`Overlap`, :class:`Drift` before anything is written, and :class:`NotApplied`,
    after which ``take_back`` restores.
    """
    with journal.held(owner, seconds=seconds) as entry:
        refuse_unless_still(doors, plan.connector)
        at_stop = doors.offsets.read_offsets(plan.connector)
        rebased = steps.rebase(plan, doors, at_stop, moving=entry.record.prior_state is State.RUNNING)
        positions = log_positions.observe(doors, rebased, at_stop)
        expected = at_stop.updated(rebased.changes())
        entry.note(Phase.ALTERING, prior_offsets=at_stop, changes=rebased.changes(), positions=positions)
        if rebased.changed_rows():
            steps.alter(doors, plan.connector, rebased.changes(), expected=expected)
    return expected


def read_back(doors: Doors, journal: Journal, owner: Owner, *, seconds: float) -> Offsets:
    """Prove once more that what was to be written stands, and its records are there; returns it.

    Raises :class:`NotApplied`, and :class:`Drift` where records were deleted, after which ``take_back`` restores.
    """
    with journal.held(owner, seconds=seconds) as entry:
        expected = entry.record.expected() or Offsets()
        steps.prove(doors, entry.record.connector, expected)
        log_positions.refuse_deleted(doors, entry.record.connector, entry.record.positions)
        entry.note(Phase.PROVED)
    return expected


def take_back(plan: OffsetPlan, doors: Doors, journal: Journal, owner: Owner) -> Outcome | None:
    """End the run's hold; whatever it left unfinished is restored. Gives the outcome, None where nothing was left.

    Where the connector has been given back already (it no longer stands still, or was stopped before), the change
    counts as done if the plan's offsets were proved.
    """
    with journal.claim(owner) as entry:
        told = recovery.recover(doors, entry, WayOut.BACK)
        return None if told is None else outcomes.recovered(plan, entry.record, told)
