"""``python -m sandbox``: up, status and down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sandbox import wait_until
from sandbox.connect import ConnectAt
from sandbox.connectors import file_sink_config

pytestmark = pytest.mark.processes


def command(name: str, state: Path) -> subprocess.CompletedProcess[str]:
    """Run it as a person does."""
    # As wide as the paths of a test need, for the table of servers.
    environment = {**os.environ, "COLUMNS": "250"}
    return subprocess.run(
        [sys.executable, "-m", "sandbox", name, "--state", str(state)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state directory; whatever runs there is stopped at the end."""
    yield tmp_path / "state"
    command("down", tmp_path / "state")


def test_a_sandbox_comes_up_is_shown_and_goes(state: Path) -> None:
    """The whole life of one, with nothing left at the end."""
    assert command("status", state).returncode == 1

    up = command("up", state)
    assert up.returncode == 0, up.stderr
    assert "export AIRFLOW_CONN_KAFKA_CONNECT_DEFAULT='{" in up.stdout
    assert "already running" in command("up", state).stdout

    state_file = json.loads((state / "sandbox.json").read_text())
    ConnectAt(state_file["connect"]).create("a-sink", file_sink_config("x", state / "x"), initial_state="STOPPED")
    status = command("status", state)
    assert status.returncode == 0
    for shown in ("broker source", "broker target", "worker connect", "a-sink", "STOPPED"):
        assert shown in status.stdout

    assert "is gone" in command("down", state).stdout
    assert not Path(state_file["root"]).exists()
    assert not state.exists()
    assert not [server for server in state_file["servers"] if psutil.pid_exists(server["pid"])]
    assert "was not running" in command("down", state).stdout


def test_what_a_killed_sandbox_left_is_replaced(state: Path) -> None:
    """A stale state is not taken for a running sandbox, and its servers are gone too."""
    assert command("up", state).returncode == 0
    owner = json.loads((state / "owner.json").read_text())["pid"]
    root = Path(json.loads((state / "sandbox.json").read_text())["root"])

    os.kill(owner, signal.SIGKILL)
    wait_until(lambda: not root.exists(), 60, "files are left")
    assert command("status", state).returncode == 1
    assert command("up", state).returncode == 0

    assert json.loads((state / "owner.json").read_text())["pid"] != owner
    assert command("status", state).returncode == 0


def test_an_id_that_another_process_got_is_no_sandbox(state: Path) -> None:
    """The machine was restarted, and the number is someone else's now."""
    state.mkdir()
    (state / "owner.json").write_text(json.dumps({"pid": os.getpid(), "created": 1.0}))
    (state / "sandbox.json").write_text("{}")

    assert command("status", state).returncode == 1


def test_a_start_that_fails_says_why(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is one sentence, not a traceback."""
    monkeypatch.setenv("JAVA_HOME", str(state))

    up = command("up", state)

    assert up.returncode == 1
    assert "a JDK 17 or 21 is needed" in up.stderr
    assert "Traceback" not in up.stderr
