"""Requests that end: the whole answer has to come in a given time, and may have a given size.

A timeout of ``requests`` is one for each piece of an answer, so that a server which sends a byte now and then keeps its
caller for ever. And a compressed answer may be a thousand times larger than what was sent.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from threading import Lock, Timer
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

# Bytes that are decompressed at once: gzip makes at most a thousand times as many of them.
_PIECE = 1 << 14


class TooLarge(requests.RequestException):
    """An answer has more bytes than it may have."""


class TooLate(requests.ReadTimeout):
    """An answer was not complete in time."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer: its status, body, and header ``Location``."""

    status: int
    body: bytes
    location: str = ""


def send(session: requests.Session, method: str, url: str, *, seconds: float, largest: int, **request: Any) -> Reply:
    """Send a request, and read its answer whole.

    Args:
        session: Made by :func:`session`.
        method: HTTP method.
        url: Where to.
        seconds: Time from now in which the answer has to be complete.
        largest: How many bytes it may have once it is decompressed.
        request: Other arguments of ``requests.Session.request``.

    Raises:
        TooLate: It was not complete in time.
        TooLarge: It has more bytes.
        requests.RequestException: There was no answer.
    """
    with _limited(seconds) as limit:
        try:
            with session.request(method, url, stream=True, **request) as response:
                body = b"".join(_pieces(response, largest))
        except requests.ReadTimeout:
            raise
        except requests.RequestException as error:
            if limit.is_over:
                raise TooLate(_late(seconds)) from error
            raise
        # Cut off in the middle, an answer without a length looks complete.
        if limit.is_over:
            raise TooLate(_late(seconds))
        return Reply(response.status_code, body, response.headers.get("Location", ""))


def session() -> requests.Session:
    """Return a session whose requests :func:`send` can end; it uses nothing of the environment."""
    made = requests.Session()
    made.trust_env = False
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter())
    return made


def _late(seconds: float) -> str:
    return f"no complete answer within {seconds:g} s"


def _pieces(response: requests.Response, largest: int) -> Iterator[bytes]:
    size = 0
    for piece in response.iter_content(_PIECE):
        size += len(piece)
        if size > largest:
            raise TooLarge(f"its answer has more than {largest / (1 << 20):,.0f} MiB")
        yield piece


class _Limit:
    """Shuts the connections of a request once its time is over."""

    def __init__(self) -> None:
        self.is_over = False
        self._lock = Lock()
        self._connections: list[HTTPConnection] = []
        self._sockets: list[Any] = []

    def watch(self, connection: HTTPConnection) -> None:
        """Shut this connection, too.

        It forgets its socket while a body is read that ends with the connection, and may have none yet.
        """
        with self._lock:
            self._connections.append(connection)
            self._sockets.append(connection.sock)
        if self.is_over:
            self.end()

    def end(self) -> None:
        """Shut all connections, so that whoever reads from one gets an error."""
        self.is_over = True
        with self._lock:
            for opened in (*self._sockets, *(connection.sock for connection in self._connections)):
                if isinstance(opened, socket.socket):
                    with suppress(OSError):
                        # Not that of a TLS socket, which is not made for another thread.
                        socket.socket.shutdown(opened, socket.SHUT_RDWR)


_LIMIT: ContextVar[_Limit | None] = ContextVar("connect_offsets_limit", default=None)


@contextmanager
def _limited(seconds: float) -> Iterator[_Limit]:
    limit = _Limit()
    timer, token = Timer(seconds, limit.end), _LIMIT.set(limit)
    timer.daemon = True
    timer.start()
    try:
        yield limit
    finally:
        timer.cancel()
        _LIMIT.reset(token)


def _watch_connection(connection: HTTPConnection) -> None:
    limit = _LIMIT.get()
    if limit is not None:
        limit.watch(connection)


class _Watched(HTTPConnection):
    def connect(self) -> None:
        """Connect, and be shut by the limit of the request that needs it, also before it is connected."""
        _watch_connection(self)
        super().connect()
        _watch_connection(self)

    def request(self, *args: Any, **kwargs: Any) -> None:
        """Send a request by a connection that may be kept from an earlier one."""
        _watch_connection(self)
        super().request(*args, **kwargs)


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTls


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools of connections that a limit can shut."""
        super().init_poolmanager(*args, **kwargs)
        _watch(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> urllib3.PoolManager:
        """Make those of a proxy."""
        manager: urllib3.PoolManager = super().proxy_manager_for(proxy, **kwargs)
        _watch(manager)
        return manager


def _watch(manager: urllib3.PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
