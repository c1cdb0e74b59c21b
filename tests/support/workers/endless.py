"""Servers whose answers trickle, or are larger than anything."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#: Answers of 3 MB once they are decompressed.
LARGE = {
    "plain": HEAD + b"\r\n[" + b" " * 3_000_000 + b"]",
    "compressed": HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"[" + b" " * 3_000_000 + b"]"),
}
Answer = Callable[[socket.socket, Event], None]


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """A server that answers each request so; the event is set once the test has ended."""
    ended = Event()

    def serve() -> None:
        while not ended.is_set():
            with suppress(OSError):
                opened, _ = listening.accept()
                with opened:
                    opened.recv(65536)
                    answer(opened, ended)
                    # Closed with something unread, a connection loses what was sent.
                    opened.shutdown(socket.SHUT_WR)
                    while opened.recv(65536):
                        pass

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            ended.set()
            with suppress(OSError):
                socket.create_connection(listening.getsockname(), timeout=1).close()
            thread.join(5)


def trickling(begin: bytes, piece: bytes) -> Answer:
    """A response that sends ``piece`` every 0.05 s and never ends."""

    def answer(opened: socket.socket, ended: Event) -> None:
        opened.sendall(begin)
        while not ended.wait(0.05):
            opened.sendall(piece)

    return answer


def fixed(content: bytes) -> Answer:
    """A whole answer."""
    return lambda opened, _ended: opened.sendall(content)
