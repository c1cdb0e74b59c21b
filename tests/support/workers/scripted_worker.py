"""An HTTP server that answers like a Connect worker, by script, and a clock that tests move."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from airflow_provider_connect_offsets.clock import Clock

JETTY_404 = "<html><head><title>Error 404 Not Found</title></head><body>HTTP ERROR 404 Not Found</body></html>"


@dataclass(frozen=True)
class Reply:
    """One answer: ``body`` is JSON, or raw text where it is a str.

    ``hang_up``: the connection is cut instead, ``wait``: at the end of the test.
    """

    status: int = 200
    body: Any = None
    hang_up: bool = False
    wait: bool = False
    location: str | None = None


@dataclass(frozen=True)
class Request:
    """A request that the worker received."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


def error(status: int, message: str) -> Reply:
    """An error answer with Connect's error body."""
    return Reply(status, {"error_code": status, "message": message})


@dataclass
class Worker:
    """The scripted server: several replies to one call are given in order, the last one repeatedly."""

    server: ThreadingHTTPServer
    replies: dict[tuple[str, str], list[Reply]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    @property
    def calls(self) -> list[str]:
        return [f"{request.method} {request.path}" for request in self.requests]

    def answers(self, call: str, *replies: Reply) -> None:
        method, path = call.split(" ", 1)
        self.replies[method, path] = list(replies)

    def next_reply(self, method: str, path: str) -> Reply:
        replies = self.replies.get((method, path), [Reply(404, JETTY_404)])
        return replies.pop(0) if len(replies) > 1 else replies[0]


def handler(worker: Callable[[], Worker]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            kind = self.headers.get("Content-Type", "")
            body = json.loads(sent) if sent and "json" in kind else sent.decode() or None
            worker().requests.append(Request(self.command, self.path, dict(self.headers), body))
            reply = worker().next_reply(self.command, self.path)
            if reply.wait:
                worker().released.wait(30)
            if reply.hang_up or reply.wait:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            self.send(reply)

        do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815

        def send(self, reply: Reply) -> None:
            raw = (
                reply.body if isinstance(reply.body, str) else json.dumps(reply.body) if reply.body is not None else ""
            )
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(raw.encode())))
            self.send_header("Content-Type", "text/html" if isinstance(reply.body, str) else "application/json")
            if reply.location:
                self.send_header("Location", reply.location)
            self.end_headers()
            self.wfile.write(raw.encode())

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    return Handler


@contextmanager
def scripted_worker(wrap: Callable[[socket.socket], socket.socket] | None = None, *, port: int = 0) -> Iterator[Worker]:
    """Start a scripted worker, and end it; ``wrap`` may put TLS around the server's socket."""
    holder: list[Worker] = []
    with ThreadingHTTPServer(("127.0.0.1", port), handler(lambda: holder[0])) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is part of the tests
        if wrap is not None:
            server.socket = wrap(server.socket)
        holder.append(Worker(server))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield holder[0]
        finally:
            holder[0].released.set()
            server.shutdown()
            thread.join()


@dataclass
class FakeTime:
    """A clock that advances by sleeping only; ``meanwhile`` is called at each sleep."""

    seconds: float = 1000.0
    slept: list[float] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.seconds, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        self.meanwhile()
