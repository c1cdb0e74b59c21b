"""Wires the tasks of each operation in the same way, so that the run fails if the operation was not carried out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import wraps
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import TaskGroup

from airflow_provider_connect_offsets.offsets.requests.fields import Parameters, fields_of
from airflow_provider_connect_offsets.operators.shared.approval import AskOperator
from airflow_provider_connect_offsets.operators.shared.spark import SparkJobOperator
from airflow_provider_connect_offsets.parameters.taking import document_args, select_accepted

#: How tasks that may be run again are retried.
RETRIES: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
#: How a teardown is retried: it must get through.
TEARDOWN: dict[str, Any] = {"retries": 10, "retry_delay": timedelta(seconds=10)}
#: How long a person may take to answer, unless code says otherwise.
TIME_TO_ANSWER = timedelta(hours=12)
#: What only code gives to a task group that asks a person: how long, who may answer, and who is notified.
QUESTION: dict[str, Any] = {"approval_timeout": None, "approvers": None, "notifiers": None}
#: The same for a task group that plans on Spark, which also takes more arguments for ``spark-submit``.
PLANNED: dict[str, Any] = {**QUESTION, "spark": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task: its id, and its operator."""

    task_id: str
    operator: Any

    def make(self, values: Mapping[str, Any], **more: Any) -> Any:
        """Make the task, with the ``values`` that its operator takes, and ``more``."""
        return self.operator(task_id=self.task_id, **{**select_accepted(self.operator, values), **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """The tasks of an operation.

    Attributes:
        snapshot: Writes what the plan needs; returns the run's directory.
        plan: The Spark job.
        approve: Asks a person.
        check: A setup that only reads, if ``begin`` changes something already; else ``begin`` is the setup.
        begin: Checks once more, or stops what must be stopped for final figures, and then returns their directory.
        replan: The Spark job on final figures, within the limits of the first plan.
        apply: Makes the change.
        restore: Undoes what was left unfinished; the teardown.
    """

    snapshot: Task
    plan: Task
    approve: Task
    check: Task | None = None
    begin: Task | None = None
    replan: Task | None = None
    apply: Task
    restore: Task | None = None


def tasks(**operators: Any) -> Tasks:
    """Return tasks whose ids are their roles, unless ``(task_id, operator)`` is given."""
    given = {role: one if isinstance(one, tuple) else (role, one) for role, one in operators.items()}
    return Tasks(**{role: Task(task_id=task_id, operator=operator) for role, (task_id, operator) in given.items()})


def select_arguments(group: Callable[..., TaskGroup], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``values`` that are arguments of a task group."""
    return {name: values[name] for name in inspect.signature(group).parameters if name in values}


def spark_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a Spark job: its connection, its retries, and what the caller adds as ``spark``."""
    return {"conn_id": values["spark_conn_id"], **RETRIES, **(values["spark"] or {})}


def _driver_of(spark: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a Spark job that are about Spark, not about the task: its queue, retries or timeout."""
    own = inspect.signature(SparkSubmitOperator.__init__).parameters
    return {name: value for name, value in spark.items() if name in own}


def wire(operation: Tasks, values: Mapping[str, Any], *, group_id: str) -> TaskGroup:
    """Wire snapshot, plan, approval, the change itself, an outcome, and the restore as teardown.

    The setup only reads, so that the teardown runs however the tasks that change something end; ``outcome`` is
    the leaf that is no teardown, without which a failed change would count as a successful run.

    Args:
        operation: The tasks.
        values: Arguments of the task group by name; each task gets those that its operator takes.
        group_id: Id of the group.
    """
    spark = spark_of(values)
    with TaskGroup(group_id) as group:
        snapshot = operation.snapshot.make(values, **RETRIES)
        run_uri = snapshot.output
        plan = operation.plan.make(values, run_uri=run_uri, **spark)
        approve = ask(operation.approve, values, summary=plan.output)
        plan >> approve
        last, summary, setup = approve, plan.output, None
        if operation.check:
            setup = operation.check.make(values, run_uri=run_uri, **RETRIES).as_setup()
            last = last >> setup
        if operation.begin:
            submits = issubclass(operation.begin.operator, SparkJobOperator)
            begin = operation.begin.make(values, run_uri=run_uri, **(_driver_of(spark) if submits else {}), **RETRIES)
            setup = setup or begin.as_setup()
            last = last >> begin
        final_uri = run_uri
        if operation.replan:
            final_uri = begin.output
            replan = operation.replan.make(values, run_uri=final_uri, preview_uri=run_uri, **spark)
            last, summary = last >> replan, replan.output
        apply = operation.apply.make(values, run_uri=final_uri, digest=summary["digest"], **RETRIES)
        last >> apply
        if operation.restore:
            restore = operation.restore.make(values, run_uri=run_uri, **TEARDOWN)
            end(apply, restore.as_teardown(setups=setup, on_failure_fail_dagrun=True))
    return group


def ask(approve: Task, values: Mapping[str, Any], *, summary: Any) -> Any:
    """Make the task that asks a person, once, about ``summary``.

    ``values``: the arguments of its operator; those of ``QUESTION`` and ``dry_run``, if they are given.
    """
    who = {"assigned_users": _users(values.get("approvers")), "notifiers": values.get("notifiers")}
    return approve.make(
        values,
        summary=summary,
        defaults=AskOperator.REJECT,
        response_timeout=values.get("approval_timeout") or _time_to_answer(values.get("plan_ttl")),
        retries=0,
        **({"plan_only": values["dry_run"]} if "dry_run" in values else {}),
        **{name: value for name, value in who.items() if value},
    )


def _time_to_answer(plan_ttl: object) -> timedelta:
    """Return how long an answer may take: as long as the plan is good, since a later one would be refused."""
    try:
        return timedelta(seconds=float(str(plan_ttl)))
    except (ValueError, OverflowError):  # there is no plan, a template says how long it is good, or it always is
        return TIME_TO_ANSWER


def _users(approvers: Iterable[Any] | None) -> list[Any]:
    """Return the users who may answer, as Airflow takes them; each is a name, or a dict of ``id`` and ``name``."""
    named = [approvers] if isinstance(approvers, str | Mapping) else list(approvers or ())
    return [one if isinstance(one, Mapping) else {"id": one, "name": one} for one in named]


def end(apply: Any, teardown: Any) -> None:
    """Add the teardown, and a leaf that is no teardown, without which a failure would count as a success."""
    apply >> teardown
    apply >> EmptyOperator(task_id="outcome")


def task_group(
    *models: type[Parameters], group_id: str, required: Collection[str] = (), **more: Any
) -> Callable[[Callable[..., TaskGroup]], Callable[..., TaskGroup]]:
    """Decorate a function that makes a task group of values: its arguments are the fields of ``models``.

    Args:
        models: Their fields are arguments; durations may be given as ``timedelta``, too.
        group_id: Default of the argument ``group_id``.
        required: Names of fields that must be given, though operators and the trigger form have a default.
        more: More arguments, with their defaults.
    """
    known = fields_of(*models)
    keyword, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    arguments = [
        *(
            inspect.Parameter(name, keyword, default=empty if one.is_required or name in required else one.default)
            for name, one in known.items()
        ),
        *(inspect.Parameter(name, keyword, default=value) for name, value in more.items()),
        inspect.Parameter("group_id", keyword, default=group_id),
    ]
    signature = inspect.Signature(arguments, return_annotation=TaskGroup)

    def decorate(make: Callable[..., TaskGroup]) -> Callable[..., TaskGroup]:
        @wraps(make)
        def make_group(**given: Any) -> TaskGroup:
            bound = signature.bind(**given)
            bound.apply_defaults()
            return make(
                **{
                    name: value.total_seconds() if name in known and isinstance(value, timedelta) else value
                    for name, value in bound.arguments.items()
                }
            )

        make_group.__doc__ = document_args(make.__doc__, known)
        make_group.__signature__ = signature  # type: ignore[attr-defined]
        make_group.parameters = models  # type: ignore[attr-defined]
        return make_group

    return decorate
