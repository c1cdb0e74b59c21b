"""A proxy in front of a real Connect worker that alters answers, for faults that a real worker shows by chance only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

from tests.support.workers.serving import serving

#: (method, path, body of the real answer) → the body to send instead.
Alter = Callable[[str, str, Any], Any]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    target: str
    alter: Alter


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._forward()

    do_PUT = do_PATCH = do_DELETE = do_POST = do_GET  # noqa: N815 - http.server's names

    def log_message(self, *_arguments: Any) -> None:
        """Log nothing."""

    def _forward(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = requests.request(
            self.command,
            self.server.target + self.path,
            data=content,
            headers={"Content-Type": "application/json"},
            timeout=100,
        )
        body = answer.content
        if answer.ok and body:
            body = json.dumps(self.server.alter(self.command, self.path, answer.json())).encode()
        self.send_response(answer.status_code)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def altering_proxy(target: str, alter: Alter) -> Iterator[str]:
    """Run the proxy in front of the worker at ``target``, and give the proxy's URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.target, server.alter = target, alter
    with serving(server) as url:
        yield url


def read_back_others(times: int) -> Alter:
    """Alter a source's offsets the first ``times`` that they are read after a change.

    The client requests them twice each time and uses the second answer.
    """
    left = {"changed": False, "times": 2 * times}

    def alter(method: str, path: str, body: Any) -> Any:
        if not path.endswith("/offsets"):
            return body
        if method == "PATCH":
            left["changed"] = True
        elif method == "GET" and left["changed"] and left["times"]:
            left["times"] -= 1
            return {"offsets": body["offsets"][:-1] or [{"partition": {"made": "up"}, "offset": {"offset": 1}}]}
        return body

    return alter
