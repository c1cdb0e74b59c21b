"""Outcomes of a change, for the report, the task's summary and later runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import Interfered, LeftStopped, NotApplied, RecordsDeleted
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan, PlanRow
from airflow_provider_connect_offsets.operations.stages.captured import (
    RESUME,
    alteration_in,
    alteration_of,
    deleted_in,
    prior_state_in,
)
from airflow_provider_connect_offsets.saga import Owner, Progress, SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result


def key_of(plan: OffsetPlan) -> str:
    """Return the key by which a retry finds its own saga: the plan, and when its offsets were observed.

    A cleared run may make the same plan again from a new observation, and has not applied that yet.
    """
    return f"{plan.digest} {'' if plan.observed_at is None else plan.observed_at.isoformat()}"


def applied(plan: OffsetPlan, owner: Owner, at_stop: Offsets) -> Outcome:
    """Return the outcome of a plan whose offsets were written over ``at_stop``, and read back."""
    count = len(plan.changed_rows())
    return _outcome(
        plan,
        owner,
        Result.APPLIED,
        f"Offsets of {count} {'partition' if count == 1 else 'partitions'} of {plan.connector!r} were changed and read "
        "back.",
        offsets=_moved(plan, at_stop, at_stop.updated(plan.changes())),
    )


def applied_before(plan: OffsetPlan, record: SagaRecord) -> Outcome:
    """Return the outcome of a plan that an earlier attempt had applied before it ended without an outcome."""
    alteration = alteration_in(record)
    outcome = _outcome(
        plan,
        record.owner,
        Result.APPLIED,
        f"The change of {plan.connector!r} had been applied and read back by an earlier attempt of this task.",
        offsets=() if alteration is None else _moved(plan, alteration.prior_offsets, alteration.expected),
    )
    prior = _prior(record)
    return replace(outcome, prior_state=prior, final_state=prior)


def recovered(plan: OffsetPlan, record: SagaRecord, message: str) -> Outcome:
    """Return the outcome of a saga that was left unfinished, and settled; ``message`` describes how."""
    applied_as = Result.RECORDS_DELETED if deleted_in(record) else Result.APPLIED
    result = {SagaState.DONE: applied_as, SagaState.UNDONE: Result.RESTORED}.get(record.state, Result.UNKNOWN)
    alteration = alteration_of(record, plan.connector)
    moved: tuple[MovedOffset, ...] = ()
    if alteration is not None and result is not Result.UNKNOWN:
        stored = alteration.prior_offsets if result is Result.RESTORED else alteration.expected
        moved = _moved(plan, alteration.prior_offsets, stored)
    return replace(
        _outcome(plan, record.owner, result, message, offsets=moved),
        prior_state=_prior(record),
        final_state=None if result is Result.UNKNOWN else _prior(record),
    )


def unchanged(plan: OffsetPlan, owner: Owner) -> Outcome:
    """Return the outcome of a plan without changes."""
    message = f"Nothing was changed: {plan.connector!r} is at its requested positions, or further."
    return _outcome(plan, owner, Result.UNCHANGED, message)


def failed(plan: OffsetPlan, owner: Owner, error: BaseException, record: SagaRecord | None) -> Outcome:
    """Return the outcome of a task that ended with ``error``.

    Args:
        plan: The plan.
        owner: The task.
        error: Its error.
        record: The saga's record; None if it has none.
    """
    alteration = None if record is None else alteration_in(record)
    result = Result.REFUSED
    if isinstance(error, NotApplied):
        result = Result.RESTORED
    elif isinstance(error, LeftStopped):
        result = Result.LEFT_STOPPED
    elif isinstance(error, RecordsDeleted) and record is not None:
        result = Result.RECORDS_DELETED
    elif isinstance(error, Interfered):
        result = Result.UNKNOWN
    elif record is not None and _is_proved(record):
        # Proved, but the connector's prior state could not be restored.
        result = Result.APPLIED
    moved: tuple[MovedOffset, ...] = ()
    if alteration is not None and result is Result.RESTORED:
        moved = _moved(plan, alteration.prior_offsets, alteration.prior_offsets)
    elif alteration is not None and result in {Result.RECORDS_DELETED, Result.APPLIED}:
        moved = _moved(plan, alteration.prior_offsets, alteration.expected)
    is_explained = result is not Result.REFUSED or str(error).startswith("Nothing was ")
    message = str(error) if is_explained else f"Nothing was changed. {error}"
    prior = None if record is None else _prior(record)
    return replace(
        _outcome(plan, owner, result, message, offsets=moved),
        prior_state=prior,
        final_state=prior if result in {Result.RESTORED, Result.RECORDS_DELETED} else None,
    )


def _is_proved(record: SagaRecord) -> bool:
    """True if the resume of its connector was begun: that is after everything else is proved."""
    resume = record.of_title(RESUME)
    return resume is not None and resume.progress is not Progress.PENDING


def _prior(record: SagaRecord) -> str | None:
    state = prior_state_in(record)
    return None if state is None else state.value


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


def _moved(plan: OffsetPlan, at_stop: Offsets, stored: Offsets) -> tuple[MovedOffset, ...]:
    before, now = at_stop.stored(), stored.stored()
    return tuple(
        _row(plan, row, before=before.get(row.partition), stored=now.get(row.partition)) for row in plan.changed_rows()
    )


def _row(plan: OffsetPlan, row: PlanRow, *, before: str | None, stored: str | None) -> MovedOffset:
    def position(offset: str | None) -> int | None:
        return None if offset is None else plan.family.position(parse_map(offset))

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
