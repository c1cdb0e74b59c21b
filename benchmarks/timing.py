"""Shared by the benchmarks: time programs and calls in turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from airflow_provider_connect_offsets.pipeline.class_archive import quick_start

# Linux counts the memory of whoever starts a program as the program's own (getrusage(2): it is kept across execve). So
# a small program starts it.
_MEASURE = """
import json, os, subprocess, sys, time
began = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_pid, status, used = os.wait4(process.pid, 0)
print(json.dumps([time.perf_counter() - began, used.ru_maxrss / 1024]))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def timed(runs: int, *actions: Callable[[], object]) -> list[list[float]]:
    """Seconds of each run of each action. Actions run in turn, so that a slow minute affects all of them."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(runs):
        for taken, action in zip(seconds, actions, strict=True):
            began = time.perf_counter()
            action()
            taken.append(time.perf_counter() - began)
    return seconds


def submit(*arguments: str, archive: str = "", is_short: bool = True) -> None:
    """Run ``spark-submit`` as the operators do.

    Args:
        arguments: of the program
        archive: ``[connect_offsets] class_archive``
        is_short: as the operator says it of its job
    """
    environment = {**os.environ, **quick_start(archive, is_short=is_short), "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory() as scratch:
        binary = str(Path(sys.executable).with_name("spark-submit"))
        run(binary, "--master", "local[2]", *arguments, cwd=scratch, env=environment)


def run(*command: str, cwd: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output; if it fails, end the benchmark with its last output."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=env)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def measured(*command: str) -> tuple[float, float]:
    """Run a program without keeping its output; return the seconds that it took, and its peak memory in megabytes."""
    seconds, megabytes = json.loads(run(sys.executable, "-c", _MEASURE, *command))
    return seconds, megabytes
