"""How a change ended, for the report, the task's summary and whoever asks later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import Interfered, LeftStopped, NotApplied, RecordsDeleted
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan, PlanRow
from airflow_provider_connect_offsets.operations.stages.captured import (
    RESUME,
    alteration_in,
    deleted_in,
    prior_state_in,
)
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import Progress, SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result


def key_of(plan: OffsetPlan) -> str:
    """What a retry knows its own saga by: the plan, and when the offsets were observed that it was made from.

    A run that is cleared makes the same plan again from what it observes then, and has not applied that yet.
    """
    return f"{plan.digest} {'' if plan.observed_at is None else plan.observed_at.isoformat()}"


def applied(plan: OffsetPlan, owner: Owner, at_stop: Offsets) -> Outcome:
    """The plan's offsets were written over ``at_stop`` and read back."""
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
    """An earlier attempt of the same task had applied the plan, and ended before it could say so."""
    found = alteration_in(record)
    outcome = _outcome(
        plan,
        record.owner,
        Result.APPLIED,
        f"The change of {plan.connector!r} had been applied and read back by an earlier attempt of this task.",
        offsets=() if found is None else _moved(plan, found.prior, found.expected),
    )
    prior = _prior(record)
    return replace(outcome, prior_state=prior, final_state=prior)


def recovered(plan: OffsetPlan, record: SagaRecord, told: str) -> Outcome:
    """What was left unfinished has been settled; ``told`` says how."""
    applied_as = Result.RECORDS_DELETED if deleted_in(record) else Result.APPLIED
    result = {SagaState.DONE: applied_as, SagaState.UNDONE: Result.RESTORED}.get(record.state, Result.UNKNOWN)
    found = alteration_in(record)
    moved: tuple[MovedOffset, ...] = ()
    if found is not None and result is not Result.UNKNOWN:
        moved = _moved(plan, found.prior, found.prior if result is Result.RESTORED else found.expected)
    return replace(
        _outcome(plan, record.owner, result, told, offsets=moved),
        prior_state=_prior(record),
        final_state=None if result is Result.UNKNOWN else _prior(record),
    )


def unchanged(plan: OffsetPlan, owner: Owner) -> Outcome:
    """There was nothing to change."""
    message = f"Nothing was changed: {plan.connector!r} stands where it was to be put, or further."
    return _outcome(plan, owner, Result.UNCHANGED, message)


def failed(plan: OffsetPlan, owner: Owner, error: BaseException, record: SagaRecord | None) -> Outcome:
    """The task ended with ``error``; ``record`` is what the journal knows of this change."""
    found = None if record is None else alteration_in(record)
    result, stands = Result.REFUSED, None
    if isinstance(error, NotApplied):
        result, stands = Result.RESTORED, None if found is None else found.prior
    elif isinstance(error, LeftStopped):
        result = Result.LEFT_STOPPED
    elif isinstance(error, RecordsDeleted) and record is not None:
        result, stands = Result.RECORDS_DELETED, None if found is None else found.expected
    elif isinstance(error, Interfered):
        result = Result.UNKNOWN
    elif record is not None and _is_proved(record):
        # Proved, but the connector could not be given back as it was.
        result, stands = Result.APPLIED, None if found is None else found.expected
    moved = () if found is None or stands is None else _moved(plan, found.prior, stands)
    said_already = result is not Result.REFUSED or str(error).startswith("Nothing was ")
    message = str(error) if said_already else f"Nothing was changed. {error}"
    prior = None if record is None else _prior(record)
    return replace(
        _outcome(plan, owner, result, message, offsets=moved),
        prior_state=prior,
        final_state=prior if result in {Result.RESTORED, Result.RECORDS_DELETED} else None,
    )


def _is_proved(record: SagaRecord) -> bool:
    """Whether its connector was resumed, or was to be: that begins once everything else is proved."""
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


def _moved(plan: OffsetPlan, at_stop: Offsets, stands: Offsets) -> tuple[MovedOffset, ...]:
    before, now = at_stop.stored(), stands.stored()
    return tuple(
        _row(plan, row, before=before.get(row.partition), stands=now.get(row.partition)) for row in plan.changed_rows()
    )


def _row(plan: OffsetPlan, row: PlanRow, *, before: str | None, stands: str | None) -> MovedOffset:
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
        stands=stands,
        # What isn't stored has no position of its own; of MirrorSource it means 0.
        stands_position=position(stands) if stands is not None or row.after is not None else row.after_position,
    )
