"""The files of a run that a browser may get, and their paths; standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from airflow_provider_connect_offsets.workspace.paths import is_segment, join, unique_segment

#: Media type by file name. All other files of a run are for programs and are not served.
SERVED: Mapping[str, str] = {
    "report.html": "text/html; charset=utf-8",
    "translation.csv": "text/csv; charset=utf-8",
    "removed.json": "application/json",
}


def served_path(uri: str, *, workspace: str, dag_id: str) -> str | None:
    """Return the path ``<dag_id>/<run>/…`` of a file of a run, quoted for a URL; None if it is not in the workspace.

    Args:
        uri: The file.
        workspace: URI of the workspace.
        dag_id: DAG of the task that calls; a file of another DAG is named by that DAG's directory.
    """
    root = f"{workspace.rstrip('/')}/"
    if not uri.startswith(root):
        return None
    directory, _, rest = uri.removeprefix(root).partition("/")
    owner = dag_id if unique_segment(dag_id) == directory else directory
    return quote(f"{owner}/{rest}")


def served_uri(path: str, *, workspace: str, dag_id: str, run_id: str) -> str | None:
    """Return the URI of the file at ``path`` of a run; None if it is not to be served, or not within the run.

    Args:
        path: Path within the run's directory.
        workspace: URI of the workspace.
        dag_id: Id of the DAG.
        run_id: Id of the run, or the name of its directory.
    """
    names = path.split("/")
    if names[-1] not in SERVED or not all(map(is_segment, names)) or run_id in {"", ".", ".."}:
        return None
    # Ids of runs that Airflow names have colons, names of directories have none.
    run = run_id if is_segment(run_id) else unique_segment(run_id)
    return join(workspace, unique_segment(dag_id), run, *names)
