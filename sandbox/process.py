"""A server process of the sandbox: start, stop, kill, suspend."""

from __future__ import annotations

import logging
import random
import signal
import socket
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from sandbox.errors import NotInTime, PortTaken, SandboxError
from sandbox.owner import Tethered
from sandbox.waiting import Progress, wait_until
from sandbox.work import work_of_server

log = logging.getLogger(__name__)
# Below the ports that Linux and macOS give to outgoing connections. A client that keeps calling a stopped server on a
# port of that range may get the same port itself, connects to itself, and the server can't start again.
_PORTS = range(20000, 32000)
_ATTEMPTS = 3
_LOG_LINES = 30


class Recipe(Protocol):
    """The configuration and commands of a server."""

    @property
    def ports(self) -> int:
        """How many ports it needs."""

    def prepare(self, home: Path, ports: Sequence[int]) -> list[list[str]]:
        """Write its configuration and return the commands that must run once before its first start."""

    def command(self, home: Path) -> list[str]:
        """The command that runs it."""

    def is_ready(self, ports: Sequence[int]) -> bool:
        """Whether it is ready for requests."""


class ServerProcess:
    """A server that can be stopped, killed, suspended and started again, with the same ports and files.

    It never outlives the Python process that made it, and at its end it gets ``grace`` seconds before it is killed.
    """

    def __init__(self, name: str, home: Path, recipe: Recipe, *, grace: float = 1.0) -> None:
        self.name = name
        self._grace = grace
        self.log_path = home / "server.log"
        self._home = home
        self._recipe = recipe
        self._ports: tuple[int, ...] = ()
        self._tether: Tethered | None = None

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports it listens on; chosen at its first start, and kept."""
        if not self._ports:
            raise SandboxError(f"{self.name} was not started yet.")
        return self._ports

    @property
    def pid(self) -> int | None:
        """Its process id, also after its end."""
        return self._tether.pid if self._tether else None

    @property
    def is_alive(self) -> bool:
        """Whether its Java runs (suspended counts as running)."""
        return self._tether is not None and self._tether.is_running

    @property
    def work(self) -> Progress:
        """Its progress while it starts or ends."""
        return work_of_server(self.pid, self.log_path)

    def start(self, timeout: float = 60) -> None:
        """Start it and wait until it is ready; fails after ``timeout`` seconds without progress."""
        if self.is_alive:
            raise SandboxError(f"{self.name} runs already.")
        if self._ports:
            self._launch(timeout)
        else:
            self._start_anew(timeout)

    def stop(self, timeout: float = 30) -> None:
        """Shut it down in order (TERM), and wait until it has ended; one that hangs is killed, as Kubernetes does.

        A Connect worker hangs if its end meets a request (docs/seen.md).
        """
        self._signal(signal.SIGTERM)
        try:
            self._expect_end(timeout)
        except NotInTime as late:
            log.warning("%s", late)
            self.kill(timeout)

    def kill(self, timeout: float = 30) -> None:
        """End it at once, as a crash does (KILL)."""
        self._signal(signal.SIGKILL)
        self._expect_end(timeout)

    def suspend(self) -> None:
        """Halt it, as a long garbage collection or a frozen machine does (STOP)."""
        self._signal(signal.SIGSTOP)

    def unsuspend(self) -> None:
        """Let it go on after :meth:`suspend` (CONT)."""
        self._signal(signal.SIGCONT)

    def let_go(self) -> None:
        """Begin to end it and to remove its files; :meth:`close` waits until that is done."""
        if self._tether:
            self._tether.let_go()

    def close(self) -> None:
        """End it and remove its files."""
        if self._tether:
            self._tether.close()
            self._tether = None

    def log_tail(self, lines: int = _LOG_LINES) -> str:
        """The end of its log."""
        if not self.log_path.exists():
            return "(its log is empty)"
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-lines:])

    def _start_anew(self, timeout: float) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            self._tether = self._tether or Tethered(self._home, grace=self._grace)
            try:
                ports = free_ports(self._recipe.ports)
                for command in self._recipe.prepare(self._home, ports):
                    self._run_to_end(command, timeout)
                self._ports = ports
                self._launch(timeout)
            except PortTaken:
                self._ports = ()
                self.close()  # with its files: they contain the lost port
                if attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _run_to_end(self, command: Sequence[str], timeout: float) -> None:
        tether = self._own_tether()
        tether.run(command, self.log_path)
        wait_until(
            lambda: not tether.is_running, timeout, f"{self.name} is not prepared; {self.log_path}", progress=self.work
        )
        if tether.exit_code != 0:
            raise SandboxError(f"{self.name} could not be prepared. The end of its log:\n{self.log_tail()}")

    def _launch(self, timeout: float) -> None:
        tether = self._own_tether()
        tether.run(self._recipe.command(self._home), self.log_path)
        wait_until(
            lambda: not tether.is_running or self._recipe.is_ready(self._ports),
            timeout,
            f"{self.name} was not ready in time; its log is {self.log_path}",
            progress=self.work,
        )
        if not tether.is_running:
            raise self._ended_early(tether.exit_code)

    def _ended_early(self, exit_code: int | None) -> SandboxError:
        log = self.log_path.read_text(errors="replace")  # all of it: a broker logs much between this and its end
        # Java, C and Go differ in the first letter.
        kind = PortTaken if "address already in use" in log.lower() or "BindException" in log else SandboxError
        return kind(f"{self.name} ended with {exit_code} before it was ready. The end of its log:\n{self.log_tail()}")

    def _expect_end(self, timeout: float) -> None:
        tether = self._own_tether()
        try:
            wait_until(lambda: not tether.is_running, timeout, f"{self.name} did not end", progress=self.work)
        except NotInTime as late:
            raise NotInTime(f"{late}. The end of its log:\n{self.log_tail()}") from late

    def _signal(self, number: signal.Signals) -> None:
        if not self.is_alive:
            raise SandboxError(f"{self.name} does not run.")
        self._own_tether().signal(number)

    def _own_tether(self) -> Tethered:
        if self._tether is None:
            raise SandboxError(f"{self.name} was not started yet.")
        return self._tether


def free_ports(count: int) -> tuple[int, ...]:
    """Different ports of 127.0.0.1 on which nothing listens now."""
    free: list[int] = []
    with ExitStack() as probes:  # all stay bound until the last one is, or a port might be chosen twice
        for port in random.sample(_PORTS, len(_PORTS)):
            if len(free) == count:
                break
            probe = probes.enter_context(socket.socket())
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue  # taken
            free.append(port)
    if len(free) < count:
        raise SandboxError(f"There are no {count} free ports between {_PORTS.start} and {_PORTS.stop}.")
    return tuple(free)
