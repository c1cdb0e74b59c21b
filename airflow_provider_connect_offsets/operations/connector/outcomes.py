"""Outcomes of a change, for the report, the task's summary and later runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import (
    Drift,
    Interfered,
    LeftStopped,
    NotApplied,
    Overlap,
    RecordsDeleted,
)
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan, PlanRow
from airflow_provider_connect_offsets.operations.stages.captured import (
    RESUME,
    Alteration,
    alteration_in,
    alteration_of,
    describe_deleted,
    prior_state_in,
)
from airflow_provider_connect_offsets.saga import Owner, Progress, SagaRecord, SagaState
from airflow_provider_connect_offsets.words import quantify
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result

# Results after which offsets and state are known.
_KNOWN = frozenset({Result.APPLIED, Result.RESTORED, Result.RECORDS_DELETED})


def key_of(plan: OffsetPlan) -> str:
    """Return the key by which a retry finds its own saga: the plan, and when its offsets were observed.

    A cleared run may make the same plan again from a new observation, and has not applied that yet.
    """
    return f"{plan.digest} {'' if plan.observed_at is None else plan.observed_at.isoformat()}"


def of_applied(plan: OffsetPlan, owner: Owner, at_stop: Offsets) -> Outcome:
    """Return the outcome of a plan whose offsets were written over ``at_stop``, and read back."""
    count = len(plan.changed_rows())
    return _outcome(
        plan,
        owner,
        Result.APPLIED,
        f"Offsets of {quantify(count, 'partition')} of {plan.connector!r} were changed and read back.",
        offsets=_list_moved(plan, at_stop, at_stop.with_changes(plan.changes())),
    )


def of_applied_before(plan: OffsetPlan, record: SagaRecord) -> Outcome:
    """Return the outcome of a plan that an earlier attempt had applied before it ended without an outcome."""
    message = f"An earlier attempt of this task has applied the change of {plan.connector!r} and read it back."
    return _of_saga(plan, record, Result.APPLIED, message, alteration_in(record))


def of_recovered(plan: OffsetPlan, message: str, record: SagaRecord) -> Outcome:
    """Return the outcome of a saga that was left unfinished, and settled; ``message`` describes how."""
    applied_as = Result.RECORDS_DELETED if describe_deleted(record) else Result.APPLIED
    result = {SagaState.DONE: applied_as, SagaState.UNDONE: Result.RESTORED}.get(record.state, Result.UNKNOWN)
    return _of_saga(plan, record, result, message, alteration_of(record, plan.connector))


def of_unchanged(plan: OffsetPlan, owner: Owner) -> Outcome:
    """Return the outcome of a plan without changes."""
    message = f"Nothing was changed: no offset of {plan.connector!r} needed a change."
    return _outcome(plan, owner, Result.UNCHANGED, message)


def of_failed(plan: OffsetPlan, owner: Owner, error: BaseException, record: SagaRecord | None) -> Outcome:
    """Return the outcome of a task that ended with ``error``.

    Args:
        plan: The plan.
        owner: The task.
        error: Its error.
        record: The saga's record; None if it has none.
    """
    result = _result_of(error, record)
    is_explained = result is not Result.REFUSED or str(error).startswith("Nothing was ")
    message = str(error) if is_explained else f"Nothing was changed. {error}"
    if record is None:
        return _outcome(plan, owner, result, message)
    ended = replace(_of_saga(plan, record, result, message, alteration_in(record)), run=owner.run)
    # What was applied may have been left in another state.
    return replace(ended, final_state=None) if result is Result.APPLIED else ended


def _result_of(error: BaseException, record: SagaRecord | None) -> Result:
    if isinstance(error, NotApplied):
        return Result.RESTORED
    if isinstance(error, LeftStopped):
        return Result.LEFT_STOPPED
    if isinstance(error, RecordsDeleted) and record is not None:
        return Result.RECORDS_DELETED
    if isinstance(error, Drift):  # even if an earlier attempt applied it: something else is stored by now
        return Result.REFUSED
    taken_over = isinstance(error, Overlap) and record is not None and record.is_begun
    if isinstance(error, Interfered) or taken_over:
        return Result.UNKNOWN
    resume = None if record is None else record.of_title(RESUME)
    # The resume begins once everything else is verified; only restoring the connector's prior state has failed.
    is_proved = resume is not None and resume.progress is not Progress.PENDING
    return Result.APPLIED if is_proved else Result.REFUSED


def _of_saga(
    plan: OffsetPlan, record: SagaRecord, result: Result, message: str, alteration: Alteration | None
) -> Outcome:
    """Return the outcome of a saga, with states and offsets as far as they are known."""
    prior, moved = prior_state_in(record), tuple[MovedOffset, ...]()
    state = None if prior is None else prior.value
    if alteration is not None and result in _KNOWN:
        stored = alteration.prior_offsets if result is Result.RESTORED else alteration.expected_offsets
        moved = _list_moved(plan, alteration.prior_offsets, stored)
    return replace(
        _outcome(plan, record.owner, result, message, offsets=moved),
        prior_state=state,
        final_state=state if result in _KNOWN else None,
    )


def _outcome(
    plan: OffsetPlan, owner: Owner, result: Result, message: str, *, offsets: tuple[MovedOffset, ...] = ()
) -> Outcome:
    now = datetime.now(tz=UTC)
    return Outcome(
        connector=plan.connector,
        run=owner.run,
        result=result,
        message=message,
        digest=plan.digest,
        prior_state=None,
        final_state=None,
        downtime_seconds=None,
        started_at=now,
        finished_at=now,
        warnings=(),
        offsets=offsets,
    )


def _list_moved(plan: OffsetPlan, at_stop: Offsets, stored: Offsets) -> tuple[MovedOffset, ...]:
    before, now = at_stop.by_partition(), stored.by_partition()
    return tuple(
        _row(plan, row, before=before.get(row.partition), stored=now.get(row.partition)) for row in plan.changed_rows()
    )


def _row(plan: OffsetPlan, row: PlanRow, *, before: str | None, stored: str | None) -> MovedOffset:
    position = plan.family.position_in
    return MovedOffset(
        partition=row.partition,
        topic=row.topic,
        kafka_partition=row.kafka_partition,
        before=before,
        before_position=position(before),
        after=row.after,
        after_position=row.after_position,
        stands=stored,
        # An offset that isn't stored has no position of its own; for MirrorSource it means 0.
        stands_position=position(stored) if stored is not None or row.after is not None else row.after_position,
    )
