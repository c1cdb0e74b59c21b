"""A sandbox that runs in the background and is found by a file in a state directory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

import psutil

from sandbox.errors import NotInTime, SandboxError
from sandbox.sandbox import Sandbox
from sandbox.waiting import Progress, wait_until
from sandbox.work import work_of_server

_START_TIMEOUT = 300.0  # including the download of missing jars
_STOP_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    """One process of a running sandbox."""

    name: str
    pid: int
    ports: list[int]
    log: str

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return psutil.pid_exists(self.pid)


@dataclass(frozen=True, slots=True)
class Running:
    """Addresses and processes of a running sandbox."""

    root: str
    source: str
    target: str
    connect: str
    connections: dict[str, str]
    servers: list[Server]


class Daemon:
    """The sandbox that belongs to a state directory, whether it runs or not."""

    def __init__(self, state: Path) -> None:
        self.directory = state.absolute()
        self._owner = self.directory / "owner.json"
        self._running = self.directory / "sandbox.json"
        self._log = self.directory / "daemon.log"

    @property
    def pid(self) -> int | None:
        """The process that owns the sandbox; None if there is none, whatever files a crash has left."""
        owner = _read(self._owner)
        return owner["pid"] if owner and _is_process(owner["pid"], owner["created"]) else None

    def read_running(self) -> Running | None:
        """The sandbox, if it is up and ready."""
        stored = _read(self._running) if self.pid else None
        if not stored:
            return None
        return Running(**{**stored, "servers": [Server(**server) for server in stored["servers"]]})

    def up(self) -> Running:
        """Start the sandbox in the background and return once it is ready."""
        self.make_way()
        with self._log.open("wb") as log:
            child = self._spawn(log)
        try:
            late, work = "the sandbox was not ready in time", work_of_server(child.pid, self._log)
            wait_until(lambda: child.poll() is not None or self.read_running(), _START_TIMEOUT, late, progress=work)
        except BaseException:
            child.terminate()
            child.wait(_STOP_TIMEOUT)
            raise
        if not (running := self.read_running()):
            raise SandboxError(f"The sandbox could not be started:\n{self._log.read_text(errors='replace')}")
        # The child outlives this process; Popen would warn that nobody waited for it.
        child.returncode = 0
        return running

    def down(self) -> bool:
        """Stop the sandbox and remove its files; returns whether there was one."""
        pid, running = self.pid, self.read_running()
        if pid:
            os.kill(pid, signal.SIGTERM)
            try:
                late, work = "the sandbox did not end in time", work_of_server(pid, self._log)
                wait_until(lambda: self.pid is None, _STOP_TIMEOUT, late, progress=work)
            except NotInTime:
                os.kill(pid, signal.SIGKILL)  # its tethers clean up
        if running:
            root = Path(running.root)
            left: Progress = {"entries left": lambda: len(list(root.rglob("*")))}
            wait_until(lambda: not root.exists(), _STOP_TIMEOUT, f"{root} was not removed", progress=left)
        self._clear()
        return pid is not None

    def make_way(self) -> None:
        """Remove what a crash has left, so that a sandbox can be started here; raises if one runs."""
        if self.pid:
            raise SandboxError(f"A sandbox already runs here, or is being started or stopped (process {self.pid}).")
        self._clear()
        self.directory.mkdir(parents=True, exist_ok=True)

    def own(self) -> None:
        """Own a sandbox: keep it up until this process gets TERM or INT."""
        with self.hold(), Sandbox() as sandbox:
            self.publish(sandbox)
            while True:
                signal.pause()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Own the sandbox during the block; TERM and INT leave it by :class:`SystemExit`."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _end)
        _write_new(self._owner, {"pid": os.getpid(), "created": psutil.Process().create_time()})
        try:
            yield
        finally:
            self._clear(keep_log=True)

    def publish(self, sandbox: Sandbox) -> None:
        """Publish the addresses of the sandbox, which is ready."""
        _write_new(self._running, asdict(_describe(sandbox)))

    def _spawn(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "sandbox.daemon", str(self.directory)]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def _clear(self, *, keep_log: bool = False) -> None:
        for path in (self._running, self._owner, *(() if keep_log else (self._log,))):
            path.unlink(missing_ok=True)
        if self.directory.exists() and not any(self.directory.iterdir()):
            self.directory.rmdir()


def _end(_number: int, _frame: object) -> NoReturn:
    # As an exception it leaves the sandbox's block wherever it is, also while the servers are still starting.
    raise SystemExit


def _describe(sandbox: Sandbox) -> Running:
    return Running(
        root=str(sandbox.root),
        source=sandbox.source.bootstrap,
        target=sandbox.target.bootstrap,
        connect=sandbox.connect.url,
        connections=sandbox.to_connections(),
        servers=[
            Server(process.name, process.pid or 0, list(process.ports), str(process.log_path))
            for process in sandbox.processes
        ],
    )


def _is_process(pid: int, created: float) -> bool:
    """Whether that process runs, and not another one that got its id later."""
    try:
        process = psutil.Process(pid)
        return process.status() != psutil.STATUS_ZOMBIE and process.create_time() == created
    except psutil.NoSuchProcess:
        return False


def _read(path: Path) -> dict[str, Any] | None:
    try:
        content: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    return content


def _write_new(path: Path, content: dict[str, Any]) -> None:
    """Create a file atomically, unless it exists: of two owners only one succeeds."""
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps(content, indent=1))
    try:
        os.link(draft, path)
    except FileExistsError as error:
        raise SandboxError(f"Another sandbox has just been started here: {path}") from error
    finally:
        draft.unlink()


if __name__ == "__main__":
    try:
        Daemon(Path(sys.argv[1])).own()
    except SandboxError as error:
        sys.exit(str(error))  # to the log, which the starting process shows
