"""Limits the time and size of answers to requests, ours and the Kubernetes client's.

A timeout of ``requests`` applies to each piece of an answer, so a server that sends a byte now and then would keep its
caller for ever. And a compressed answer may be a thousand times larger than what was sent.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from threading import Lock, Timer
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError

# Bytes that are decompressed at once: gzip makes at most a thousand times as many of them.
_PIECE = 1 << 14


class TooLarge(requests.RequestException, HTTPError):
    """An answer has more bytes than allowed."""


class TooLate(requests.ReadTimeout, HTTPError):
    """An answer was not complete in time."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete answer: its status, body, and header ``Location``."""

    status: int
    body: bytes
    location: str = ""


def send(session: requests.Session, method: str, url: str, *, seconds: float, largest: int, **request: Any) -> Reply:
    """Send a request, and read its whole answer.

    Args:
        session: Made by :func:`session`.
        method: HTTP method.
        url: Address of the request.
        seconds: Time from now in which the answer has to be complete.
        largest: How many bytes the answer may have once it is decompressed.
        request: Other arguments of ``requests.Session.request``.

    Raises:
        TooLate: The answer was not complete in time.
        TooLarge: The answer has more bytes.
        requests.RequestException: There was no answer.
    """
    with _limit_time(seconds) as limit:
        try:
            with session.request(method, url, stream=True, **request) as response:
                body = b"".join(_pieces(response.iter_content(_PIECE), largest))
        except requests.ReadTimeout:
            raise
        except requests.RequestException as error:
            limit.refuse_late(error)
            raise
        limit.refuse_late()
        return Reply(response.status_code, body, response.headers.get("Location", ""))


def session() -> requests.Session:
    """Return a session whose requests :func:`send` can end; it ignores the environment (proxies, ``.netrc``)."""
    made = requests.Session()
    made.trust_env = False
    for scheme in ("http://", "https://"):
        made.mount(scheme, _Adapter())
    return made


def limit_answers(manager: urllib3.PoolManager, *, largest: int) -> None:
    """Limit the answers that a library gets through its pool manager; each of its requests must have a timeout.

    An answer has to be complete within connect and read timeout together, and may have at most ``largest`` bytes once
    it is decompressed. If the library reads an answer piece by piece, the size limit applies to each line. A larger or
    later answer raises ``urllib3.exceptions.HTTPError``.
    """
    manager.clear()
    pools: dict[str, Any] = {"http": _LimitedPool, "https": _LimitedTlsPool}
    made: Any = {scheme: partial(pool, largest=largest) for scheme, pool in pools.items()}
    manager.pool_classes_by_scheme = made


def _describe_limit(largest: int) -> str:
    return f"its answer is larger than {largest / (1 << 20):,.0f} MiB"


def _pieces(pieces: Iterable[bytes], largest: int) -> Iterator[bytes]:
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > largest:
            raise TooLarge(_describe_limit(largest))
        yield piece


class _Limit:
    """Shuts the connections of a request once its time is over."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._lock = Lock()
        self._connections: list[HTTPConnection] = []
        self._sockets: list[Any] = []

    def watch(self, connection: HTTPConnection) -> None:
        """Shut this connection, too, once the time is over.

        It may have no socket yet, and forgets its socket while it reads a body that ends with the connection.
        """
        with self._lock:
            self._connections.append(connection)
            self._sockets.append(connection.sock)
        if self.is_over:
            self.end()

    def refuse_late(self, error: Exception | None = None) -> None:
        """Raise :class:`TooLate` if the time was over: an answer without a length looks complete when it is cut off."""
        if self.is_over:
            raise TooLate(f"no complete answer within {self._seconds:g} s") from error

    def refuse_passed(self) -> None:
        """Raise :class:`TooLate` if the time is over, where nothing shuts the connections any more."""
        self.is_over = self.is_over or time.monotonic() > self._until
        self.refuse_late()

    def end(self) -> None:
        """Shut all connections, so that whoever reads from one gets an error."""
        self.is_over = True
        with self._lock:
            for opened in (*self._sockets, *(connection.sock for connection in self._connections)):
                if isinstance(opened, socket.socket):
                    with suppress(OSError):
                        # Not the TLS socket's own method, which is not made for another thread.
                        socket.socket.shutdown(opened, socket.SHUT_RDWR)


_LIMIT: ContextVar[_Limit | None] = ContextVar("connect_offsets_limit", default=None)


@contextmanager
def _limit_time(seconds: float) -> Iterator[_Limit]:
    limit = _Limit(seconds)
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
        """Connect; the limit of the present request can shut the connection, even before it is connected."""
        _watch_connection(self)
        super().connect()
        _watch_connection(self)

    def request(self, *args: Any, **kwargs: Any) -> None:
        """Send a request over this connection, which may be kept from an earlier request."""
        _watch_connection(self)
        super().request(*args, **kwargs)


class _WatchedTls(_Watched, HTTPSConnection):
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Watched


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _WatchedTls


class _Limited(HTTPConnectionPool):
    def __init__(self, *args: Any, largest: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._largest = largest

    def urlopen(self, *args: Any, **kwargs: Any) -> urllib3.BaseHTTPResponse:
        """Return a limited answer: a whole answer is read here, an answer in lines where it is used."""
        if _LIMIT.get() is not None:  # another attempt, or a redirection
            return super().urlopen(*args, **kwargs)
        timeout, is_whole = kwargs["timeout"], kwargs.pop("preload_content", True)
        kwargs["preload_content"] = False
        seconds = timeout.connect_timeout + timeout.read_timeout
        with _limit_time(seconds) as limit:
            try:
                answer = super().urlopen(*args, **kwargs)
                body = b"".join(_pieces(answer.stream(_PIECE), self._largest)) if is_whole else None
            except HTTPError as error:
                limit.refuse_late(error)
                raise
            limit.refuse_late()
        if body is not None:
            return urllib3.HTTPResponse(body, answer.headers, answer.status, reason=answer.reason)
        answer.stream = partial(_lines, answer.stream, self._largest, limit)  # type: ignore[method-assign]
        return answer


def _lines(
    stream: Callable[..., Iterator[bytes]], largest: int, limit: _Limit, *args: Any, **kwargs: Any
) -> Iterator[bytes]:
    size = 0
    for piece in stream(*args, **kwargs):
        before, newline, after = piece.rpartition(b"\n")
        size = len(after) if newline else size + len(piece)
        if max(size, len(before)) > largest:
            raise TooLarge(_describe_limit(largest))
        limit.refuse_passed()
        yield piece


class _LimitedPool(_Limited, _Pool):
    pass


class _LimitedTlsPool(_Limited, _TlsPool):
    pass


class _Adapter(HTTPAdapter):
    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Create pools of connections that a limit can shut."""
        super().init_poolmanager(*args, **kwargs)
        _watch(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> urllib3.PoolManager:
        """Create the same pools for a proxy."""
        manager: urllib3.PoolManager = super().proxy_manager_for(proxy, **kwargs)
        _watch(manager)
        return manager


def _watch(manager: urllib3.PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _Pool, "https": _TlsPool}
