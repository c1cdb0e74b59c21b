"""A gate in front of a real Connect worker: hands everything on, and lets a fault happen at one point of a change."""

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

_LATE = 1.5
_TIMED_OUT = json.dumps({"error_code": 500, "message": "Request timed out"}).encode()


class Side(StrEnum):
    """Before a request is handed on, or after its answer has come."""

    BEFORE = "before"
    AFTER = "after"


class Fate(StrEnum):
    """What becomes of a request at the point: it goes on; it, or its answer, is lost; it is answered as timed out.

    One that comes late holds up all changes behind it, as a worker carries them out one after the other.
    """

    PASSES = "passes"
    IS_LOST = "is lost"
    COMES_LATE = "comes late"


@dataclass(frozen=True)
class Point:
    """The first request with this method and end of its path, once one that has ``since`` in it has gone through."""

    method: str
    path: str
    side: Side
    since: str = ""

    def is_reached(self, method: str, path: str, side: Side, passed: list[str]) -> bool:
        """Whether this is the moment."""
        here = (method, side) == (self.method, self.side) and path.endswith(self.path)
        return here and (not self.since or any(self.since in call for call in passed))


class Gate:
    """Which point is waited for, and what is done there, once."""

    def __init__(self, target: str, point: Point, fault: Callable[[], Fate]) -> None:
        self.target = target
        self.reached = threading.Event()
        self._point, self._fault = point, fault
        self._passed: list[str] = []
        self._passing = threading.Condition()
        self.queue = threading.Lock()

    def fate(self, method: str, path: str, side: Side) -> Fate:
        """Let the fault happen where this is the point."""
        with self._passing:
            now = not self.reached.is_set() and self._point.is_reached(method, path, side, self._passed)
            if now:
                self.reached.set()
            if side is Side.AFTER:
                self._passed.append(f"{method} {path}")
                self._passing.notify_all()
        return self._fault() if now else Fate.PASSES

    def wait_for(self, method: str, path: str, timeout: float = 30) -> None:
        """For a fault that holds a request up: wait until a later one with this method and end has been answered."""
        with self._passing:
            before = len(self._passed)
            assert self._passing.wait_for(
                lambda: any(call.startswith(method) and call.endswith(path) for call in self._passed[before:]), timeout
            ), f"no {method} …{path} came"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    gate: Gate


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fate = self.server.gate.fate(self.command, self.path, Side.BEFORE)
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
            if self.server.gate.fate(self.command, self.path, Side.AFTER) is Fate.IS_LOST:
                self.close_connection = True
            else:
                self._answer(answer.status_code, answer.content)

    do_PUT = do_PATCH = do_DELETE = do_POST = do_GET  # noqa: N815 - http.server's names

    def log_message(self, *_arguments: Any) -> None:
        """Say nothing."""

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
            self.close_connection = True  # whoever asked is dead


@contextmanager
def open_gate(gate: Gate) -> Iterator[str]:
    """Run it; gives its URL."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.gate = gate
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
