"""The plan as the datasets hold it, read for being applied."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.offsets.document import Offsets
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow, plan_digest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.operations.stages.captured import alteration_in
from airflow_provider_connect_offsets.saga.record import SagaRecord, SagaState
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, OFFSET_PLAN, VERDICTS


def read_plan(run: RunDirectory, *, digest: str | None = None) -> OffsetPlan:
    """Read the plan of ``run``; ``digest`` is that of the plan that was approved, where one was.

    Raises :class:`PlanRefused` for a plan with an error, and for another one than the approved;
    :class:`DatasetError` where it isn't there whole.
    """
    errors = [row["message"] for row in read_dataset(run.verdicts, VERDICTS) if row["severity"] == Severity.ERROR]
    if errors:
        raise PlanRefused(f"Nothing was stopped or changed. The plan in {run.uri} has errors: {errors[0]}")
    rows = read_dataset(run.offset_plan, OFFSET_PLAN)
    request = Request.from_json(read_json(run.request))
    observed = next(
        (row for row in read_dataset(run.connectors, CONNECTORS) if row["connector"] == request.connector), None
    )
    plan = OffsetPlan.of(
        request,
        [PlanRow(**{**row, "action": Action(row["action"])}) for row in rows],
        was_running=observed is not None and observed["state"] == State.RUNNING,
        observed_at=None if observed is None else observed["observed_at"],
    )
    if digest is not None and plan.digest != digest:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plan in {run.uri} is not the one that was approved: its digest is "
            f"{plan.digest}, not {digest}. Plan again."
        )
    return plan


def read_plans(members: Mapping[str, RunDirectory], *, digest: str | None = None) -> dict[str, OffsetPlan]:
    """Read the plans of a fleet by connector; ``digest`` is the one of all of them that was approved.

    Raises as :func:`read_plan` does.
    """
    plans = {name: read_plan(run) for name, run in members.items()}
    together = plan_digest(plan.digest for plan in plans.values())
    if digest is not None and together != digest:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plans of {len(plans)} connectors are not the ones that were "
            f"approved: their digest is {together}, not {digest}. Plan again."
        )
    return plans


def refuse_stale(run: RunDirectory, *, ttl: timedelta) -> None:
    """Raise :class:`PlanRefused` for a plan that was made longer than ``ttl`` ago: the world it saw may be gone."""
    planned_at = datetime.fromisoformat(read_json(run.summary)["planned_at"])
    age = datetime.now(tz=UTC) - planned_at
    if age > ttl:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plan in {run.uri} was made at {planned_at:%Y-%m-%d %H:%M:%S} UTC, "
            f"{_minutes(age)} ago, and may be {_minutes(ttl)} old. Trigger the change again, so that it is made anew."
        )


def refuse_planned_on(left: SagaRecord, plan: OffsetPlan, told: str) -> None:
    """Raise :class:`Drift` for a plan that leaves alone what a dead run had written, where that was undone since.

    left: the dead run's saga, as it was settled; told: what became of it.
    """
    found = alteration_in(left)
    if found is None or left.state is not SagaState.UNDONE:
        return
    prior = found.prior.stored()
    undone = {one.partition: one.offset for one in found.changes if one.offset != prior.get(one.partition)}
    _refuse_left_alone(plan.left_alone_at(undone), told)


def refuse_undone(plan: OffsetPlan, standing: Offsets, told: str) -> None:
    """Raise :class:`Drift` for a plan that leaves alone what a dead import had written, which was taken back since.

    standing: what is stored now, of a connector that is down; told: what became of the import.
    """
    now = standing.stored()
    moved = {row.partition: row.before for row in plan.rows if now.get(row.partition) != row.before}
    _refuse_left_alone(plan.left_alone_at(moved), told)


def _refuse_left_alone(partitions: list[str], told: str) -> None:
    if partitions:
        more = f" (and {len(partitions) - 1} more)" if len(partitions) > 1 else ""
        raise Drift(
            f"Nothing was changed by this run: its plan was made from what a dead run had left, and leaves partition "
            f"{partitions[0]}{more} alone, as it was where it was to be. {told} So it no longer is there. Make a new "
            "run: it plans from what is there now."
        )


def _minutes(duration: timedelta) -> str:
    minutes = round(duration.total_seconds() / 60)
    return f"{minutes} {'minute' if minutes == 1 else 'minutes'}"
