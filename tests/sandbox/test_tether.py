"""No server outlives its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from sandbox.errors import SandboxError
from sandbox.owner import Tethered
from sandbox.waiting import wait_until

SLEEP = ("sleep", "600")
STUBBORN = ("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.1; done")

OWNER = """
import sys
from pathlib import Path
from sandbox.owner import Tethered

home = Path(sys.argv[1])
tethered = Tethered(home)
tethered.run(["sleep", "600"], home / "log")
print(tethered.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where one server of a sandbox lives."""
    return tmp_path / "root" / "processes" / "one"


def root_of(home: Path) -> Path:
    """The sandbox that a server's directory belongs to."""
    return home.parent.parent


def expect_gone(pid: int | None, home: Path) -> None:
    """Neither the process nor any file is left."""
    wait_until(lambda: not psutil.pid_exists(pid or 0), 60, f"process {pid} did not end")
    wait_until(lambda: not root_of(home).exists(), 60, f"{root_of(home)} was not removed")


def test_a_server_dies_with_an_owner_that_is_killed(home: Path) -> None:
    """Not even SIGKILL, which lets the owner do nothing, leaves a process or a file."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(home)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout
        pid = int(owner.stdout.readline())
        assert psutil.pid_exists(pid)

        owner.kill()

    expect_gone(pid, home)


def test_a_fork_that_keeps_the_pipe_does_not_keep_the_server(home: Path) -> None:
    """A forked child inherits the owner's end of the pipe; the owner's death must be noticed all the same."""
    script = OWNER.replace("print(tethered.pid", "import os\nchild = os.fork()\nif child: print(tethered.pid, child")
    command = [sys.executable, "-c", script, str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout
        pid, child = map(int, owner.stdout.readline().split())
        try:
            owner.kill()
            expect_gone(pid, home)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_server_that_does_not_listen_is_killed(home: Path) -> None:
    """The grace is short, and then it is over."""
    tethered = Tethered(home, grace=0.2)
    tethered.run(STUBBORN, home / "log")
    wait_until(lambda: (home / "log").read_text() == "deaf\n", 60, "the server did not begin")

    tethered.close()

    expect_gone(tethered.pid, home)


def test_a_suspended_server_ends_too(home: Path) -> None:
    """A process that was halted by a test must not stay halted for ever."""
    tethered = Tethered(home)
    tethered.run(SLEEP, home / "log")
    tethered.signal(signal.SIGSTOP)
    process = psutil.Process(tethered.pid)
    wait_until(lambda: process.status() == psutil.STATUS_STOPPED, 60, "the server was not suspended")

    tethered.close()

    expect_gone(tethered.pid, home)


def test_a_tether_that_is_let_go_ends_its_server(home: Path) -> None:
    """A machine that shuts down sends TERM to all, the tethers too."""
    tethered = Tethered(home)
    tethered.run(SLEEP, home / "log")
    psutil.Process(tethered.pid).parent().terminate()  # type: ignore[union-attr]

    expect_gone(tethered.pid, home)

    wait_until(lambda: not tethered.is_running, 60, "the owner did not notice")
    with pytest.raises(SandboxError, match="tether is gone"):
        tethered.run(SLEEP, home / "log")
    tethered.close()


def test_the_last_one_removes_the_root(home: Path) -> None:
    """While one server is left, what is in the root stays."""
    first, second = Tethered(home), Tethered(home.with_name("two"))
    (root_of(home) / "shared").write_text("still needed")

    first.close()
    assert not home.exists()
    assert (root_of(home) / "shared").exists()

    second.close()
    assert not root_of(home).exists()


def test_a_server_can_be_started_again(home: Path) -> None:
    """Its exit code is reported, its directory stays, and the log goes on."""
    tethered = Tethered(home)
    for _ in range(2):
        tethered.run(["sh", "-c", "echo here; exit 3"], home / "log")
        wait_until(lambda: not tethered.is_running, 60, "it did not end")
        assert tethered.exit_code == 3
        assert not tethered.is_running

    assert (home / "log").read_text() == "here\nhere\n"
    tethered.close()


def test_a_command_that_is_not_there_is_named(home: Path) -> None:
    """What can't be started is said at once."""
    tethered = Tethered(home)
    with pytest.raises(SandboxError, match="no-such-command"):
        tethered.run(["no-such-command"], home / "log")
    tethered.close()


def test_one_tether_has_one_server(home: Path) -> None:
    """A second server under the same tether would be forgotten."""
    tethered = Tethered(home)
    tethered.run(SLEEP, home / "log")
    with pytest.raises(SandboxError, match="is still running"):
        tethered.run(SLEEP, home / "log")
    tethered.close()


def test_only_the_root_of_a_sandbox_is_removed(tmp_path: Path) -> None:
    """The root is two levels up: of any other directory that might be /tmp itself."""
    (tmp_path / "kept").touch()

    with pytest.raises(SandboxError, match="must be ROOT/processes/NAME"):
        Tethered(tmp_path / "root" / "one")

    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """A tether that can't start is no riddle."""
    (tmp_path / "file").touch()
    with pytest.raises(SandboxError, match="could not be started"):
        Tethered(tmp_path / "file" / "processes" / "one")
