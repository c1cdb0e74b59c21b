"""Start and stop a server under a tether, from the process that owns it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from sandbox import tether
from sandbox.errors import SandboxError

# A tether answers in some 20 ms. One that ends is noticed at once, so that this only bounds what never happens.
_ANSWERED = 120.0


class Tethered:
    """Runs one server at a time, in ``home``, under a tether that ends it when this process is gone.

    ``home`` must be ``ROOT/processes/NAME``: the last tether to end removes ROOT, whatever else is in it.

    Raises:
        SandboxError: ``home`` is elsewhere, so that something else would be removed, or can't be made
    """

    def __init__(self, home: Path, *, grace: float = 1.0) -> None:
        if home.parent.name != tether.PROCESSES:
            raise SandboxError(f"{home} must be ROOT/{tether.PROCESSES}/NAME, where ROOT is the sandbox's directory.")
        self._changed = threading.Condition()
        self._pid: int | None = None
        self._exit_code: int | None = None
        self._error: str | None = None
        self._is_ready = False
        # Isolated and without site packages: ready in some 20 ms. In a session of its own, so that Ctrl-C in the
        # owner's terminal reaches the owner alone, which then decides what happens.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), str(grace), str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,  # what could not be written must not be tried again when the pipe is closed
        )
        self._listener = threading.Thread(target=self._listen, name=f"tether of {home.name}", daemon=True)
        self._listener.start()
        self._await_tether()

    @property
    def pid(self) -> int | None:
        """The process id of the running server, or of the last one."""
        return self._pid

    @property
    def is_running(self) -> bool:
        """Whether a server was started and has not ended."""
        return self._pid is not None and self._exit_code is None

    @property
    def exit_code(self) -> int | None:
        """The exit code of the last server; negative: the signal that ended it."""
        return self._exit_code

    def run(self, command: Sequence[str], log: Path) -> None:
        """Start a server that appends all its output to ``log``."""
        if self.is_running:
            raise SandboxError(f"Process {self._pid} is still running; stop it before starting another one.")
        with self._changed:
            self._pid = self._exit_code = self._error = None
        self._tell({"run": list(command), "log": str(log)})
        with self._changed:
            self._changed.wait_for(lambda: self._pid or self._error, timeout=_ANSWERED)
        if self._pid is None:
            raise SandboxError(f"{command[0]} could not be started: {self._error or 'the tether does not answer'}.")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server; do nothing if it has ended."""
        if self.is_running:
            self._tell({"signal": int(number)})

    def let_go(self) -> None:
        """Tell the tether to end the server and to remove its directory; :meth:`close` waits for it."""
        if self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()

    def close(self) -> None:
        """End the server, remove its directory, and wait until both are done."""
        self.let_go()
        self._process.wait(timeout=_ANSWERED)
        self._listener.join(timeout=10)
        if self._process.stdout:
            self._process.stdout.close()

    def _await_tether(self) -> None:
        """Wait until the server's directory is there."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_ready or self._error, timeout=_ANSWERED)
        if not self._is_ready:
            self.close()
            raise SandboxError("A tether could not be started (does the sandbox's directory allow writing?).")

    def _tell(self, order: dict[str, object]) -> None:
        if not self._process.stdin:
            raise SandboxError("the tether has no standard input.")
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
        except (BrokenPipeError, ValueError) as error:
            raise SandboxError("the tether is gone, and its server with it.") from error

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            event = json.loads(line)
            with self._changed:
                self._is_ready = self._is_ready or "home" in event
                self._pid = event.get("pid", self._pid)
                self._exit_code = event.get("exit", self._exit_code)
                self._error = event.get("error", self._error)
                self._changed.notify_all()
        with self._changed:
            if self.is_running:  # the tether went first, so nothing will report this exit
                self._exit_code = -signal.SIGKILL
            self._error = self._error or "its tether is gone"
            self._changed.notify_all()
