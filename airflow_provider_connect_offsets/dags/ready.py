"""How the ready DAGs are made: defaults that a DAG file may replace."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk import DAG, Param

from airflow_provider_connect_offsets.task_groups.form import preset


def ready_dag(
    dag_id: str,
    *,
    description: str,
    doc: str,
    params: Mapping[str, Param],
    given: Mapping[str, Any],
    hours: float = 1,
    **defaults: Any,
) -> DAG:
    """Make a DAG without tasks.

    Args:
        dag_id: Its id, unless ``given`` has another one.
        description: One line on what it does.
        doc: Its page in Markdown.
        params: Its Params.
        given: Arguments of ``airflow.sdk.DAG`` from the DAG file; they win. ``params`` are other defaults by name,
            ``default_args`` and ``tags`` are added to those of here.
        hours: After how many hours a task is ended.
        defaults: More arguments of ``airflow.sdk.DAG``.

    Raises:
        InvalidInput: ``given`` has a Param that the DAG lacks.
    """
    own = {"owner": "connect-offsets", "execution_timeout": timedelta(hours=hours)}
    arguments: dict[str, Any] = {
        "dag_id": dag_id,
        "description": description,
        "doc_md": doc,
        "catchup": False,
        "render_template_as_native_obj": False,
        **defaults,
        **given,
        "params": preset(params, given.get("params", {})),
        "default_args": {**own, **given.get("default_args", {})},
        "tags": sorted({"kafka-connect", "offsets", *defaults.get("tags", ()), *given.get("tags", ())}),
    }
    return DAG(schedule=arguments.pop("schedule", None), **arguments)
