"""``make up``, as a person runs it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests

COMMAND = (sys.executable, "-m", "sandbox.play")


@contextmanager
def start(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Start it; it is killed at the end, should it still be there."""
    with subprocess.Popen(
        COMMAND, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], last: str) -> str:
    """Read what a process prints, up to the line that starts with ``last``."""
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith(last):
            return printed
    raise AssertionError(f"it has ended, and said: {printed}")


def ask(url: str, path: str) -> Any:
    """Ask Airflow's REST API, as whoever needs no password."""
    token = requests.get(f"{url}/auth/token", timeout=10).json()["access_token"]
    answer = requests.get(f"{url}/api/v2{path}", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    answer.raise_for_status()
    return answer.json()


@pytest.mark.timeout(600)
def test_it_comes_up_explains_itself_and_goes(tmp_path: Path) -> None:
    """Airflow is healthy and knows the DAG; the connectors work; told to end, it leaves no process and no file."""
    with start(tmp_path) as playing:
        printed = read_until(playing, "Ctrl-C")
        airflow = re.search(r"asks for no password: (\S+)", printed)
        connect = re.search(r"Kafka Connect at (\S+),", printed)
        assert airflow
        assert connect

        health = ask(airflow[1], "/monitor/health")
        assert {part["status"] for part in health.values()} == {"healthy"}
        details = ask(airflow[1], "/dags/connector_offsets_change/details")
        assert not details["is_paused"]
        assert {"connector", "to", "value", "kafka_conn_id"} <= details["params"].keys()
        for name in ("temperatures-mirror", "temperatures-sink"):
            assert name in printed
            status = requests.get(f"{connect[1]}/connectors/{name}/status", timeout=10).json()
            assert status["connector"]["state"] == "RUNNING"
        second = subprocess.run(COMMAND, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert second.returncode == 1
        assert "already runs here" in second.stderr

        started = psutil.Process(playing.pid).children(recursive=True)
        root = Path(re.search(r"topic to (\S+)/data/", printed)[1])  # type: ignore[index]
        playing.send_signal(signal.SIGTERM)
        last, _ = playing.communicate(timeout=60)

    assert playing.returncode == 0, last
    assert "Everything is stopped and gone." in last
    assert psutil.wait_procs(started, timeout=10)[1] == []
    assert not root.exists()
    assert not (tmp_path / ".sandbox").exists()
