"""The way back, and what becomes of a change whose process died: finished, or restored, never left in between."""

from __future__ import annotations

import logging
from enum import StrEnum

from airflow_provider_connect_offsets.change import flow_steps, log_positions, steps
from airflow_provider_connect_offsets.change.doors import Doors, Origin
from airflow_provider_connect_offsets.change.journal import Entry
from airflow_provider_connect_offsets.change.record import Phase, Record
from airflow_provider_connect_offsets.exceptions import Interfered, LeftStopped, NotApplied, StoreError
from airflow_provider_connect_offsets.stores.protocols import State
from airflow_provider_connect_offsets.workspace import files

log = logging.getLogger(__name__)


class WayOut(StrEnum):
    """What becomes of an unfinished change whose offsets are written: kept where they are proved, or taken back."""

    FORWARD = "forward"
    BACK = "back"


def recover(doors: Doors, entry: Entry, way_out: WayOut) -> str | None:
    """Finish or restore what the entry's record left unfinished; say what was done, None where nothing was left.

    Raises :class:`LeftStopped` where neither could be proved, and store errors; the record then stays unfinished, so
    that the next one to come tries again. Raises :class:`Overlap` for a reset where ``doors`` lead to offsets only.
    """
    record = entry.record
    if record.phase is Phase.CLAIMED or record.phase.is_final:
        return None
    flow_steps.refuse_without_clusters(doors, record)
    told = _recovered(doors, entry, way_out)
    log.warning(told)
    return told


def _recovered(doors: Doors, entry: Entry, way_out: WayOut) -> str:
    record = entry.record
    whose = f"{record.connector!r}: the change of run {record.owner.run!r}, which ended before its time,"
    flow_steps.mend(doors, record.beside)
    if steps.told_status(doors, record.connector).state is not State.STOPPED:
        return _found_running(doors, entry, whose)
    expected = record.expected()
    if expected is None:
        give_back_state(doors, entry)
        entry.note(Phase.RESTORED)
        return f"{whose} had written nothing; the connector is {record.prior_state} again."
    flow_steps.ask_to_stop(doors, record.beside)
    flow_steps.await_stopped(doors, record.beside)
    standing = doors.offsets.read_offsets(record.connector)
    proved = not steps.differences(standing, expected)
    # Proved and given back as STOPPED looks just like proved and not yet given back.
    complete = record.phase is Phase.PROVED and record.prior_state is State.STOPPED
    back = record.phase in {Phase.RESTORING, Phase.RETURNING}
    forward = proved and way_out is WayOut.FORWARD and not back
    if (proved and complete) or (forward and not log_positions.requested_gone(doors, record.positions)):
        empty_beside(doors, entry)
        entry.note(Phase.PROVED)
        give_back_state(doors, entry)
        return f"{whose} was applied and proved; the connector is {record.prior_state} again.{_applied(doors, entry)}"
    gone = restore(doors, entry)
    restored = f"prior offsets are proved, and the connector is {record.prior_state} again."
    return f"{whose} was taken back: {restored}{_lost(entry)}{gone}"


def note_applied(doors: Doors, entry: Entry) -> str:
    """Note that the change is applied, and in ``deleted`` which records at its positions are gone by now.

    Returns a warning where the logs could not be looked at, else nothing: the offsets are proved in any case.
    """
    record = entry.record
    try:
        gone = log_positions.told(record.connector, log_positions.requested_gone(doors, record.positions))
    except StoreError as error:
        entry.note(Phase.APPLIED)
        return f"{error} So nobody knows whether records at the positions of {record.connector!r} were deleted."
    deleted = (
        f"The offsets of {record.connector!r} were changed and read back, and it is {record.prior_state} again, but "
        f"records at its positions were deleted as it resumed: {gone} What it had not read of them by then can't be "
        "delivered any more. Compare what has arrived, and raise retention.ms of the topic before a new run."
    )
    entry.note(Phase.APPLIED, deleted=deleted if gone else "")
    return ""


def _applied(doors: Doors, entry: Entry) -> str:
    """Note it as applied; what else there is to say of it, with a space before."""
    text = note_applied(doors, entry) or entry.record.deleted
    return f" {text}" if text else ""


def empty_beside(doors: Doors, entry: Entry) -> None:
    """Empty the topics of a flow that is reset, as far as that isn't done; raises store errors."""
    if entry.record.beside is not None and entry.record.phase is not Phase.PROVED:
        entry.note(Phase.EMPTYING, beside=flow_steps.emptying(entry.record.beside))
        flow_steps.empty(doors, entry.record.beside)


def _lost(entry: Entry) -> str:
    return "" if entry.record.beside is None else entry.record.beside.lost


def _found_running(doors: Doors, entry: Entry, whose: str) -> str:
    """It runs: nothing had been stopped yet, or all was done but the last note, or someone else resumed it."""
    record = entry.record
    if record.phase is Phase.PROVED:
        give_back_state(doors, entry)
        return f"{whose} was applied and proved.{_applied(doors, entry)}"
    if record.expected() is None:
        give_back_state(doors, entry)
        entry.note(Phase.RESTORED)
        return f"{whose} had written nothing."
    if record.phase is Phase.RETURNING:
        give_back_state(doors, entry)
        entry.note(Phase.RESTORED)
        return f"{whose} had been taken back; the connector is {record.prior_state} again.{_lost(entry)}"
    return f"{whose} was under way when {_abandoned(doors, entry)}"


