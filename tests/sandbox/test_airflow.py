"""The sandbox's Airflow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.airflow import _import_before_forks

_OPERATOR = "airflow.providers.apache.spark.operators.spark_submit"


@pytest.mark.parametrize(("part", "forks"), [("scheduler", True), ("dag-processor", True), ("api-server", False)])
def test_what_is_forked_has_imported_sparks_operator(*, part: str, forks: bool, tmp_path: Path) -> None:
    """A task is a fork of the scheduler, the parsing of a DAG file one of the DAG processor; the rest starts sooner."""
    _import_before_forks(tmp_path)
    code = f"import sys; sys.argv = ['airflow', {part!r}]; import airflow.settings; print({_OPERATOR!r} in sys.modules)"
    environment = {**os.environ, "AIRFLOW_HOME": str(tmp_path)}

    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)

    assert ran.stdout.split()[-1] == str(forks)
