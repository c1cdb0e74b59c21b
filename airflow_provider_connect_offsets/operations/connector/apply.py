"""Applies a plan to a connector: stop, read again, alter, read back, resume as it was; or all of it is undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from airflow_provider_connect_offsets.exceptions import NotRunning, RecordsDeleted
from airflow_provider_connect_offsets.observe.clients import Clients, Origin
from airflow_provider_connect_offsets.offsets.plan import OffsetPlan
from airflow_provider_connect_offsets.operations.connector import outcomes
from airflow_provider_connect_offsets.operations.connector.plans import refuse_outdated
from airflow_provider_connect_offsets.operations.registry import operation_on_connector
from airflow_provider_connect_offsets.operations.stages.captured import (
    alteration_in,
    describe_deleted,
    is_applied,
    prior_state_in,
)
from airflow_provider_connect_offsets.operations.stages.offset_stages import AlterOffsets, change_stages, group_stages
from airflow_provider_connect_offsets.saga import (
    Downtime,
    Journal,
    Left,
    Operated,
    Owner,
    SagaState,
    Stage,
    operate,
)
from airflow_provider_connect_offsets.workspace.outcome import Outcome


def apply_plan(plan: OffsetPlan, clients: Clients, owner: Owner) -> Outcome:
    """Apply ``plan`` while its connector is stopped; leave the connector as planned, or as it was before.

    What a dead run left unfinished is finished or undone first.

    Args:
        plan: The approved plan.
        clients: Clients of its connector.
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
    return carry_out(plan, clients, owner, _stages(plan, clients), operation="the change of offsets")


def _stages(plan: OffsetPlan, clients: Clients) -> Sequence[Stage]:
    if not plan.changed_rows():
        return ()
    return group_stages(plan, clients) if clients.origin is Origin.GROUP else change_stages(plan, clients)


def carry_out(
    plan: OffsetPlan,
    clients: Clients,
    owner: Owner,
    stages: Sequence[Stage],
    *,
    operation: str,
    others: Sequence[Journal] = (),
) -> Outcome:
    """Make the stages that apply ``plan``, unless an earlier attempt of the run did; raises as :func:`apply_plan` does.

    Args:
        plan: The approved plan.
        clients: Clients of its connector.
        owner: This process.
        stages: The stages; empty: there is nothing to change.
        operation: What is done, in words.
        others: Journals of other resources that the stages change.
    """

    def check_left(left: Sequence[Left]) -> Sequence[Stage]:
        refuse_outdated(left, plan, clients)
        return stages

    started = datetime.now(tz=UTC)
    change = replace(
        operation_on_connector(
            clients, plan.connector, operation, check_left, key=outcomes.key_of(plan), others=others
        ),
        is_empty=not stages,
        stops=[one.name for one in stages if one.downtime is Downtime.BEGINS],
    )
    try:
        made = operate(change, owner)
    except NotRunning as error:
        record = change.journal.record_of(owner.run, change.key)
        if record is None or record.state is not SagaState.DONE:
            raise
        raise NotRunning(f"The change was applied and read back, but {error}") from error
    if made.record is not None and describe_deleted(made.record):
        raise RecordsDeleted(describe_deleted(made.record))
    if made.is_earlier and made.record is not None and is_applied(made.record):
        outcome = outcomes.of_applied_before(plan, made.record)
    else:
        outcome = _outcome(plan, stages, made, owner, started)
    return replace(outcome, warnings=(*made.sentences, *outcome.warnings))


def _outcome(plan: OffsetPlan, stages: Sequence[Stage], made: Operated, owner: Owner, started: datetime) -> Outcome:
    if made.record is None or made.made is None:
        return outcomes.of_unchanged(plan, owner)
    alteration, state = alteration_in(made.record), prior_state_in(made.record)
    fitted = next((one.fitted for one in stages if isinstance(one, AlterOffsets) and one.fitted), plan)
    if alteration is not None and is_applied(made.record):
        outcome = outcomes.of_applied(fitted, owner, alteration.prior_offsets)
    else:  # the connector has reached the plan's offsets by itself
        outcome = outcomes.of_unchanged(plan, owner)
    prior = None if state is None else state.value
    return replace(
        outcome,
        prior_state=prior,
        final_state=prior,
        downtime_seconds=made.made.downtime,
        started_at=started,
        warnings=made.made.warnings,
    )
