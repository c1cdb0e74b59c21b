"""``make demo`` as a program of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from sandbox import wait_until
from sandbox.work import work_of_program
from tests.support.programs.output import read_to_end

pytestmark = pytest.mark.processes
# Without the Airflow of these tests.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}


@contextmanager
def start(output: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the demo; it is killed at the end, should it still be there."""
    command = [sys.executable, "-m", "sandbox.demo", "--output", str(output)]
    with subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read(demo: subprocess.Popen[str]) -> str:
    """All that it prints until it ends, without the breaks of its lines."""
    return " ".join(read_to_end(demo).split())


def test_the_demo_proves_all_three_changes(tmp_path: Path) -> None:
    """It exits with 0, what it prints can be read, and the report is there and makes no request."""
    with start(tmp_path) as demo:
        printed = read(demo)

    assert demo.returncode == 0, printed
    assert "✗" not in printed
    assert "Traceback" not in printed
    for shown in (
        "DAG run of connector_offsets_change has ended: success",
        "DAG run of connector_offsets_poison has ended: success",
        "DAG run of connector_offsets_change has ended: failed",
        "Records delivered again, predicted and counted: 720",
        "The first of them: 2010-12-01T00:00:00-08:00",
        "Records never delivered, skipped and counted: 1",
        "Good records in the sink's file, each once: 9479",
        "Did you mean `temperatures`?",
        "States and offsets of all connectors: unchanged",
        "All of it was proved",
    ):
        assert shown in printed
    page = (tmp_path / "report.html").read_text()
    for shown in ("temperatures-mirror", "temperatuers", "<svg", "720"):
        assert shown in page
    [on_the_record] = (tmp_path / "workspace" / "connector_offsets_poison").glob("*/report.html")
    assert "temperatures-sink" in on_the_record.read_text()
    assert 'src="http' not in page
    assert 'rel="stylesheet"' not in page


def test_interrupted_it_leaves_nothing(tmp_path: Path) -> None:
    """Ctrl-C at any time ends all that was started, and is answered in a sentence."""
    with start(tmp_path) as demo:
        me = psutil.Process(demo.pid)
        log = tmp_path / "logs" / "airflow.log"
        late, work = "Airflow was not started", work_of_program(demo.pid)
        wait_until(lambda: demo.poll() is not None or log.exists(), 90, late, progress=work)
        started = me.children(recursive=True)

        demo.send_signal(signal.SIGINT)
        printed = read(demo)

    assert demo.returncode == 130, printed
    assert "Interrupted; nothing is left running." in printed
    assert "Traceback" not in printed
    assert len(started) >= 7, "three servers, their tethers, and Airflow's process"
    assert psutil.wait_procs(started, timeout=60)[1] == []


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo prints a sentence without a traceback, and exits with 1."""
    monkeypatch.setitem(ENVIRONMENT, "JAVA_HOME", str(tmp_path))

    with start(tmp_path / "demo") as demo:
        printed = read(demo)

    assert demo.returncode == 1
    assert "a JDK 17 or 21 is needed" in printed
    assert "Traceback" not in printed
