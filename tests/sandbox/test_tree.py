"""A command is ended with all processes that it has started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sandbox import tree, wait_until

# Children of its own, one of which left for a session of its own, as Airflow's tasks do.
FAMILY = "sleep 600 & setsid sleep 601 & wait"


def start(directory: Path, *command: str, **environment: str) -> subprocess.Popen[str]:
    """Start a command under a tree that leads to ``environment``."""
    environment_file = directory / "environment.json"
    environment_file.write_text(json.dumps(environment))
    return subprocess.Popen(
        [sys.executable, "-P", tree.__file__, str(environment_file), *command], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_all_descendants_end_with_it(tmp_path: Path, number: signal.Signals) -> None:
    """Even those end that no signal to the command or its group would reach."""
    with start(tmp_path, "sh", "-c", FAMILY) as running:
        me = psutil.Process(running.pid)
        wait_until(lambda: len(me.children(recursive=True)) == 3, 60, "the family is not complete")
        family = me.children(recursive=True)

        running.send_signal(number)

        assert running.wait(60) == 256 - number
    assert psutil.wait_procs(family, timeout=60)[1] == []


def test_what_it_left_behind_ends_too(tmp_path: Path) -> None:
    """A command that is through may have children that are not."""
    with start(tmp_path, "sh", "-c", "sleep 600 & exit 3") as running:
        assert running.wait(60) == 3


def test_nobody_elses_airflow_settings_get_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the file says counts; all else but Airflow's variables is handed on."""
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "somebody's")
    monkeypatch.setenv("ELSE", "else")

    with start(tmp_path, "env", AIRFLOW_HOME="/ours", PATH=os.environ["PATH"]) as running:
        printed = running.communicate(timeout=60)[0].splitlines()

    assert {"AIRFLOW_HOME=/ours", "ELSE=else"} <= set(printed)
    assert not [line for line in printed if line.startswith("AIRFLOW__")]
