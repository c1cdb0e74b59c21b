"""All benchmarks in one table; each row is a ratio of two things that run in turn, in the same run, on this machine.

``make bench`` measures all rows, ``make bench ROW=export`` those whose name or module has that in it. Writes
``build/bench.md`` and ``build/bench.json``. Exit code 3 if a row misses its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import downtime
import export
import group_commits
import log_ends
import parse_dags
import plan_job
import snapshot
import stopped_time
import strimzi
import translation
from rows import Row

from sandbox.jars import KAFKA_VERSION

Rows = Callable[[int, float], Iterator[Row]]
MEASURED: Mapping[str, Rows] = {
    "parse_dags": parse_dags.rows,
    "downtime": downtime.rows,
    "log_ends": log_ends.rows,
    "export": export.rows,
    "group_commits": group_commits.rows,
    "plan_job": plan_job.rows,
    "snapshot": snapshot.rows,
    "translation": translation.rows,
    "stopped_time": stopped_time.rows,
    "strimzi": strimzi.rows,
}
BUILD = Path(__file__).parents[1] / "build"


def main() -> int:
    """Measure, and write the table after each row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    # With a list as one of the choices, argparse accepts that none is given.
    parser.add_argument("module", nargs="*", choices=[*MEASURED, []], help="all by default")
    parser.add_argument("--runs", type=int, default=3, help="of each side of a row")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the rows, records and partitions")
    parser.add_argument("--output", type=Path, default=BUILD, help="directory of the table; build/ by default")
    options = parser.parse_args()
    rows: list[Row] = []
    for name in options.module or MEASURED:
        for row in MEASURED[name](options.runs, options.scale):
            rows.append(row)
            _write(rows, options)
            print(" | ".join(row.cells().values()), flush=True)
    print(f"\n{markdown([row.cells() for row in rows])}")
    return 0 if all(row.holds for row in rows) else 3


def _write(rows: Sequence[Row], options: argparse.Namespace) -> None:
    options.output.mkdir(exist_ok=True)
    here = {**machine(), "runs": options.runs, "scale": options.scale}
    facts = " · ".join(f"{name} {value}" for name, value in here.items())
    (options.output / "bench.md").write_text(f"{facts}\n\n{markdown([row.cells() for row in rows])}\n")
    listed = [{**asdict(row), "ratio": row.ratio, "holds": row.holds} for row in rows]
    (options.output / "bench.json").write_text(json.dumps({"machine": here, "rows": listed}, indent=2))


def machine() -> dict[str, str]:
    """Describe what the rows were measured on."""
    packages = {name: version(name) for name in ("apache-airflow", "pyspark", "confluent-kafka")}
    cores = f"{os.cpu_count()} of {platform.machine()}"
    day = f"{datetime.now(tz=UTC):%Y-%m-%d}"
    return {"day": day, "cores": cores, "Python": platform.python_version(), "Kafka": KAFKA_VERSION, **packages}


def markdown(cells: Sequence[Mapping[str, str]]) -> str:
    """Write rows as a table."""
    lines = ["| " + " | ".join(cells[0]) + " |", "|" + "---|" * len(cells[0])]
    lines += ["| " + " | ".join(one.values()) + " |" for one in cells]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
