"""Run a command, and end it with all processes that it has started. A script, for servers that have children.

    tree.py ENVIRONMENT COMMAND …

``ENVIRONMENT`` is a JSON file of variables. Airflow's variables of the caller are left out, so that they don't change
the sandbox's settings.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

_leaving: list[int] = []


def main(arguments: list[str]) -> int:
    """Run the command until it ends or this process gets a signal; return its exit code."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # Only noted, as an exception could strike while the command is being started, and leave it running.
        signal.signal(number, lambda number, _frame: _leaving.append(number))
    command = subprocess.Popen(arguments[1:], env=environment(Path(arguments[0])))
    try:
        return _await_end(command)
    finally:
        end_descendants()


def environment(variables: Path) -> dict[str, str]:
    """This process's environment without Airflow's variables, and the file's variables."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    own.update(json.loads(variables.read_text()))
    return own


def end_descendants() -> None:
    """Kill all descendants of this process. Each is halted first, so that it starts no other meanwhile."""
    me = psutil.Process()
    halted: set[psutil.Process] = set()
    while new := set(me.children(recursive=True)) - halted:
        for process in new:
            _signal(process, signal.SIGSTOP)
        halted |= new
    for process in halted:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(halted, timeout=10)


def _await_end(command: subprocess.Popen[bytes]) -> int:
    while not _leaving:
        try:
            return command.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
    return -_leaving[0]


def _signal(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return  # it has ended by itself


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
