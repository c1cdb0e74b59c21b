"""How a change ended, for the report, the task's summary and whoever asks later."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.change.lease import Owner
from airflow_provider_connect_offsets.change.record import Phase, Record
from airflow_provider_connect_offsets.exceptions import Interfered, LeftStopped, NotApplied, RecordsDeleted
from airflow_provider_connect_offsets.offsets.document import Offsets, parse_map
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan, PlanRow
from airflow_provider_connect_offsets.workspace.outcome import MovedOffset, Outcome, Result


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


def applied_before(plan: OffsetPlan, record: Record) -> Outcome:
    """An earlier attempt of the same task had applied the plan, and ended before it could say so."""
    at_stop = record.prior_offsets or Offsets()
    outcome = _outcome(
        plan,
        record.owner,
        Result.APPLIED,
        f"The change of {plan.connector!r} had been applied and read back by an earlier attempt of this task.",
        offsets=_moved(plan, at_stop, at_stop.updated(record.changes or Offsets())),
    )
    prior = record.prior_state.value if record.prior_state else None
    return replace(outcome, prior_state=prior, final_state=prior)


def recovered(plan: OffsetPlan, record: Record, told: str) -> Outcome:
    """What was left unfinished has been settled; ``told`` says how."""
    applied_as = Result.RECORDS_DELETED if record.deleted else Result.APPLIED
    result = {Phase.APPLIED: applied_as, Phase.RESTORED: Result.RESTORED}.get(record.phase, Result.UNKNOWN)
    at_stop, expected = record.prior_offsets or Offsets(), record.expected()
    stands = {applied_as: expected, Result.RESTORED: at_stop}.get(result)
    return replace(
        _outcome(
            plan,
            record.owner,
            result,
            told,
            offsets=() if expected is None or stands is None else _moved(plan, at_stop, stands),
        ),
        prior_state=record.prior_state.value if record.prior_state else None,
        final_state=record.prior_state.value if record.prior_state and result is not Result.UNKNOWN else None,
    )


def unchanged(plan: OffsetPlan, owner: Owner) -> Outcome:
    """There was nothing to change."""
    message = f"Nothing was changed: {plan.connector!r} stands where it was to be put, or further."
    return _outcome(plan, owner, Result.UNCHANGED, message)


def failed(plan: OffsetPlan, owner: Owner, error: BaseException, record: Record | None) -> Outcome:
    """The task ended with ``error``; ``record`` is what the journal knows of this change."""
    result, stands = Result.REFUSED, None
    at_stop = record.prior_offsets if record is not None else None
    if isinstance(error, NotApplied):
        result, stands = Result.RESTORED, at_stop
    elif isinstance(error, LeftStopped):
        result = Result.LEFT_STOPPED
    elif isinstance(error, RecordsDeleted) and record is not None:
        result, stands = Result.RECORDS_DELETED, record.expected()
    elif isinstance(error, Interfered):
        result = Result.UNKNOWN
    elif record is not None and record.phase in {Phase.PROVED, Phase.APPLIED}:
        # Proved, but the connector could not be given back as it was.
        result = Result.APPLIED
        stands = record.expected()
    moved = () if at_stop is None or stands is None else _moved(plan, at_stop, stands)
    said_already = result is not Result.REFUSED or str(error).startswith("Nothing was ")
    message = str(error) if said_already else f"Nothing was changed. {error}"
    prior = record.prior_state.value if record is not None and record.prior_state is not None else None
    return replace(
        _outcome(plan, owner, result, message, offsets=moved),
        prior_state=prior,
        final_state=prior if result in {Result.RESTORED, Result.RECORDS_DELETED} else None,
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
