"""What the benchmarks share: whole programs, timed in turn."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from airflow_provider_connect_offsets.pipeline.class_archive import quick_start


def medians(runs: int, *actions: Callable[[], object]) -> list[float]:
    """Seconds of each; see :func:`timed`."""
    return [statistics.median(taken) for taken in timed(runs, *actions)]


def fastest(runs: int, *actions: Callable[[], object]) -> list[float]:
    """Seconds of each when least else went on; for what is subtracted, where noise would add up."""
    return [min(taken) for taken in timed(runs, *actions)]


def timed(runs: int, *actions: Callable[[], object]) -> list[list[float]]:
    """Seconds of each run of each, taken in turn, so that a slow minute of the machine hits all alike."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(runs):
        for taken, action in zip(seconds, actions, strict=True):
            began = time.perf_counter()
            action()
            taken.append(time.perf_counter() - began)
    return seconds


def submit(*arguments: str, archive: str = "") -> None:
    """Run ``spark-submit`` as the operators do; archive: ``[connect_offsets] class_archive``."""
    here = {**os.environ, **quick_start(archive), "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as scratch:
        binary = str(Path(sys.executable).with_name("spark-submit"))
        run(binary, "--master", "local[2]", *arguments, cwd=scratch, env=here)


def run(*command: str, cwd: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a program to its end; gives what it printed, and ends the benchmark with its last words where it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
