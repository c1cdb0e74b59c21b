"""Each benchmark still measures both of its ways, on a thousandth of its data; the times mean nothing then."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes
TABLE = Path(__file__).parents[2] / "benchmarks" / "table.py"
#: Benchmark → how many rows it has.
ROWS = {
    "parse_dags": 2,
    "downtime": 2,
    "log_ends": 2,
    "export": 3,
    "group_commits": 2,
    "plan_job": 5,
    "snapshot": 8,
    "translation": 3,
    "stopped_time": 2,
}


@pytest.mark.parametrize("name", ROWS)
def test_both_ways_are_measured(name: str, tmp_path: Path) -> None:
    """Each row has the seconds of both, and the table has the row."""
    command = [sys.executable, str(TABLE), name, "--runs", "1", "--scale", "0.001", "--output", str(tmp_path)]

    done = subprocess.run(command, check=False, capture_output=True, text=True)

    assert done.returncode in (0, 3), done.stderr[-3000:]  # 3: a goal is missed
    measured = json.loads((tmp_path / "bench.json").read_text())["rows"]
    assert len(measured) == ROWS[name], [row["name"] for row in measured]
    assert all(seconds > 0 for row in measured for seconds in (*row["ours"], *row["theirs"]))
    table = (tmp_path / "bench.md").read_text()
    assert all(f"| {row['name']} |" in table for row in measured)
