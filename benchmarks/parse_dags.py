"""Parse time of two ready-made DAGs, compared with a DAG of as many SparkSubmitOperators.

Both are executed in turn, in new processes that have already imported Airflow.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rows import Row

DAGS = Path(__file__).parents[1] / "dags"
MEASURED = ("connector_offsets_change.py", "mirror_failover.py")
FLOOR = """
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

with DAG("floor", schedule=None):
    for number in range(7):
        SparkSubmitOperator(task_id=f"task_{number}", application="job.py")
"""
TIMED = """
import runpy, sys, time
import airflow.sdk.definitions.dag, airflow.sdk.bases.operator
began = time.perf_counter()
runpy.run_path(sys.argv[1])
print(time.perf_counter() - began)
"""


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each of the two."""
    del scale
    with tempfile.TemporaryDirectory() as scratch:
        floor = Path(scratch, "floor.py")
        floor.write_text(FLOOR)
        for dag in (DAGS / name for name in MEASURED):
            pairs = [(_seconds(dag), _seconds(floor)) for _ in range(runs)]
            ours, theirs = zip(*pairs, strict=True)
            yield Row(f"parsing of {dag.name}", ours, "a DAG of SparkSubmitOperators", theirs)


def _seconds(dag: Path) -> float:
    done = subprocess.run([sys.executable, "-c", TIMED, str(dag)], check=True, capture_output=True, text=True)
    return float(done.stdout)
