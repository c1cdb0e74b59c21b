"""Answers that never end, or are larger than anything: a call has its time, and its size."""

from __future__ import annotations

import time

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint, OAuthClient
from airflow_provider_connect_offsets.exceptions import AccessDenied, ConnectOffsetsError, OutcomeUnknown, Unreachable
from tests.support.workers.endless import HEAD, LARGE, Answer, fixed, server, trickling


def client(url: str, **endpoint: object) -> ConnectRest:
    """A client whose calls have half a second, and one attempt."""
    known = ConnectEndpoint((url,), connect_timeout=0.2, read_timeout=0.3, change_timeout=0.3, **endpoint)  # type: ignore[arg-type]
    return ConnectRest(known, timeout=0)


@pytest.mark.parametrize(
    "answer",
    [
        trickling(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        trickling(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        trickling(HEAD + b"\r\n[", b" "),
        trickling(HEAD + b"Content-Length: 1000000\r\n\r\n[", b" "),
        trickling(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        trickling(b"", b"H"),
    ],
    ids=["headers", "a header", "a body", "a body with a length", "chunks", "a status"],
)
@pytest.mark.parametrize("changes", [False, True], ids=["read", "stop"])
def test_an_answer_that_trickles_is_given_up(answer: Answer, *, changes: bool) -> None:
    """The same holds while a connector is down; then the outcome of a change is unknown."""
    with server(answer) as url, client(url) as connect:
        began = time.monotonic()

        with pytest.raises(
            OutcomeUnknown if changes else Unreachable, match=r"no complete answer within 0\.5 s"
        ) as error:
            connect.stop("orders") if changes else connect.connectors()

        assert time.monotonic() - began < 5
        assert url in str(error.value)


@pytest.mark.parametrize("content", LARGE.values(), ids=LARGE)
def test_an_answer_has_a_size(content: bytes) -> None:
    """Once it is decompressed; it is not asked for again."""
    with (
        server(fixed(content)) as url,
        client(url, largest_answer=1 << 20) as connect,
        pytest.raises(Unreachable, match="its answer is larger than 1 MiB"),
    ):
        connect.connectors()


def test_a_list_of_offsets_may_be_longer() -> None:
    """It may be sixteen times as long as any other answer."""
    content = HEAD + b"\r\n" + b'{"offsets": []' + b" " * 3_000_000 + b"}"
    with server(fixed(content)) as url, client(url, largest_answer=1 << 20) as connect:
        assert connect.read_offsets("orders").by_partition() == {}


def refuse_token(answer: Answer, error: type[ConnectOffsetsError], words: str) -> None:
    """Assert that a call fails whose token endpoint answers so, without a request to the worker."""
    with (
        server(answer) as url,
        client("http://127.0.0.1:1", auth=OAuthClient(url, "me", "hunter2")) as connect,
        pytest.raises(error, match=words),
    ):
        connect.connectors()


def test_a_token_that_trickles_is_given_up() -> None:
    """Nothing reaches the worker."""
    refuse_token(trickling(HEAD + b"\r\n{", b" "), Unreachable, "OAuth token endpoint")


@pytest.mark.parametrize(
    "body",
    [
        b'{"access_token": null}',
        b'{"access_token": ""}',
        b'{"access_token": ["x"]}',
        b'{"access_token": "\xc3\xa9"}',
        b'{"access_token": "a\\nb"}',
        b'{"access_token": "x", "expires_in": "1e999x"}',
        b'{"access_token": "x", "expires_in": ' + b"9" * 400 + b"}",
        b"[" * 100_000,
    ],
    ids=["null", "empty", "list", "accent", "line break", "text", "huge", "nested"],
)
def test_a_token_that_is_none_is_named_in_one_sentence(body: bytes) -> None:
    """It is never sent as ``Bearer None``."""
    refuse_token(fixed(HEAD + b"\r\n" + body), AccessDenied, "gives client 'me' no")


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b'"' + b"x" * 10, b"9" * 5000, b'{"a": 1e9999}', b"\xff\xfe[]", b"null", b"[[]]", b'"\\ud800"'],
    ids=["nested", "cut", "huge", "infinite", "no UTF-8", "null", "lists", "half a pair"],
)
def test_a_body_that_is_not_connects_is_one_sentence(body: bytes) -> None:
    """Whatever it holds, and whatever is read from it."""
    with server(fixed(HEAD + b"\r\n" + body)) as url, client(url) as connect:
        for read in (lambda: connect.status("x"), lambda: connect.read_offsets("x"), lambda: connect.info("x")):
            with pytest.raises(ConnectOffsetsError):
                read()
