"""What all operators share: where their run keeps its datasets, who they are to a journal, and how they fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.hooks.doors import workspace_uri

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.change.record import Owner
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory

log = logging.getLogger(__name__)


def run_key(context: Context) -> str:
    """Name the run as journals and messages do: ``dag_id/run_id``, and the index of a mapped one."""
    instance: Any = context["ti"]
    mapped = f"[{instance.map_index}]" if instance.map_index is not None and instance.map_index >= 0 else ""
    return f"{instance.dag_id}/{instance.run_id}{mapped}"


def owner_of(context: Context) -> Owner:
    """Who this task is to a journal."""
    from airflow_provider_connect_offsets.change.record import Owner  # noqa: PLC0415 - parsing a DAG needs none of it

    return Owner.here(run=run_key(context), task=str(context["ti"].task_id))


def directory_of(context: Context, *, part: str) -> RunDirectory:
    """The directory for the datasets of this run; ``part`` and the map index keep several changes of it apart."""
    from airflow_provider_connect_offsets.workspace.layout import run_directory  # noqa: PLC0415

    instance: Any = context["ti"]
    mapped = str(instance.map_index) if instance.map_index is not None and instance.map_index >= 0 else ""
    parts = "-".join(word for word in (part, mapped) if word)
    return run_directory(workspace_uri(), dag_id=instance.dag_id, run_id=instance.run_id, part=parts)


def page_of(run: RunDirectory, *, pending: Pending | None = None) -> str:
    """Write the run's page anew, and return its URI; ``pending`` is why its plan is not applied yet."""
    from airflow_provider_connect_offsets.report import write_page  # noqa: PLC0415

    return page_written(lambda: write_page(run, pending=pending), run.report)


def page_written(write: Callable[[], object], uri: str) -> str:
    """Write the page at ``uri``, and return that.

    A page that can't be written is a warning: it must neither fail a change that was applied nor hide why one wasn't.
    """
    try:
        write()
    except Exception:
        log.warning("The page %s could not be written; datasets and journal are complete.", uri, exc_info=True)
    return uri


def is_true(value: object) -> bool:
    """Read a flag that a template may have made a text; raises :class:`InvalidInput` for anything else."""
    text = str(value).strip().lower()
    if text not in {"true", "false", "none", ""}:
        raise InvalidInput(f"{value!r} is neither true nor false.")
    return text == "true"
