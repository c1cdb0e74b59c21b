"""The progress of a process, for waits: CPU time and logs."""

from __future__ import annotations

from pathlib import Path

import psutil

from sandbox.waiting import Progress


def work_of_server(pid: int | None, log: Path) -> Progress:
    """Progress of a server that starts or ends: its log, and whole seconds of CPU time, as idle ones use some, too."""
    return {"CPU seconds": lambda: int(cpu_time(pid)), "bytes of its log": lambda: log.stat().st_size}


def work_of_program(pid: int | None) -> Progress:
    """Progress of a program that is about to end: any CPU time, as it may only poll others."""
    return {"CPU time": lambda: cpu_time(pid)}


def cpu_time(pid: int | None) -> float:
    """Seconds of CPU time of a process and its children; 0 if it has ended."""
    if pid is None:
        return 0.0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    return round(sum(map(_own_seconds, family)), 2)


def _own_seconds(process: psutil.Process) -> float:
    try:
        used = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0  # from now on its parent counts it
    return float(used.user + used.system + used.children_user + used.children_system)
