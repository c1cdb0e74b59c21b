"""URIs and path segments of a workspace, and the paths under which a browser gets files; standard library only."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from urllib.parse import quote

# Local file systems allow 255 bytes, and a temporary file has a longer name than the final one.
_LONGEST, _HASH = 200, 12
_UNSAFE = re.compile(r"[^A-Za-z0-9._=-]")
_PLAIN = re.compile(r"[A-Za-z0-9=-][A-Za-z0-9._=-]*")
_HASHED = re.compile(rf"-[0-9a-f]{{{_HASH}}}\Z")
# The file that marks a dataset as finished, as Hadoop's committers write it.
MARKER = "_SUCCESS"
#: Media type by file name. All other files of a run are for programs and are not served.
SERVED: Mapping[str, str] = {
    "report.html": "text/html; charset=utf-8",
    "translation.csv": "text/csv; charset=utf-8",
    "removed.json": "application/json",
}


def join(uri: str, *names: str) -> str:
    """Append path segments to a URI."""
    return "/".join([uri.rstrip("/"), *(name.strip("/") for name in names)])


def unique_segment(name: str) -> str:
    """Return a path segment for a name that every file system allows and no other name gets.

    Names of connectors, runs and DAGs may be too long for a file, be ``..``, or have ``:`` and ``+``, which HDFS and
    some object stores refuse. A plain name is its own segment. Any other name is cleaned, shortened and followed by
    its hash; so is a name that looks like such a segment, or starts like the workspace's own directories
    (``_journal``).
    """
    if _PLAIN.fullmatch(name) and not _HASHED.search(name) and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    return f"{_UNSAFE.sub('_', name)[: _LONGEST - _HASH - 1]}-{digest}"


def is_segment(name: str) -> bool:
    """Whether :func:`unique_segment` or this package may have given a directory or file this name."""
    return name not in {"", ".", ".."} and not _UNSAFE.search(name)


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
