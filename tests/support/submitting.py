"""Jobs run by ``spark-submit`` where nothing of ours is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark

from airflow_provider_connect_offsets.pipeline import shipping


def bare_python(path: Path) -> Path:
    """A Python that sees no site-packages: not this package, nor pyarrow, nor anything else that is installed."""
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    path.chmod(0o755)
    return path


def submit(job: Path, uri: str, scratch: Path) -> None:
    """Run ``job`` on a run directory; driver and workers have nothing but the zip that is shipped."""
    python = bare_python(scratch / "python")
    home = Path(pyspark.__file__).parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    environment |= {"SPARK_HOME": str(home), "PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": str(python)}
    settings = {**shipping.QUICK_START, "spark.ui.enabled": "false"}

    for hidden in ("airflow_provider_connect_offsets", "pyarrow", "fsspec"):
        alone = subprocess.run([python, "-c", f"import {hidden}"], cwd=scratch, env=environment, check=False)
        assert alone.returncode != 0
    done = subprocess.run(
        [
            home / "bin" / "spark-submit",
            *("--master", "local[2]"),
            *(word for name, value in settings.items() for word in ("--conf", f"{name}={value}")),
            *("--py-files", shipping.write_py_files(scratch / "connect_offsets.zip")),
            job,
            uri,
        ],
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
