"""How ready flows of MirrorMaker 2 were for a failover, in the newest runs that observed them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_connect_offsets.exceptions import DatasetError
from airflow_provider_connect_offsets.report.flow.readiness import Readiness
from airflow_provider_connect_offsets.report.standing import Standing
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.layout import run_directory
from airflow_provider_connect_offsets.workspace.paths import join, unique_segment
from airflow_provider_connect_offsets.workspace.readiness import ReadinessDirectory

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SeenReadiness:
    """A flow as one run has found it.

    Attributes:
        observed_at: when the flow was observed
        standing: the banner of its report
        lag: records that were not replicated yet
        lost: offsets that were deleted from the source before they were replicated
        report: address of its report; None if it has none
    """

    observed_at: datetime
    standing: Standing
    lag: int
    lost: int
    report: str | None


@dataclass(frozen=True, slots=True)
class SeenFlow:
    """A flow, and how ready it was, the newest run first.

    Attributes:
        dag_id: the DAG that observes it
        name: aliases of its clusters
        connector: its MirrorSource
        runs: what the runs have found
    """

    dag_id: str
    name: str
    connector: str
    runs: tuple[SeenReadiness, ...]


def observes_flows(workspace: str, dag_id: str) -> bool:
    """Whether a DAG keeps the history of a flow in a workspace."""
    return bool(files.list_names(join(workspace, unique_segment(dag_id), "_history")))


def flows_in(
    workspace: str, dag_id: str, run_ids: Iterable[str], report_of: Callable[[str], str | None]
) -> list[SeenFlow]:
    """Read the flows that runs have observed, in the order of the newest run of each; other runs are passed over.

    Args:
        workspace: URI of the workspace.
        dag_id: The DAG of the runs.
        run_ids: Its runs, the newest first.
        report_of: Returns the address of a run's report; None if it has none.
    """
    flows: dict[tuple[str, str], list[SeenReadiness]] = {}
    found = files.read_at_once(lambda run_id: _seen(workspace, dag_id, run_id, report_of), run_ids)
    for key, seen in filter(None, found):
        flows.setdefault(key, []).append(seen)
    return [SeenFlow(dag_id, name, connector, tuple(runs)) for (name, connector), runs in flows.items()]


def _seen(
    workspace: str, dag_id: str, run_id: str, report_of: Callable[[str], str | None]
) -> tuple[tuple[str, str], SeenReadiness] | None:
    directory = ReadinessDirectory(run_directory(workspace, dag_id=dag_id, run_id=run_id).uri)
    try:
        summary = files.read_json_if_any(directory.summary)
    except DatasetError:
        log.warning("The readiness of %s is not shown.", directory.uri, exc_info=True)
        return None
    if summary is None or "ready_for" not in summary:
        return None
    found, flow = Readiness(directory, summary, ()), summary["flow"]
    seen = SeenReadiness(found.observed_at, found.standing, summary["lag"], summary["lost"], report_of(run_id))
    return (f"{flow['source_alias']} → {flow['target_alias']}", summary["request"]["source_connector"]), seen
