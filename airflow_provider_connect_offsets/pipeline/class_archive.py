"""An archive of the classes that Spark's driver loads, so that the JVM need not read and verify them each time.

::

    python -m airflow_provider_connect_offsets.pipeline.class_archive FILE

A job of a few seconds spends a third of them on some 20,000 classes. With ``[connect_offsets] class_archive`` the
operators name the file to the JVM, which maps it where it was made by the same JDK on the same class path, and starts
as ever where it was not. Source: JEP 350 (dynamic CDS archives, JDK 13 and later).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from airflow_provider_connect_offsets.pipeline.shipping import (
    QUICK_START,
    job_path,
    spark_submit_path,
    write_py_files,
)

_USAGE = "usage: python -m airflow_provider_connect_offsets.pipeline.class_archive FILE\n"


# Options of spark-submit's own JVM, which is the driver's unless that runs in the cluster. Spark puts those of
# spark.driver.defaultJavaOptions and spark.driver.extraJavaOptions after these, so what users set there holds.
_SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"


def quick_start(archive: str) -> dict[str, str]:
    """Environment in which ``spark-submit`` starts quickly, with that archive; without it where the file is missing."""
    there = bool(archive) and Path(archive).is_file()
    return _submit_options(f"-XX:SharedArchiveFile={archive}" if there else "")


def _submit_options(more: str) -> dict[str, str]:
    options = (QUICK_START, more, os.environ.get(_SUBMIT_OPTIONS, ""))
    return {_SUBMIT_OPTIONS: " ".join(option for option in options if option)}


def write_class_archive(target: Path, spark_submit: str) -> str:
    """Run a small job and let the JVM write down its classes; gives what went wrong, empty where nothing did.

    The file is put in its place only when it is whole.
    """
    with tempfile.TemporaryDirectory(prefix="connect-offsets-") as scratch:
        made = target.with_name(f".{target.name}.{os.getpid()}")
        shipped = write_py_files(Path(scratch, "connect_offsets.zip"))
        job = [str(job_path()), "rehearsal", Path(scratch, "run").as_uri()]
        options = _submit_options(f"-XX:ArchiveClassesAtExit={made}")
        here = {**os.environ, **options, "PYSPARK_PYTHON": sys.executable}
        try:
            done = subprocess.run(  # noqa: S603 - the program that was found, with words of our own
                [spark_submit, "--master", "local[2]", "--py-files", str(shipped), *job],
                check=False,
                capture_output=True,
                text=True,
                cwd=scratch,
                env=here,
            )
            if done.returncode or not made.is_file():
                return "\n".join(f"{done.stdout}\n{done.stderr}".strip().splitlines()[-10:])
            made.replace(target)
        finally:
            made.unlink(missing_ok=True)
    return ""


def main(arguments: list[str]) -> int:
    """Write the archive; 2 where nothing could be begun, 1 where the JVM has written none."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write(_USAGE)
        return 2
    target, binary = Path(arguments[0]).absolute(), spark_submit_path()
    if not target.parent.is_dir():
        sys.stderr.write(f"There is no folder {target.parent}.\n")
        return 2
    if binary is None:
        sys.stderr.write("There is no spark-submit on the path, and none beside this Python.\n")
        return 2
    problem = write_class_archive(target, binary)
    if problem:
        told = "No archive was written; the JVM allows none where a class path has folders that aren't empty."
        sys.stderr.write(f"{problem}\n{told}\n")
        return 1
    size = target.stat().st_size / 1_000_000
    sys.stdout.write(f"{target}: {size:,.0f} MB. Name it in [connect_offsets] class_archive.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
