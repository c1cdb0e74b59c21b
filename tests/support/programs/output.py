"""Read all that a program prints until it ends."""

from __future__ import annotations

import subprocess

from sandbox import wait_until
from sandbox.work import work_of_program


def read_to_end(program: subprocess.Popen[str], timeout: float = 120) -> str:
    """The output of a program until it ends; fails after ``timeout`` seconds without CPU time."""
    printed: list[str] = []

    def has_ended() -> bool:
        try:
            printed.append(program.communicate(timeout=1)[0] or "")  # tried again, it loses nothing
        except subprocess.TimeoutExpired:
            return False
        return True

    late = f"{program.args!r} has not ended"
    wait_until(has_ended, timeout, late, progress=work_of_program(program.pid), interval=0)
    return printed[0]
