"""The change of a connector: stop, read again, alter, read back, resume as it was; or everything is put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import NotRunning, RecordsDeleted
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.plans import refuse_planned_on, refuse_undone
from airflow_provider_connect_offsets.operations.stages.captured import (
    alteration_in,
    deleted_in,
    is_applied,
    prior_state_in,
)
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, change_stages
from airflow_provider_connect_offsets.operations.stages.recovery import executor, recover, undo_import
from airflow_provider_connect_offsets.saga.entry import JournalEntry
from airflow_provider_connect_offsets.saga.executor import Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaState
from airflow_provider_connect_offsets.saga.stage import Stage
from airflow_provider_connect_offsets.workspace.outcome import Outcome


def apply_plan(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner) -> Outcome:
    """Apply ``plan`` while its connector is stopped; leave the connector as planned, or as it was found.

    What a dead run left unfinished is finished or restored first. Raises :class:`Overlap`, :class:`Drift` (nothing was
    written), :class:`NotApplied` (prior offsets and state are back), :class:`NotRunning` (offsets are as planned),
    :class:`LeftStopped`, :class:`RecordsDeleted` (offsets and state are as planned, records at its positions are gone),
    and store errors of a store that could not be reached before anything was written.
    """
    told = undo_import(journal, owner, clients)
    if told is not None:
        refuse_undone(plan, clients.offsets.read_offsets(plan.connector), told)
    with journal.claim(owner) as entry:
        stages = change_stages(plan, clients) if plan.changed_rows() else ()
        outcome = carry_out(plan, clients, journal, entry, owner, stages, operation="the change of offsets")
    return outcome if told is None else replace(outcome, warnings=(told, *outcome.warnings))


def carry_out(  # noqa: PLR0913 - each by its name
    plan: OffsetPlan,
    clients: Clients,
    journal: Journal,
    entry: JournalEntry,
    owner: Owner,
    stages: Sequence[Stage],
    *,
    operation: str,
) -> Outcome:
    """Make the stages by which ``plan`` is applied, once; none: there is nothing to change. Raises as `apply_plan`."""
    told = recover(entry, Toward.FORWARD, clients)
    earlier = journal.record_of(owner.run, outcomes.key_of(plan))
    if earlier is not None and is_applied(earlier):
        if deleted_in(earlier):
            raise RecordsDeleted(deleted_in(earlier))
        return outcomes.applied_before(plan, earlier)
    if told is not None:
        refuse_planned_on(entry.record, plan, told)
    entry.begin(owner, operation=operation, key=outcomes.key_of(plan), stages=stages)
    outcome = _made(plan, clients, entry, list(stages), owner) if stages else outcomes.unchanged(plan, owner)
    return outcome if told is None else replace(outcome, warnings=(told, *outcome.warnings))


def _made(plan: OffsetPlan, clients: Clients, entry: JournalEntry, stages: list[Stage], owner: Owner) -> Outcome:
    started = datetime.now(tz=UTC)
    try:
        settled = executor(clients, entry, stages).run()
    except NotRunning as error:
        if entry.record.state is not SagaState.DONE:
            raise
        raise NotRunning(f"The change was applied and read back, but {error}") from error
    if deleted_in(settled.record):
        raise RecordsDeleted(deleted_in(settled.record))
    found, state = alteration_in(settled.record), prior_state_in(settled.record)
    fitted = next((one.fitted for one in stages if isinstance(one, AlterOffsets) and one.fitted), plan)
    if found is not None and is_applied(settled.record):
        outcome = outcomes.applied(fitted, owner, found.prior)
    else:  # the connector has reached the plan's offsets by itself
        outcome = outcomes.unchanged(plan, owner)
    prior = None if state is None else state.value
    return replace(
        outcome,
        prior_state=prior,
        final_state=prior,
        downtime_seconds=settled.downtime,
        started_at=started,
        warnings=settled.warnings,
    )
