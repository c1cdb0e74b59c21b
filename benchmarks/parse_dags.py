"""Parse time of the ready-made DAGs compared with a DAG of as many empty tasks.

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
FLOOR = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

with DAG("floor", schedule=None):
    for number in range(7):
        EmptyOperator(task_id=f"task_{number}")
"""
TIMED = """
import runpy, sys, time
import airflow.sdk.definitions.dag, airflow.sdk.bases.operator
began = time.perf_counter()
runpy.run_path(sys.argv[1])
print(time.perf_counter() - began)
"""


def rows(runs: int, scale: float) -> Iterator[Row]:
    """Return a row for each DAG."""
    del scale
    with tempfile.TemporaryDirectory() as scratch:
        floor = Path(scratch, "floor.py")
        floor.write_text(FLOOR)
        for dag in sorted(DAGS.glob("*.py")):
            pairs = [(_seconds(dag), _seconds(floor)) for _ in range(runs)]
            ours, theirs = zip(*pairs, strict=True)
            yield Row(f"parsing of {dag.name}", ours, "a DAG of as many empty tasks", theirs)


def _seconds(dag: Path) -> float:
    done = subprocess.run([sys.executable, "-c", TIMED, str(dag)], check=True, capture_output=True, text=True)
    return float(done.stdout)
