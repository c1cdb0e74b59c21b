"""Reads plans from their datasets, and refuses those that may not be applied (any more)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import Drift, PlanRefused
from airflow_provider_connect_offsets.observe.clients import Clients
from airflow_provider_connect_offsets.offsets.plan import Action, OffsetPlan, PlanRow, plan_digest
from airflow_provider_connect_offsets.offsets.replay import ReplayAction, ReplayPlan, ReplayRow
from airflow_provider_connect_offsets.offsets.requests.replay import ReplayRequest
from airflow_provider_connect_offsets.offsets.requests.request import Request
from airflow_provider_connect_offsets.offsets.verdicts import Severity
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import IMPORT, alteration_of
from airflow_provider_connect_offsets.saga import Left
from airflow_provider_connect_offsets.words import join_first, quantify
from airflow_provider_connect_offsets.workspace.datasets import each_read_once, read_dataset
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
        config=None if observed is None else json.loads(observed["config"]),
    )
    refuse_unapproved(run, plan.digest, approved=digest)
    return plan


def read_plans(members: Mapping[str, RunDirectory], *, digest: str | None = None) -> dict[str, OffsetPlan]:
    """Read the plans of a fleet by connector; ``digest``: of all approved plans. Raises as :func:`read_plan` does."""
    with each_read_once():
        plans = {name: read_plan(run) for name, run in members.items()}
    of_all = plan_digest(plan.digest for plan in plans.values())
    if digest is not None and of_all != digest:
        raise PlanRefused(
            f"Nothing was stopped or changed. The plans of {quantify(len(plans), 'connector')} are not the approved "
            f"plans: their digest is {of_all}, not {digest}. Plan again."
        )
    return plans


def read_replay(run: ReplayDirectory, *, digest: str | None = None) -> ReplayPlan:
    """Read the plan of a replay; arguments and errors as in :func:`read_plan`."""
    _refuse_errors(run, read_dataset(run.verdicts, VERDICTS), nothing="Nothing was created.")
    rows = read_dataset(run.replay_plan, REPLAY_PLAN)
    observed = read_dataset(run.connectors, CONNECTORS)[0]
    plan = ReplayPlan.of(
        ReplayRequest.from_json(read_json(run.request)),
        [ReplayRow(**{**row, "action": ReplayAction(row["action"])}) for row in rows],
        observed_at=datetime.fromisoformat(read_json(run.summary)["planned_at"]),
        config=json.loads(observed["config"]),
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
            f"{nothing} The plan in {run.uri} is not the approved plan: its digest is {digest}, not {approved}. "
            "Plan again."
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
            f"{_minutes(age)} ago, but may be at most {_minutes(ttl)} old. Trigger the change again for a new plan."
        )


def refuse_outdated(left: Sequence[Left], plan: OffsetPlan, clients: Clients) -> None:
    """Raise :class:`Drift` for a plan from other settings, or one that keeps a dead run's offset, undone by now.

    Args:
        left: What dead runs had left, as settled.
        plan: The plan.
        clients: Clients of its connector, which is down.
    """
    steps.refuse_reconfigured(plan.connector, plan.config, clients)
    for one in left:
        if not one.is_undone:
            continue
        alteration = alteration_of(one.record, plan.connector)
        written: dict[str, str | None] = {}
        if alteration is not None:
            prior = alteration.prior_offsets.by_partition()
            written = {it.partition: it.offset for it in alteration.changes if it.offset != prior.get(it.partition)}
        elif one.record.of_title(IMPORT) is not None:  # its journal names files, not offsets
            now = clients.offsets.read_offsets(plan.connector).by_partition()
            written = {row.partition: row.before for row in plan.rows if now.get(row.partition) != row.before}
        if kept := plan.list_left_alone(written):
            raise Drift(
                f"This run has changed nothing. Its plan was made from offsets that a dead run had left, and keeps the "
                f"offset of partition {join_first(kept, 1)}. {one.sentence} So that offset is no longer stored. Start "
                "a new run: it plans from the offsets that are stored now."
            )


def _minutes(duration: timedelta) -> str:
    return quantify(round(duration.total_seconds() / 60), "minute")
