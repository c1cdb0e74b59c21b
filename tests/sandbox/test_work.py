"""The progress of a process that works, and of one that has ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from sandbox import wait_until
from sandbox.work import cpu_time, work_of_server

BUSY = "while True: pass"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}])"


def test_work_of_children_counts(tmp_path: Path) -> None:
    """A process that only waits for one that works is at work; one that is gone is not, and raises nothing."""
    log = tmp_path / "log"
    log.write_text("begun\n")
    with subprocess.Popen([sys.executable, "-c", PARENT]) as process:
        work = work_of_server(process.pid, log)

        wait_until(work["CPU seconds"], 60, "it does not work", progress=work)

        assert cpu_time(process.pid) >= 1
        assert work["bytes of its log"]() == len("begun\n")
        for child in psutil.Process(process.pid).children():
            child.kill()
    assert cpu_time(process.pid) == cpu_time(None) == 0