def _refuse_if_resumed(doors: Doors, entry: Entry) -> None:
    """Raise :class:`Interfered` for a connector that runs again: nothing can be written then."""
    if steps.told_status(doors, entry.record.connector).state is not State.STOPPED:
        raise Interfered(f"The change of {entry.record.connector!r} was under way when {_abandoned(doors, entry)}")


def _abandoned(doors: Doors, entry: Entry) -> str:
    """Give the connector up to whoever resumed it, and say so."""
    flow_steps.ask_to_give_back(doors, entry.record)
    entry.note(Phase.ABANDONED)
    return (
        "someone else resumed the connector; its offsets are left as they are now. To go back to what they were, stop "
        f"the connector and {_by_hand(doors, entry)}.{_lost(entry)}"
    )


def restore(doors: Doors, entry: Entry) -> str:
    """Put back the prior offsets, prove them, and give back the prior state.

    Returns a sentence, with a space before, about records at the prior positions that are gone by now; empty where
    none are. Raises :class:`LeftStopped` where the offsets can't be proved, and where resuming on them would skip
    records that were there at the stop; the connector then stays STOPPED. Raises :class:`Interfered` where someone
    else has resumed it.
    """
    record = entry.record
    if record.prior_offsets is None or record.changes is None:
        raise ValueError(f"the record of {record.connector!r} holds no prior offsets to restore")
    entry.note(Phase.RESTORING)
    back = record.prior_offsets.only(change.partition for change in record.changes)
    try:
        for attempt in steps.until_it_stands(doors):
            with attempt:
                _refuse_if_resumed(doors, entry)
                # Even where all reads as before: the write that was given up may still be on its way, and Connect
                # carries this one out behind it.
                steps.alter(doors, record.connector, back, expected=record.prior_offsets)
                # Once more: one that was overtaken all the same would show up now.
                steps.prove(doors, record.connector, record.prior_offsets)
    except (StoreError, NotApplied) as error:
        raise left_stopped(doors, entry, str(error)) from error
    flow_steps.mend(doors, record.beside)
    gone = _prior_gone(doors, record)
    if gone and record.prior_state is State.RUNNING:
        raise LeftStopped(
            f"{record.connector!r} stays STOPPED: its prior offsets were put back and read back, but records at them "
            f"were deleted while it was STOPPED: {gone} Resumed, it goes on where auto.offset.reset decides. To accept "
            f"that, send PUT /connectors/{record.connector}/resume; to choose another position, do so and plan anew."
        )
    entry.note(Phase.RETURNING)
    give_back_state(doors, entry)
    entry.note(Phase.RESTORED)
    return f" Records at its prior positions were deleted meanwhile: {gone}" if gone else ""


def _prior_gone(doors: Doors, record: Record) -> str:
    """Name the prior positions whose records were deleted since the stop; empty where nobody can tell."""
    try:
        return log_positions.told(record.connector, log_positions.prior_gone(doors, record.positions))
    except StoreError as error:
        # The prior offsets are proved, and brokers that do not answer are no reason to keep a connector down.
        log.warning("%s So nobody knows whether records at the prior positions were deleted.", error)
        return ""


def give_back_state(doors: Doors, entry: Entry) -> None:
    """Bring the connector back into the state it had, unless it is there already.

    While it is being stopped, what it is now says nothing: the stop may still be on its way, so the state is asked for
    in any case. Connect carries requests out in the order in which they come.
    """
    record = entry.record
    wanted = record.prior_state or State.RUNNING
    flow_steps.ask_to_give_back(doors, record)
    if record.phase is Phase.STOPPING or doors.control.status(record.connector).state is not wanted:
        steps.give_back(doors, record.connector, wanted, tasks=record.prior_tasks)
    flow_steps.await_given_back(doors, record)


def left_stopped(doors: Doors, entry: Entry, why: str) -> LeftStopped:
    """Say what stands there, and which calls repair it."""
    record = entry.record
    return LeftStopped(
        f"{record.connector!r} stays STOPPED: neither the plan nor its prior offsets could be proved. {why} To put the "
        f"prior offsets back: run the task again, or {_by_hand(doors, entry)}{_then(doors, record)}."
    )


def _by_hand(doors: Doors, entry: Entry) -> str:
    """How a person puts the prior offsets back, which are kept for that."""
    kept = keep_prior_offsets(entry)
    if doors.origin is Origin.REST:
        return f"send PATCH /connectors/{entry.record.connector}/offsets with the body kept in {kept}"
    return f"run connector_offsets_change with control=storage, to=file and value={kept}"


def _then(doors: Doors, record: Record) -> str:
    """How the connector gets its state again; what is changed in its storage is started by whoever stopped it."""
    path, prior = f"/connectors/{record.connector}", record.prior_state or State.RUNNING
    if doors.origin is not Origin.REST or prior is State.STOPPED:
        return ""
    return f", then PUT {path}/pause" if prior is State.PAUSED else f", then PUT {path}/resume"


def keep_prior_offsets(entry: Entry) -> str:
    """Write the prior offsets of what is to be changed as a body for PATCH, and return where it lies."""
    uri = entry.file("prior_offsets")
    files.write_json(uri, _body(entry.record))
    return uri


def _body(record: Record) -> dict[str, object]:
    if record.prior_offsets is None or record.changes is None:
        return {"offsets": []}
    return record.prior_offsets.only(change.partition for change in record.changes).rest_body()
