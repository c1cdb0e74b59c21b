"""Undoes the stages of a saga, as far as that is possible."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace

from airflow_provider_connect_offsets.exceptions import ConnectOffsetsError, Interfered, Overlap, Unforeseen
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.record import Progress, SagaState
from airflow_provider_connect_offsets.saga.stage import Downtime, Found, Kind, Stage, Undoing

log = logging.getLogger(__name__)
ONLY_FORWARD = frozenset({Kind.FORWARD, Kind.PROOF})


def undo(
    entry: JournalEntry, stages: Sequence[Stage], error: BaseException | None, *, keeping: Collection[str] = ()
) -> tuple[str, list[ConnectOffsetsError]]:
    """Undo captured stages in reverse order, but stages that begin a downtime after all others.

    Skips stages that share resources with a stage that could not be undone. Requests the prior states of all connectors
    before it waits for any, because a connector may need another connector to start.

    Args:
        entry: The saga's journal entry.
        stages: Its stages.
        error: What ended the operation; None if its process died.
        keeping: As in ``Executor.settle``.

    Returns:
        Sentences about what can't be undone, and the errors of the stages that failed.
    """
    lost, failures, kept = "", list[ConnectOffsetsError](), False
    blocked = frozenset[str]()
    entry.note(SagaState.BACK)
    others, downtimes = _in_order(entry, stages, keeping)
    for stage in (*others, *downtimes):
        if downtimes and stage is downtimes[0]:
            _request(
                [one for one in downtimes if not one.resources & blocked and one.name not in keeping], entry, error
            )
        if stage.resources & blocked:
            continue
        if stage.name in keeping and not failures and _is_done(entry, stage):
            kept = True
            continue
        try:
            lost += stage.undo(entry.record.stage(stage.name).captured, _make_undoing(entry, stage, error))
        except Overlap:
            raise
        except Exception as failure:  # of any kind: other connectors must not stay down for it
            log.warning("The step %s could not be undone.", stage.name, exc_info=True)
            failures.append(Unforeseen.of(failure, f"The undo of {stage.name!r}"))
            blocked |= stage.resources
        else:
            entry.note(SagaState.BACK, stage=replace(entry.record.stage(stage.name), progress=Progress.UNDONE))
    if not failures and not kept:
        entry.note(SagaState.UNDONE)
    elif failures and all(isinstance(failure, Interfered) for failure in failures):
        entry.note(SagaState.ABANDONED)
    return lost, failures


def _in_order(
    entry: JournalEntry, stages: Sequence[Stage], keeping: Collection[str]
) -> tuple[list[Stage], list[Stage]]:
    """Return the stages that are undone first, and the stages that begin a downtime, with the kept stages last."""
    captured = [one for one in reversed(stages) if entry.record.stage(one.name).progress.is_captured]
    undoable = [one for one in captured if one.kind not in ONLY_FORWARD]
    downtimes = [one for one in undoable if one.downtime is Downtime.BEGINS]
    # Kept stages come last: by then it is known whether all other stages could be undone.
    return [one for one in undoable if one not in downtimes], sorted(downtimes, key=lambda one: one.name in keeping)


def _request(stages: Sequence[Stage], entry: JournalEntry, error: BaseException | None) -> None:
    """Request the prior states of several stages; the undo itself repeats, and reports, a request that fails now."""
    if len(stages) < 2:
        return
    for stage in stages:
        try:
            stage.request_undo(entry.record.stage(stage.name).captured, _make_undoing(entry, stage, error))
        except Overlap:
            raise
        except Exception:
            log.warning("The undo of %s could not be requested yet.", stage.name, exc_info=True)


def _is_done(entry: JournalEntry, stage: Stage) -> bool:
    return stage.find(entry.record.stage(stage.name).captured).found is Found.DONE


def _make_undoing(entry: JournalEntry, stage: Stage, error: BaseException | None) -> Undoing:
    return Undoing(entry.record.stage(stage.name).progress is Progress.DONE, error, entry.keep)
