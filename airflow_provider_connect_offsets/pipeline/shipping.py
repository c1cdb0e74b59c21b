"""What ``spark-submit`` is given: the job's file, and the zip with the modules that it and its executors import.

Standard library only: an Airflow operator calls this where there may be no pyspark.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

# A job of seconds ends before the JVM's second compiler has paid for itself: without it, it takes about three quarters.
QUICK_START = "-XX:TieredStopAtLevel=1"

PACKAGE = Path(__file__).parents[1]

# No more than the job imports, so that neither driver nor executors need fsspec, pyarrow or anything else of ours.
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
)
# Zip has no times before 1980; a fixed one makes equal content an equal file.
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


def job_path() -> Path:
    """The file that ``spark-submit`` runs for every job; see ``job`` for its arguments."""
    return PACKAGE / "pipeline" / "job.py"


def spark_submit_path() -> str | None:
    """The ``spark-submit`` on the path, or that which came with pyspark; None where there is neither."""
    beside = Path(sys.executable).with_name("spark-submit")
    return shutil.which("spark-submit") or (str(beside) if beside.exists() else None)


def write_py_files(target: Path) -> Path:
    """Write the zip for ``spark-submit --py-files`` to ``target``; the same modules give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for module in shipped_modules():
            entry = zipfile.ZipInfo((Path(PACKAGE.name) / module.relative_to(PACKAGE)).as_posix(), _LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, module.read_bytes())
    return target


def shipped_modules() -> Iterator[Path]:
    """Yield the files of the modules that the jobs import, always in the same order."""
    for pattern in _SHIPPED:
        yield from sorted(PACKAGE.glob(pattern))
