"""Applies a plan to a connector: stop, read again, alter, read back, resume as it was; or all of it is undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import NotRunning, RecordsDeleted
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.plans import refuse_planned_on, refuse_undone
from airflow_provider_connect_offsets.operations.stages.captured import (
    alteration_in,
    deleted_in,
    is_applied,
    prior_state_in,
)
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, change_stages, group_stages
from airflow_provider_connect_offsets.operations.stages.recovery import executor, recover, undo_import
from airflow_provider_connect_offsets.saga import Journal, JournalEntry, Owner, SagaState, Stage, Toward
from airflow_provider_connect_offsets.workspace.outcome import Outcome


def apply_plan(plan: OffsetPlan, clients: Clients, journal: Journal, owner: Owner) -> Outcome:
    """Apply ``plan`` while its connector is stopped; leave the connector as planned, or as it was before.

    What a dead run left unfinished is finished or undone first.

    Args:
        plan: The approved plan.
        clients: Clients of its connector.
        journal: The connector's journal.
        owner: This process.

    Raises:
        Overlap: Another run changes the connector; nothing was written.
        Drift: Someone else has changed it since the plan; nothing was written.
        NotApplied: Prior offsets and state are restored.
        NotRunning: The offsets are as planned; the connector did not resume.
        LeftStopped: The connector stays STOPPED.
        RecordsDeleted: Offsets and state are as planned; records at its positions are gone.
        StoreError: A system could not be reached before anything was written.
    """
    return carry_out(plan, clients, journal, owner, _stages(plan, clients), operation="the change of offsets")


def _stages(plan: OffsetPlan, clients: Clients) -> Sequence[Stage]:
    if not plan.changed_rows():
        return ()
    return group_stages(plan, clients) if clients.origin is Origin.GROUP else change_stages(plan, clients)


def carry_out(  # noqa: PLR0913 - each has its own meaning
    plan: OffsetPlan,
    clients: Clients,
    journal: Journal,
    owner: Owner,
    stages: Sequence[Stage],
    *,
    operation: str,
    others: Sequence[Journal] = (),
) -> Outcome:
    """Make the stages that apply ``plan``, unless an earlier attempt of the run has; raises as :func:`apply_plan`.

    What a dead run or a dead import left unfinished is finished or undone first.

    Args:
        plan: The approved plan.
        clients: Clients of its connector.
        journal: The connector's journal.
        owner: This process.
        stages: The stages; empty: there is nothing to change.
        operation: What is done, in words.
        others: Journals of other resources that the stages change.
    """
    undone = undo_import(journal, owner, clients, others=others)
    refuse_undone(plan, clients, undone)
    with journal.claim(owner, others=others) as entry:
        settled = recover(entry, Toward.FORWARD, clients)
        earlier = journal.record_of(owner.run, outcomes.key_of(plan))
        if earlier is not None and is_applied(earlier):
            if deleted_in(earlier):
                raise RecordsDeleted(deleted_in(earlier))
            return _warned(outcomes.applied_before(plan, earlier), undone)
        refuse_planned_on(entry.record, plan, settled)
        entry.begin(owner, operation=operation, key=outcomes.key_of(plan), stages=stages)
        outcome = _made(plan, clients, entry, stages, owner) if stages else outcomes.unchanged(plan, owner)
    return _warned(outcome, undone, settled)


def _warned(outcome: Outcome, *warnings: str | None) -> Outcome:
    return replace(outcome, warnings=(*filter(None, warnings), *outcome.warnings))


def _made(plan: OffsetPlan, clients: Clients, entry: JournalEntry, stages: Sequence[Stage], owner: Owner) -> Outcome:
    started = datetime.now(tz=UTC)
    try:
        settled = executor(clients, entry, stages).run()
    except NotRunning as error:
        if entry.record.state is not SagaState.DONE:
            raise
        raise NotRunning(f"The change was applied and read back, but {error}") from error
    if deleted_in(settled.record):
        raise RecordsDeleted(deleted_in(settled.record))
    alteration, state = alteration_in(settled.record), prior_state_in(settled.record)
    fitted = next((one.fitted for one in stages if isinstance(one, AlterOffsets) and one.fitted), plan)
    if alteration is not None and is_applied(settled.record):
        outcome = outcomes.applied(fitted, owner, alteration.prior_offsets)
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
