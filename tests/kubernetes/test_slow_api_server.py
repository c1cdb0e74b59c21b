"""An API server whose answers never end, or are larger than anything: a call has its time, and its size."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import pytest
from kubernetes.client import ApiClient, Configuration

from airflow_provider_connect_offsets.connect.strimzi import kubernetes_api
from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind
from airflow_provider_connect_offsets.exceptions import OutcomeUnknown, Unreachable
from tests.support.workers.endless import HEAD, LARGE, Answer, fixed, server, trickling

pytestmark = pytest.mark.kubernetes

RESOURCE = CustomResource(
    ResourceKind.CONNECTOR, {"metadata": {"name": "orders", "namespace": "kafka", "resourceVersion": "7"}}
)
EVENT = json.dumps({"type": "MODIFIED", "object": RESOURCE.body}).encode() + b"\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second, and a MiB."""
    monkeypatch.setattr(kubernetes_api, "_TIMEOUT", (0.2, 0.3))
    monkeypatch.setattr(kubernetes_api, "_LARGEST", 1 << 20)


@contextmanager
def opened(answer: Answer) -> Iterator[KubernetesApi]:
    """One namespace of a server that answers each request so."""
    with server(answer) as url, ApiClient(Configuration(host=url)) as client:
        api = KubernetesApi(client, "kafka")
        api.version = "v1"
        yield api


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


@pytest.mark.parametrize(
    "answer",
    [
        trickling(b"HTTP/1.1 200 OK\r\n", b"X-More: 1\r\n"),
        trickling(HEAD + b"\r\n{", b" "),
        trickling(HEAD + b"Content-Length: 1000000\r\n\r\n{", b" "),
        trickling(CHUNKED, chunk(b" ")),
    ],
    ids=["headers", "a body", "a body with a length", "chunks"],
)
@pytest.mark.parametrize("changes", [False, True], ids=["read", "delete"])
def test_an_answer_that_trickles_is_given_up(answer: Answer, *, changes: bool) -> None:
    """The outcome of a change is unknown then."""
    began = time.monotonic()
    with opened(answer) as api, pytest.raises(OutcomeUnknown if changes else Unreachable, match=r"within 0\.5 s"):
        api.delete(ResourceKind.CONNECTOR, "orders") if changes else api.list(ResourceKind.CONNECTOR)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("content", LARGE.values(), ids=LARGE)
def test_an_answer_has_a_size(content: bytes) -> None:
    """Once it is decompressed."""
    with opened(fixed(content)) as api, pytest.raises(Unreachable, match="its answer is larger than 1 MiB"):
        api.read(ResourceKind.CONNECTOR, "orders")


def test_an_ordinary_answer_is_read() -> None:
    """An answer is read as a whole, even if it is compressed."""
    body = json.dumps({"items": [RESOURCE.body] * 3}).encode()
    for content in (HEAD + b"\r\n" + body, HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(body)):
        with opened(fixed(content)) as api:
            assert [one.name for one in api.list(ResourceKind.CONNECTOR)] == ["orders"] * 3


def test_a_watch_may_have_more_events_than_a_line_may_have_bytes() -> None:
    """A line has the size; it may come in pieces."""
    half = len(EVENT) // 2
    pieces = chunk(EVENT[:half]) + chunk(EVENT[half:])
    with opened(fixed(CHUNKED + pieces * 30_000 + b"0\r\n\r\n")) as api:
        assert sum(1 for _ in api.changes_of(RESOURCE, seconds=5)) == 30_000


def test_a_line_of_a_watch_has_a_size() -> None:
    """Whoever sends no end of it fills no memory."""

    def endless(opened: socket.socket, ended: Event) -> None:
        opened.sendall(CHUNKED)
        while not ended.is_set():
            opened.sendall(chunk(b"x" * 65536))

    with opened(endless) as api, pytest.raises(Unreachable, match="its answer is larger than 1 MiB"):
        list(api.changes_of(RESOURCE, seconds=5))


def test_a_watch_ends_that_never_sends_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each read of which gets something in time."""
    monkeypatch.setattr(kubernetes_api, "_LATER", 0.5)
    with opened(trickling(CHUNKED, chunk(b" "))) as api, pytest.raises(Unreachable, match="no complete answer within"):
        list(api.changes_of(RESOURCE, seconds=1))
