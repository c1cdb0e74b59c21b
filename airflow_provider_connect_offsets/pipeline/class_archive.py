"""Write and use a class-data archive of the classes that Spark's driver loads, which saves a third of a short job.

::

    python -m airflow_provider_connect_offsets.pipeline.class_archive FILE

The driver loads some 20,000 classes. Operators pass the file of ``[connect_offsets] class_archive`` to the JVM. The JVM
maps the file if the same JDK wrote it on the same class path; otherwise it starts without the file. Source: JEP 350
(dynamic CDS archives, JDK 13 and later).
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

# Options of spark-submit's JVM, which is the driver unless the driver runs in the cluster. Spark appends the options in
# spark.driver.defaultJavaOptions and spark.driver.extraJavaOptions, so users' settings win.
_SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"


def quick_start(archive: str, *, is_short: bool = True) -> dict[str, str]:
    """Return the environment variables that make ``spark-submit`` start quickly.

    Args:
        archive: path of a class archive; ignored if empty or if there is no such file
        is_short: whether the job ends before the JVM's second compiler pays off
    """
    exists = bool(archive) and Path(archive).is_file()
    shared = f"-XX:SharedArchiveFile={archive}" if exists else ""
    return _submit_options(QUICK_START if is_short else "", shared)


def _submit_options(*ours: str) -> dict[str, str]:
    options = (*ours, os.environ.get(_SUBMIT_OPTIONS, ""))
    return {_SUBMIT_OPTIONS: " ".join(option for option in options if option)}


def write_class_archive(target: Path, spark_submit: str) -> str:
    """Run a small job and let the JVM archive its classes; ``target`` is replaced only by a complete archive.

    Args:
        target: the archive
        spark_submit: path of the program

    Returns:
        the last lines of output if the job failed, else an empty string
    """
    with tempfile.TemporaryDirectory(prefix="connect-offsets-") as scratch:
        scratch_archive = target.with_name(f".{target.name}.{os.getpid()}")
        shipped = write_py_files(Path(scratch, "connect_offsets.zip"))
        job = [str(job_path()), "rehearsal", Path(scratch, "run").as_uri()]
        options = _submit_options(QUICK_START, f"-XX:ArchiveClassesAtExit={scratch_archive}")
        environment = {**os.environ, **options, "PYSPARK_PYTHON": sys.executable}
        try:
            done = subprocess.run(  # noqa: S603 - fixed arguments
                [spark_submit, "--master", "local[2]", "--py-files", str(shipped), *job],
                check=False,
                capture_output=True,
                text=True,
                cwd=scratch,
                env=environment,
            )
            if done.returncode or not scratch_archive.is_file():
                return "\n".join(f"{done.stdout}\n{done.stderr}".strip().splitlines()[-10:])
            scratch_archive.replace(target)
        finally:
            scratch_archive.unlink(missing_ok=True)
    return ""


def main(arguments: list[str]) -> int:
    """Write the archive, and return the exit code.

    It is 2 if the arguments or the installation are wrong, and 1 if the JVM wrote no archive.
    """
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write(_USAGE)
        return 2
    target, binary = Path(arguments[0]).absolute(), spark_submit_path()
    if not target.parent.is_dir():
        sys.stderr.write(f"There is no folder {target.parent}.\n")
        return 2
    if binary is None:
        sys.stderr.write("There is no spark-submit on the path or next to this Python.\n")
        return 2
    problem = write_class_archive(target, binary)
    if problem:
        message = "No archive was written. The JVM can't write it if the class path has folders that aren't empty."
        sys.stderr.write(f"{problem}\n{message}\n")
        return 1
    size = target.stat().st_size / 1_000_000
    sys.stdout.write(f"{target}: {size:,.0f} MB. Set [connect_offsets] class_archive to it.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
