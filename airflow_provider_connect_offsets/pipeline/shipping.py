"""The arguments of ``spark-submit``: the file it runs, and the zip of modules that driver and executors import.

Standard library only: an Airflow task imports this module and need not have pyspark.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

# A job of seconds ends before the JVM's second compiler pays off: without it, the job takes about three quarters.
QUICK_START = "-XX:TieredStopAtLevel=1"

PACKAGE = Path(__file__).parents[1]

# Only modules that jobs import, so that neither driver nor executors need fsspec, pyarrow or our other dependencies.
_SHIPPED = (
    "__init__.py",
    "exceptions.py",
    "offsets/*.py",
    "offsets/requests/*.py",
    "pipeline/*.py",
    "pipeline/*/*.py",
    "workspace/__init__.py",
    "workspace/flow_schemas.py",
    "workspace/layout.py",
    "workspace/paths.py",
    "workspace/readiness.py",
    "workspace/schemas.py",
    "workspace/snapshots.py",
)
# A fixed time (zip's earliest) makes equal content an equal file.
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def job_path() -> Path:
    """The file that ``spark-submit`` runs for every job; see ``job`` for its arguments."""
    return PACKAGE / "pipeline" / "job.py"


def spark_submit_path() -> str | None:
    """The ``spark-submit`` on the path, else the one that pip installed with pyspark; None if there is neither."""
    by_pip = Path(sys.executable).with_name("spark-submit")
    return shutil.which("spark-submit") or (str(by_pip) if by_pip.exists() else None)


def write_py_files(target: Path) -> Path:
    """Write the zip for ``spark-submit --py-files``; the same modules give the same bytes.

    Returns:
        ``target``
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in shipped_modules():
            entry = zipfile.ZipInfo((Path(PACKAGE.name) / module.relative_to(PACKAGE)).as_posix(), _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, module.read_bytes())
    return target


def shipped_modules() -> Iterator[Path]:
    """The files of the modules that jobs import, always in the same order."""
    for pattern in _SHIPPED:
        yield from sorted(PACKAGE.glob(pattern))
