"""The decorator that makes a ready DAG of a function, with defaults that a DAG file may replace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import wraps
from typing import Any

from airflow.sdk import DAG

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.offsets.requests.fields import Parameters
from airflow_provider_connect_offsets.task_groups.form import as_arguments, params_of, pin, preset, propose
from airflow_provider_connect_offsets.task_groups.wiring import QUESTION

#: A function that makes the tasks of a DAG from templates of its Params, by name.
MakeTasks = Callable[..., object]


def ready_dag(
    *models: type[Parameters],
    description: str,
    hours: float = 1,
    tags: Iterable[str] = (),
    scheduled_with: str = "",
    **defaults: Any,
) -> Callable[[MakeTasks], Callable[..., DAG]]:
    """Decorate a function that makes tasks, so that it makes the whole DAG, whose id is the function's name.

    The function's docstring is the DAG's documentation in Airflow, in Markdown. The decorated function takes arguments
    of ``airflow.sdk.DAG``, which replace the defaults: ``params`` gives other defaults of Params by name, and
    ``default_args`` and ``tags`` are added. ``pinned`` gives values of Params that nobody who triggers the DAG can
    change; ``approval_timeout``, ``approvers`` (names of users) and ``notifiers`` apply to the approval. It raises
    :class:`InvalidInput` for a Param that the DAG does not have.

    Args:
        models: Models of the Params that the trigger form shows.
        description: One line on what the DAG does.
        hours: Hours after which a task is ended.
        tags: Tags in addition to ``kafka-connect`` and ``offsets``.
        scheduled_with: A Param that the DAG file must give for the DAG to have its default schedule; without it, each
            scheduled run would fail. Empty: the DAG always has it.
        defaults: Other arguments of ``airflow.sdk.DAG``.
    """

    def decorate(make: MakeTasks) -> Callable[..., DAG]:
        @wraps(make)
        def make_dag(**given: Any) -> DAG:
            fixed = given.pop("pinned", {})
            params = pin(preset(propose(params_of(*models)), given.get("params", {})), fixed)
            asked = {name: given.pop(name) for name in QUESTION if name in given}
            if asked and "approval" not in params:
                raise InvalidInput(f"{make.__name__} needs no approval, so {', '.join(asked)} can't be given.")
            is_set_up = not scheduled_with or scheduled_with in {*given.get("params", {}), *fixed}
            own = {"owner": "connect-offsets", "execution_timeout": timedelta(hours=hours)}
            arguments: dict[str, Any] = {
                "dag_id": make.__name__,
                "description": description,
                "doc_md": inspect.getdoc(make),
                "catchup": False,
                "render_template_as_native_obj": False,
                **defaults,
                **({} if is_set_up else {"schedule": None}),
                **given,
                "params": params,
                "default_args": {**own, **given.get("default_args", {})},
                "tags": sorted({"kafka-connect", "offsets", *tags, *given.get("tags", ())}),
            }
            with DAG(schedule=arguments.pop("schedule", None), **arguments) as dag:
                make(**as_arguments(params, fixed), **asked)
            return dag

        make_dag.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter("given", inspect.Parameter.VAR_KEYWORD)], return_annotation=DAG
        )
        make_dag.parameters = models  # type: ignore[attr-defined]
        return make_dag

    return decorate
