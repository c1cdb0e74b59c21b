"""Parse time of the ready-made DAGs compared with a DAG of as many empty tasks.

Both are executed in turn, in new processes that have already imported Airflow; prints the ratio of their medians::

    make bench
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

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


def main() -> int:
    """Print one line for each DAG."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        floor = Path(scratch, "floor.py")
        floor.write_text(FLOOR)
        for dag in sorted(DAGS.glob("*.py")):
            pairs = [(_seconds(floor), _seconds(dag)) for _ in range(options.runs)]
            least, ours = (statistics.median(times) for times in zip(*pairs, strict=True))
            ratio = f"{ours / least:.1f} times a DAG of as many empty tasks"
            sys.stdout.write(f"{dag.name}: {ratio} ({ours:.2f} s, {least:.2f} s)\n")
    return 0


def _seconds(dag: Path) -> float:
    done = subprocess.run([sys.executable, "-c", TIMED, str(dag)], check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
