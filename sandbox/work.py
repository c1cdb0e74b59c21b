"""How a process shows that it is at work: what waits for it takes that for progress."""

from __future__ import annotations

from pathlib import Path

import psutil

from sandbox.waiting import Progress


def work_of_server(pid: int | None, log: Path) -> Progress:
    """Progress of a server that starts or ends: its log, and whole seconds of CPU time, as idle ones use some, too."""
    return {"CPU seconds": lambda: int(cpu_time(pid)), "bytes of its log": lambda: log.stat().st_size}


def work_of_program(pid: int | None) -> Progress:
    """Progress of a program that comes to its end: any CPU time, as it may do little but ask others again and again."""
    return {"CPU time": lambda: cpu_time(pid)}


def cpu_time(pid: int | None) -> float:
    """Seconds of CPU time that a process and its children have used; 0 where it is gone."""
    if pid is None:
        return 0.0
    try:
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    return round(sum(map(_own, family)), 2)


def _own(process: psutil.Process) -> float:
    try:
        used = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0  # its parent counts it from now on
    return float(used.user + used.system + used.children_user + used.children_system)
