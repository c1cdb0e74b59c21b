"""Reads plans from their datasets, and refuses those that may not be applied (any more)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.observe.partitions import first_few
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow, plan_digest
from airflow_provider_connect_offsets.offsets.replay import ReplayAction, ReplayPlan, ReplayRow
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.operations.stages.captured import alteration_of
from airflow_provider_connect_offsets.saga import SagaRecord, SagaState
from airflow_provider_connect_offsets.words import counted
from airflow_provider_connect_offsets.workspace.datasets import read_dataset
from airflow_provider_connect_offsets.workspace.files import read_json
from airflow_provider_connect_offsets.workspace.layout import Directory, ReplayDirectory, RunDirectory
from airflow_provider_connect_offsets.workspace.schemas import CONNECTORS, OFFSET_PLAN, REPLAY_PLAN, VERDICTS


def read_plan(run: RunDirectory, *, digest: str | None = None) -> OffsetPlan:
    """Read a plan.

    Args:
        run: Directory of the run that made it.
        digest: Digest of the approved plan; None: it is not compared.

    Raises:
        PlanRefused: The plan has an error, or is not the approved one.
        DatasetError: A dataset is missing or incomplete.
    """
    request = Request.from_json(read_json(run.request))
    own = run.of(request.connector)
    verdicts = read_dataset(run.verdicts, VERDICTS, **own)
    _refuse_errors(run, verdicts, nothing="Nothing was stopped or changed.")
    rows = read_dataset(run.offset_plan, OFFSET_PLAN, **own)
    observed = next(iter(read_dataset(run.connectors, CONNECTORS, connector=(request.connector,))), None)
    plan = OffsetPlan.of(
        request,
        [PlanRow(**{**row, "action": Action(row["action"])}) for row in rows],
        was_running=observed is not None and observed["state"] == State.RUNNING,
        observed_at=None if observed is None else observed["observed_at"],
    )
    refuse_unapproved(run, plan.digest, approved=digest)
    return plan


def read_plans(members: Mapping[str, RunDirectory], *, digest: str | None = None) -> dict[str, OffsetPlan]:
    """Read the plans of a fleet by connector; ``digest``: of all approved plans. Raises as :func:`read_plan` does."""
    plans = {name: read_plan(run) for name, run in members.items()}
    of_all = plan_digest(plan.digest for plan in plans.values())
    if digest is not None and of_all != digest:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plans of {counted(len(plans), 'connector')} are not the ones that "
            f"were approved: their digest is {of_all}, not {digest}. Plan again."
        )
    return plans


def read_replay(run: ReplayDirectory, *, digest: str | None = None) -> ReplayPlan:
    """Read the plan of a replay; arguments and errors as of :func:`read_plan`."""
    _refuse_errors(run, read_dataset(run.verdicts, VERDICTS), nothing="Nothing was created.")
    rows = read_dataset(run.replay_plan, REPLAY_PLAN)
    plan = ReplayPlan.of(
        ReplayRequest.from_json(read_json(run.request)),
        [ReplayRow(**{**row, "action": ReplayAction(row["action"])}) for row in rows],
        observed_at=datetime.fromisoformat(read_json(run.summary)["planned_at"]),
    )
    refuse_unapproved(run, plan.digest, approved=digest, nothing="Nothing was created.")
    return plan


def refuse_unapproved(
    run: Directory, digest: str, *, approved: str | None, nothing: str = "Nothing was stopped or changed."
) -> None:
    """Raise :class:`PlanRefused` for a plan that is not the approved one.

    Args:
        run: Directory of the run that made it.
        digest: Its digest.
        approved: Digest of the approved plan; None: it is not compared.
        nothing: What the error begins with.
    """
    if approved is not None and digest != approved:
        raise PlanRefused(
            f"{nothing} The plan in {run.uri} is not the one that was approved: its digest is {digest}, not "
            f"{approved}. Plan again."
        )


def _refuse_errors(run: Directory, verdicts: Iterable[Mapping[str, Any]], *, nothing: str) -> None:
    errors = [row["message"] for row in verdicts if row["severity"] == Severity.ERROR]
    if errors:
        raise PlanRefused(f"{nothing} The plan in {run.uri} has errors: {errors[0]}")


def refuse_stale(run: Directory, *, ttl: timedelta) -> None:
    """Raise :class:`PlanRefused` for a plan that was made longer than ``ttl`` ago: the world it saw may be gone."""
    planned_at = datetime.fromisoformat(read_json(run.summary)["planned_at"])
    age = datetime.now(tz=UTC) - planned_at
    if age > ttl:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plan in {run.uri} was made at {planned_at:%Y-%m-%d %H:%M:%S} UTC, "
            f"{_minutes(age)} ago, and may be {_minutes(ttl)} old. Trigger the change again, so that it is made anew."
        )


def refuse_planned_on(record: SagaRecord, plan: OffsetPlan, message: str | None) -> None:
    """Raise :class:`Drift` for a plan that keeps an offset which a dead run had written, and which was undone since.

    Args:
        record: The dead run's saga, as settled.
        plan: The plan.
        message: Describes how the saga was settled; None: no run had left any.
    """
    alteration = alteration_of(record, plan.connector)
    if alteration is None or record.state is not SagaState.UNDONE:
        return
    prior = alteration.prior_offsets.stored()
    undone = {one.partition: one.offset for one in alteration.changes if one.offset != prior.get(one.partition)}
    _refuse_kept(plan.left_alone_at(undone), message)


def refuse_undone(plan: OffsetPlan, clients: Clients, message: str | None) -> None:
    """Raise :class:`Drift` for a plan that keeps an offset which a dead import had written, and which was undone since.

    Args:
        plan: The plan.
        clients: Clients of its connector, which is down.
        message: Describes how the import was settled; None: no import had left anything.
    """
    if message is None:
        return
    now = clients.offsets.read_offsets(plan.connector).stored()
    moved = {row.partition: row.before for row in plan.rows if now.get(row.partition) != row.before}
    _refuse_kept(plan.left_alone_at(moved), message)


def _refuse_kept(partitions: list[str], message: str | None) -> None:
    if partitions:
        raise Drift(
            f"Nothing was changed by this run: its plan was made from what a dead run had left, and keeps the offset "
            f"of partition {first_few(partitions, 1)}. {message} So that offset is no longer stored. Make a new run: "
            "it plans from what is stored now."
        )


def _minutes(duration: timedelta) -> str:
    return counted(round(duration.total_seconds() / 60), "minute")
