"""A proxy in front of a real Connect worker that lets one fault happen at one request."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from sandbox import Progress, wait_until
from tests.support.workers.serving import serving

_LATE = 1.5
_GO_ON_WAITING = 5.0  # seconds, less than anybody's read timeout
_TIMED_OUT = json.dumps({"error_code": 500, "message": "Request timed out"}).encode()


class Side(StrEnum):
    """Before a request is forwarded, or after its answer was received."""

    BEFORE = "before"
    AFTER = "after"


class Fate(StrEnum):
    """What happens to a request at the point: forwarded, lost, its answer lost, or answered as timed out.

    A late request delays all changes after it, as a worker carries them out one after the other.
    """

    PASSES = "passes"
    IS_LOST = "is lost"
    COMES_LATE = "comes late"


@dataclass(frozen=True)
class Point:
    """The first request with this method and path ending, after a request whose path contains ``since``."""

    method: str
    path: str
    side: Side
    since: str = ""

    def is_reached(self, method: str, path: str, side: Side, passed: list[str]) -> bool:
        """Whether the request is the point."""
        here = (method, side) == (self.method, self.side) and path.endswith(self.path)
        return here and (not self.since or any(self.since in call for call in passed))


class Gate:
    """The point, and the fault that happens there once."""

    def __init__(self, target: str, point: Point, fault: Callable[[], Fate]) -> None:
        self.target = target
        self.reached = threading.Event()
        self._point, self._fault = point, fault
        self._passed: list[str] = []
        self._passing = threading.Lock()
        self.queue = threading.Lock()
        self._awaited: tuple[str, str] | None = None
        self._held_by: int | None = None
        self._came, self._done = threading.Event(), threading.Event()

    def fate(self, method: str, path: str, side: Side) -> Fate:
        """Let the fault happen if the request is the point."""
        with self._passing:
            now = not self.reached.is_set() and self._point.is_reached(method, path, side, self._passed)
            if now:
                self.reached.set()
                self._held_by = threading.get_ident()
            if side is Side.AFTER:
                self._passed.append(f"{method} {path}")
            awaited = self._awaited
        if side is Side.AFTER and awaited is not None:
            self._let_it_overtake(method, path, *awaited)
        return self._fault() if now else Fate.PASSES

    def _let_it_overtake(self, method: str, path: str, awaited: str, end: str) -> None:
        if threading.get_ident() == self._held_by:
            self._done.set()
        elif method == awaited and path.endswith(end) and not self._came.is_set():
            self._came.set()
            self._done.wait(60)

    @property
    def work(self) -> Progress:
        """Progress of a change on its way to the point."""
        return {"requests answered": lambda: len(self._passed)}

    def wait_for(self, method: str, path: str) -> None:
        """For a fault that holds a request up: wait until a later one with this method and end has been answered.

        The client gets that answer only when the request that was held up is done: what it does comes between
        that answer and the next one, and not in a moment that nobody can observe.
        """
        self._awaited = (method, path)
        wait_until(self._came.is_set, 60, f"no {method} …{path} came", progress=self.work)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    gate: Gate


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fate = self._fate(Side.BEFORE)
        if fate is Fate.COMES_LATE:
            self.server.gate.queue.acquire()
            threading.Timer(_LATE, self._come_late, [content]).start()
            self._answer(500, _TIMED_OUT)
        elif fate is Fate.IS_LOST:
            self.close_connection = True
        else:
            try:
                with contextlib.nullcontext() if self.command == "GET" else self.server.gate.queue:
                    answer = self._hand_on(content)
            except requests.ConnectionError:
                self.close_connection = True  # the worker is gone
                return
            if self._fate(Side.AFTER) is Fate.IS_LOST:
                self.close_connection = True
            else:
                self._answer(answer.status_code, answer.content)

    do_PUT = do_PATCH = do_DELETE = do_POST = do_GET  # noqa: N815 - http.server's names

    def log_message(self, *_arguments: Any) -> None:
        """Log nothing."""

    def _fate(self, side: Side) -> Fate:
        """Let the fault happen; one that takes its time is not to look like a worker that does not answer.

        The client gets interim answers (100 Continue) meanwhile, so that their read timeout does not run out.
        """
        over = threading.Event()
        interim = threading.Thread(target=self._tell_to_wait, args=[over])
        interim.start()
        try:
            return self.server.gate.fate(self.command, self.path, side)
        finally:
            over.set()
            interim.join()

    def _tell_to_wait(self, over: threading.Event) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the client is dead
            while not over.wait(_GO_ON_WAITING):
                self.handle_expect_100()

    def _come_late(self, content: bytes) -> None:
        try:
            self._hand_on(content)
        finally:
            self.server.gate.queue.release()

    def _hand_on(self, content: bytes) -> requests.Response:
        url, headers = self.server.gate.target + self.path, {"Content-Type": "application/json"}
        return requests.request(self.command, url, data=content, headers=headers, timeout=100)

    def _answer(self, status: int, body: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client is dead


@contextmanager
def open_gate(gate: Gate) -> Iterator[str]:
    """Run the proxy; gives its URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.gate = gate
    with serving(server) as url:
        yield url
