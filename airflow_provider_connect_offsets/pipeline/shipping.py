"""The arguments of ``spark-submit``: the file it runs, and the zip of modules that driver and executors import.

The zip also has the connector families that other distributions provide, with the entry points that name them: Python
finds both in a zip on its path as it does in an installation.

Standard library only: an Airflow task imports this module and need not have pyspark.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

from airflow_provider_connect_offsets.offsets.families.own import GROUP, family_points

# A job of seconds ends before the JVM's second compiler pays off: without that compiler, the job takes about three
# quarters of the time. But the JVM then reserves only 48 MB for compiled code, which the plans of about 20 connectors
# fill. After that it compiles nothing more and interprets ("CodeCache is full. Compiler has been disabled."). 240 MB is
# its usual size.
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"

PACKAGE = Path(__file__).parents[1]

# Only modules that jobs import, so that neither driver nor executors need fsspec, pyarrow or our other dependencies.
_SHIPPED = (
    "__init__.py",
    "exceptions.py",
    "masking.py",
    "words.py",
    "offsets/*.py",
    "offsets/families/*.py",
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
    """Return the path of the file that ``spark-submit`` runs for every job; see ``job`` for its arguments."""
    return PACKAGE / "pipeline" / "job.py"


def spark_submit_path() -> str | None:
    """Find ``spark-submit`` on the path, else next to this Python, where pip installs it; None if it is not found."""
    by_pip = Path(sys.executable).with_name("spark-submit")
    return shutil.which("spark-submit") or (str(by_pip) if by_pip.exists() else None)


def write_py_files(target: Path) -> Path:
    """Write the zip for ``spark-submit --py-files``; the same modules give the same bytes.

    Returns:
        ``target``
    """
    content = {Path(PACKAGE.name) / module.relative_to(PACKAGE): module for module in shipped_modules()}
    points = list(family_points())
    for point in points:
        content |= _modules_of(point)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, module in content.items():
            _write(archive, name, module.read_bytes())
        for path, text in _metadata(points).items():
            _write(archive, Path(path), text.encode())
    return target


def _write(archive: zipfile.ZipFile, name: Path, content: bytes) -> None:
    entry = zipfile.ZipInfo(name.as_posix(), _LONG_AGO)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def _modules_of(point: EntryPoint) -> dict[Path, Path]:
    """Map names in the zip to the files of an entry point's top-level module or package, without importing it."""
    top = point.module.partition(".")[0]
    spec = importlib.util.find_spec(top)
    if spec is None:
        return {}  # loading the entry point will say what is wrong, and name its distribution
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not folders:
        return {Path(f"{top}.py"): Path(spec.origin)} if spec.origin else {}
    return {
        Path(top) / module.relative_to(folder): module for folder in folders for module in sorted(folder.rglob("*.py"))
    }


def _metadata(points: Iterable[EntryPoint]) -> dict[str, str]:
    """Map names in the zip to the texts that Python needs to find the entry points of families, and no others."""
    by_distribution: dict[tuple[str, str], list[EntryPoint]] = {}
    for point in points:
        if point.dist is not None:
            by_distribution.setdefault((point.dist.name, point.dist.version), []).append(point)
    texts = {}
    for (name, version), theirs in by_distribution.items():
        folder = f"{name.replace('-', '_')}-{version}.dist-info"
        lines = "".join(f"{point.name} = {point.value}\n" for point in theirs)
        texts[f"{folder}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        texts[f"{folder}/entry_points.txt"] = f"[{GROUP}]\n{lines}"
    return texts


def shipped_modules() -> Iterator[Path]:
    """Yield the files of the modules that jobs import, always in the same order."""
    for pattern in _SHIPPED:
        yield from sorted(PACKAGE.glob(pattern))
