"""A connector that stands still for as long as a run of several tasks needs it to; the journal ties them together."""

from __future__ import annotations

from airflow_provider_connect_offsets.change import recovery, steps
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.journal import Journal
from airflow_provider_connect_offsets.change.lease import Owner
from airflow_provider_connect_offsets.change.record import Phase
from airflow_provider_connect_offsets.change.recovery import WayOut
from airflow_provider_connect_offsets.stores.protocols import State


def hold_still(doors: Doors, journal: Journal, owner: Owner, *, seconds: float) -> State:
    """Hold the connector for ``seconds``, stop it and wait until it stands still; gives the state that it had.

    Raises :class:`Overlap` where another run holds it, :class:`NotStopped`, and store errors. What a dead run left is
    restored first; ``take_back`` gives the state back.
    """
    entry = journal.hold(owner, seconds=seconds)
    recovery.recover(doors, entry, WayOut.BACK)
    entry.begin(owner)
    status = steps.told_status(doors, journal.connector)
    prior = steps.state_to_give_back(status)
    entry.note(Phase.STOPPING, prior_state=prior, prior_tasks=len(status.tasks))
    steps.stop(doors, journal.connector)
    entry.note(Phase.STOPPED)
    return prior


def leave_stopped(journal: Journal, owner: Owner, *, seconds: float) -> None:
    """End the hold with the connector as it is: STOPPED."""
    with journal.held(owner, seconds=seconds) as entry:
        entry.note(Phase.APPLIED)


def give_back(doors: Doors, journal: Journal, owner: Owner, *, seconds: float) -> None:
    """End the hold, with the connector in the state that it had; raises :class:`NotRunning` and store errors."""
    with journal.held(owner, seconds=seconds) as entry:
        recovery.give_back_state(doors, entry)
        entry.note(Phase.APPLIED)


def take_back(doors: Doors, journal: Journal, owner: Owner) -> str | None:
    """End the hold and give the connector the state that it had; None where nothing was left to give back."""
    with journal.claim(owner) as entry:
        return recovery.recover(doors, entry, WayOut.BACK)
