"""Offsets that are named one by one, or all of them at once, changed without a plan while the connector is STOPPED.

Held and kept like a planned change: what stood there is durable before anything is written, and whoever comes after a
process that died puts it back.
"""

from __future__ import annotations

from collections.abc import Callable

from airflow_provider_connect_offsets.change import log_positions, recovery, steps
from airflow_provider_connect_offsets.change.doors import Doors
from airflow_provider_connect_offsets.change.journal import Entry, Journal
from airflow_provider_connect_offsets.change.lease import Owner
from airflow_provider_connect_offsets.change.record import Phase
from airflow_provider_connect_offsets.change.recovery import WayOut
from airflow_provider_connect_offsets.change.stepwise import refuse_unless_still
from airflow_provider_connect_offsets.exceptions import InvalidRequest, OutcomeUnknown, Overlap, StoreError
from airflow_provider_connect_offsets.offsets.document import Entry as StoredEntry
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.stores.protocols import State


def alter(doors: Doors, journal: Journal, owner: Owner, changes: Offsets) -> int:
    """Write ``changes`` to a connector that is STOPPED, and prove them; returns how many partitions.

    What a dead run left is restored first. Raises :class:`InvalidRequest` for what its family refuses,
    :class:`Unsupported` by a worker that is too old, :class:`NotStopped` and :class:`Overlap` before anything is
    written, :class:`NotApplied`, after which the prior offsets are back, and :class:`LeftStopped` where they could not
    be proved.
    """
    connector = journal.connector
    doors.control.require_offset_changes()
    info = doors.control.info(connector)
    for change in changes:
        offset = None if change.offset is None else parse_map(change.offset)
        for finding in info.family.check(parse_map(change.partition), offset, info.config):
            raise InvalidRequest(
                f"Nothing was written: {connector!r}, partition {change.partition}: {finding.message}."
            )
    refuse_unless_still(doors, connector)
    gone = log_positions.out_of_log(doors, log_positions.positions_in(info.family, changes))
    if gone:
        raise InvalidRequest(f"Nothing was written: {log_positions.told(connector, gone)}")

    def write(before: Offsets) -> Offsets:
        steps.alter(doors, connector, changes, expected=before.updated(changes))
        return changes

    return len(_changed(doors, journal, owner, write, lambda _before: changes))


def reset(doors: Doors, journal: Journal, owner: Owner) -> int:
    """Remove all offsets of a connector that is STOPPED, and prove it; returns how many there were.

    Raises as :func:`alter` does, and what the worker said where it refused.
    """
    connector = journal.connector
    doors.control.require_offset_changes()
    refuse_unless_still(doors, connector)

    def write(before: Offsets) -> Offsets:
        doors.offsets.reset_offsets(connector)
        steps.prove(doors, connector, Offsets())
        return before

    def removed(before: Offsets) -> Offsets:
        return Offsets.of([StoredEntry(one.partition, None) for one in before])

    return len(_changed(doors, journal, owner, write, removed).stored())


def _changed(
    doors: Doors,
    journal: Journal,
    owner: Owner,
    write: Callable[[Offsets], Offsets],
    changes: Callable[[Offsets], Offsets],
) -> Offsets:
    """Hold the connector, keep what stands, and write; both functions are given that. Gives what ``write`` does."""
    if journal.is_held_by(owner.run):
        raise InvalidRequest(
            f"Nothing was written: this run holds {journal.connector!r} for the plan that it has begun. Give run_uri "
            "and digest of that plan, or leave the begin out."
        )
    with journal.claim(owner) as entry:
        recovery.recover(doors, entry, WayOut.BACK)
        refuse_unless_still(doors, journal.connector)
        entry.begin(owner)
        before = doors.offsets.read_offsets(journal.connector)
        stopped = {"prior_state": State.STOPPED, "prior_tasks": 0}
        entry.note(Phase.ALTERING, **stopped, prior_offsets=before, changes=changes(before))
        try:
            written = write(before)
            entry.note(Phase.APPLIED)
        except Overlap:
            raise
        except BaseException as error:
            _undo(doors, entry, error)
            raise
    return written


def _undo(doors: Doors, entry: Entry, error: BaseException) -> None:
    """Put back what stood there, unless the worker refused, and nothing can be on its way any more."""
    entry.go_on_in_memory()
    said = error.__cause__ or error
    refused = isinstance(said, StoreError) and not isinstance(said, OutcomeUnknown)
    before = entry.record.prior_offsets or Offsets()
    if refused and not steps.differences(doors.offsets.read_offsets(entry.record.connector), before):
        entry.note(Phase.RESTORED)
    else:
        recovery.restore(doors, entry)
