"""Shared by the benchmarks: time whole programs in turn, and check promises."""

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
    """Median seconds of each action; see :func:`timed`."""
    return [statistics.median(taken) for taken in timed(runs, *actions)]


def fastest(runs: int, *actions: Callable[[], object]) -> list[float]:
    """Fewest seconds of each action, for times that are subtracted, where noise would add up; see :func:`timed`."""
    return [min(taken) for taken in timed(runs, *actions)]


def timed(runs: int, *actions: Callable[[], object]) -> list[list[float]]:
    """Seconds of each run of each action. Actions run in turn, so that a slow minute affects all of them."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(runs):
        for taken, action in zip(seconds, actions, strict=True):
            began = time.perf_counter()
            action()
            taken.append(time.perf_counter() - began)
    return seconds


def submit(*arguments: str, archive: str = "") -> None:
    """Run ``spark-submit`` as the operators do; ``archive``: ``[connect_offsets] class_archive``."""
    environment = {**os.environ, **quick_start(archive), "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as scratch:
        binary = str(Path(sys.executable).with_name("spark-submit"))
        run(binary, "--master", "local[2]", *arguments, cwd=scratch, env=environment)


def run(*command: str, cwd: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output; if it fails, end the benchmark with its last output."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def judged(promises: Mapping[str, bool]) -> int:
    """Print the broken promises; the benchmark's exit code."""
    broken = [promise for promise, kept in promises.items() if not kept]
    for promise in broken:
        print(f"BROKEN: {promise}", file=sys.stderr)
    return 1 if broken else 0
