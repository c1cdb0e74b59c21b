"""Asset events of applied changes (``assets``), which start other DAGs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from airflow_provider_connect_offsets.assets import ANY_CHANGE, connector_asset, group_asset
from airflow_provider_connect_offsets.hooks.runs import map_index_of
from airflow_provider_connect_offsets.operators.shared.common import run_key
from airflow_provider_connect_offsets.workspace.outcome import Result

if TYPE_CHECKING:
    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import Asset, Context

    from airflow_provider_connect_offsets.observe.clients import Clients
    from airflow_provider_connect_offsets.operations.stages.captured import Alteration
    from airflow_provider_connect_offsets.workspace.layout import RunDirectory
    from airflow_provider_connect_offsets.workspace.outcome import Outcome

log = logging.getLogger(__name__)


class ChangeKind(StrEnum):
    """What was done: ``kind`` in the extra of an event."""

    CHANGED = "offsets_changed"
    FLOW_RESET = "flow_reset"
    ALTERED = "offsets_altered"
    REMOVED = "offsets_removed"
    CONFIGURED = "settings_changed"
    CREATED = "connector_created"
    DELETED = "connector_deleted"
    GROUP_DELETED = "group_deleted"
    GROUPS_MOVED = "groups_moved"
    SKIPPED = "records_skipped"


class TellsChanges:
    """A mixin for operators that apply changes: their events belong to the alias ``ANY_CHANGE``, one of their outlets.

    Airflow registers the events of a task that succeeds, and no others. OpenLineage, if it is installed, gets them in a
    run facet, also of a task that fails.
    """

    outlets: list[Any]
    #: The extras of the events so far.
    extras: tuple[dict[str, Any], ...] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.outlets = [*self.outlets, ANY_CHANGE]

    def get_openlineage_facets_on_complete(self, _task_instance: object) -> OperatorLineage[Any, Any]:
        """Return what OpenLineage adds to the run of this task; its outputs are the assets of the events."""
        from airflow_provider_connect_offsets.operators.shared.lineage import lineage_of_changes

        return lineage_of_changes(self.extras)

    def tell(self, context: Context, extra: dict[str, Any], *, of: Callable[[], Asset]) -> None:
        """Add an event of the asset ``of``."""
        with _log_failure(extra):
            context["outlet_events"][ANY_CHANGE].add(of(), extra=extra)
        self.extras = (*self.extras, extra)

    def tell_change(self, context: Context, clients: Clients, name: str, *, kind: ChangeKind, **more: object) -> None:
        """Add the event of a change of the connector or consumer group ``name``; ``more``: more of its ``extra``."""
        extra = {"kind": kind.value, "name": name, "run": run_key(context), **more}
        self.tell(context, extra, of=lambda: asset_of(clients, name))

    def tell_outcome(
        self,
        context: Context,
        clients: Clients,
        outcome: Outcome,
        run: RunDirectory,
        *,
        kind: ChangeKind = ChangeKind.CHANGED,
    ) -> None:
        """Add the event of a change with a plan, if it was applied and read back."""
        from airflow_provider_connect_offsets.operations.connector.event_summary import summary_of

        if outcome.result is Result.APPLIED:
            of_plan = {"run": outcome.run, "run_uri": run.uri, "plan_uri": run.offset_plan, "digest": outcome.digest}
            moved = summary_of(outcome.offsets)
            by = outcome.approval.extra if outcome.approval is not None else {}
            self.tell_change(context, clients, outcome.connector, kind=kind, **of_plan, **moved, **by)

    def tell_step(
        self, context: Context, clients: Clients, name: str, alteration: Alteration, *, kind: ChangeKind
    ) -> None:
        """Add the event of offsets that were written without a plan, if there were any."""
        from airflow_provider_connect_offsets.operations.connector.event_summary import list_moved, summary_of

        with _log_failure(f"{kind} of {name!r}"):
            if len(alteration.changes):
                moved = summary_of(list_moved(alteration, clients.control.info(name).family))
                self.tell_change(context, clients, name, kind=kind, **moved)


@contextmanager
def _log_failure(event: object) -> Iterator[None]:
    """Log an error of the block: an ``event`` that can't be made must not fail a change that is applied."""
    try:
        yield
    except Exception:
        log.warning("The change is applied, but its asset event could not be made: %s", event, exc_info=True)


def asset_of(clients: Clients, name: str) -> Asset:
    """Return the asset of a connector, or of the consumer group that takes its place."""
    from airflow_provider_connect_offsets.observe.clients import Origin
    from airflow_provider_connect_offsets.operations.groups.group_clients import kafka_cluster_of

    if clients.origin is Origin.GROUP:
        return group_asset(kafka_cluster_of(clients), name)
    return connector_asset(clients.cluster, name)


def has_failed_before(context: Context, task_ids: set[str]) -> bool:
    """Whether one of these tasks of the run has not succeeded, so that Airflow has not registered its events."""
    instance: Any = context["ti"]
    found = instance.get_task_states(
        dag_id=instance.dag_id,
        map_index=map_index_of(instance),
        task_ids=sorted(task_ids),
        run_ids=[instance.run_id],
    )
    states = [state for by_task in found.values() for state in by_task.values()]
    return any(state != "success" for state in states)
