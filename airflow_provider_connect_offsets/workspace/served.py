"""Which files of a run people are pointed to, and the paths under which a browser gets them. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from airflow_provider_connect_offsets.workspace.paths import is_segment, join, unique_segment

#: Media type by file name. Every other file of a run is for programs, and is not served.
SERVED: Mapping[str, str] = {
    "report.html": "text/html; charset=utf-8",
    "translation.csv": "text/csv; charset=utf-8",
    "removed.json": "application/json",
}


def served_path(uri: str, *, workspace: str, dag_id: str) -> str | None:
    """Path ``<dag_id>/<run>/…`` of a file of a run, quoted for a URL; None for a file outside of the workspace.

    dag_id: the DAG whose task asks. The file may be another DAG's, which is then named by its directory.
    """
    root = f"{workspace.rstrip('/')}/"
    if not uri.startswith(root):
        return None
    directory, _, rest = uri.removeprefix(root).partition("/")
    owner = dag_id if unique_segment(dag_id) == directory else directory
    return quote(f"{owner}/{rest}")


def served_uri(path: str, *, workspace: str, dag_id: str, run_id: str) -> str | None:
    """URI of the file at ``path`` of a run; None where that is no file to be served, or not within the run.

    run_id: a run's id, or the name of its directory.
    """
    names = path.split("/")
    if names[-1] not in SERVED or not all(map(is_segment, names)) or run_id in {"", ".", ".."}:
        return None
    # The id of a run that Airflow names itself has colons, which its directory's name has not.
    run = run_id if is_segment(run_id) else unique_segment(run_id)
    return join(workspace, unique_segment(dag_id), run, *names)
