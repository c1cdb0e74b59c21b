"""What all operators share: where their run keeps its datasets, who they are to a journal, and how they fail."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from airflow_provider_connect_offsets.exceptions import InvalidInput

if TYPE_CHECKING:
    from airflow.sdk import Context

    from airflow_provider_connect_offsets.change.doors import Doors
    from airflow_provider_connect_offsets.change.journal import Journal
    from airflow_provider_connect_offsets.change.record import Owner
    from airflow_provider_connect_offsets.report import Pending
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory

log = logging.getLogger(__name__)


def workspace_uri() -> str:
    """Where datasets, journals and reports are kept: ``[connect_offsets] workspace``, by default in AIRFLOW_HOME."""
    configured = str(conf.get("connect_offsets", "workspace", fallback="") or "")
    if configured:
        return configured
    home = os.environ.get("AIRFLOW_HOME") or Path("~/airflow").expanduser()
    return Path(home, "connect_offsets").absolute().as_uri()


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


@dataclass(frozen=True, slots=True)
class Opened:
    """The doors of a change while they are open, and the id of the Kafka cluster that Connect works on."""

    doors: Doors
    cluster: str

    def journal(self, connector: str) -> Journal:
        """The journal of a connector of this Connect cluster."""
        from airflow_provider_connect_offsets.change.journal import Journal  # noqa: PLC0415
        from airflow_provider_connect_offsets.workspace.layout import journal_root  # noqa: PLC0415

        return Journal(journal_root(workspace_uri()), cluster=self.cluster, connector=connector)


@contextmanager
def open_doors(connect_conn_id: str, kafka_conn_id: str | None, *, patience: float = 120.0) -> Iterator[Opened]:
    """Open what a change goes through; ``kafka_conn_id`` is the cluster whose logs the positions refer to.

    That is a sink's own cluster, so its consumer group is looked at there too. patience: seconds for each state.
    """
    # Late, as the Kafka provider's hook imports its client, which no DAG needs for being parsed.
    from airflow_provider_connect_offsets.change.doors import Doors  # noqa: PLC0415
    from airflow_provider_connect_offsets.hooks.kafka import consumer_groups, kafka_logs  # noqa: PLC0415
    from airflow_provider_connect_offsets.hooks.kafka_connect import KafkaConnectHook  # noqa: PLC0415

    with ExitStack() as stack:
        connect = stack.enter_context(KafkaConnectHook(connect_conn_id).get_conn())
        logs = stack.enter_context(kafka_logs(kafka_conn_id)) if kafka_conn_id else None
        groups = stack.enter_context(consumer_groups(kafka_conn_id)) if kafka_conn_id else None
        doors = Doors(offsets=connect, control=connect, logs=logs, groups=groups, patience=patience)
        yield Opened(doors, connect.version().kafka_cluster_id)


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
