"""Connect workers that are too old for a call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import (
    Unsupported,
)
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from tests.support.workers.scripted_worker import Reply, Worker, error

Connect = Callable[..., ConnectRest]
CHANGES = Offsets.of([Entry.of({"kafka_topic": "orders", "kafka_partition": 0}, {"kafka_offset": 7})])
PATCH = "PATCH /connectors/c/offsets"
STOP = "PUT /connectors/c/stop"
NOT_FOUND = error(404, "HTTP 404 Not Found")
NOT_ALLOWED = error(405, "HTTP 405 Method Not Allowed")


def of_kafka(version: str) -> Reply:
    """Return a worker's answer to the call for its version."""
    return Reply(200, {"version": version, "commit": "abc", "kafka_cluster_id": "K"})


@pytest.mark.parametrize(
    ("version", "call", "do", "since"),
    [
        ("3.4.1", STOP, lambda store: store.stop("c"), "stopping a connector"),
        ("3.4.1", "GET /connectors/c/offsets", lambda store: store.read_offsets("c"), "reading offsets"),
        ("3.5.1", PATCH, lambda store: store.write_offsets("c", CHANGES), "changing offsets"),
        ("7.5.3-ccs", PATCH, lambda store: store.write_offsets("c", CHANGES), "changing offsets"),
        ("3.5.1", "DELETE /connectors/c/offsets", lambda store: store.reset_offsets("c"), "changing offsets"),
    ],
)
@pytest.mark.parametrize("reply", [NOT_FOUND, NOT_ALLOWED], ids=["404", "405"])
def test_what_a_worker_is_too_old_for_is_refused_by_its_version(
    connect_to: Connect,
    worker: Worker,
    reply: Reply,
    *,
    version: str,
    call: str,
    do: Callable[[ConnectRest], object],
    since: str,
) -> None:
    """The error has the required release and an alternative; the call is sent once, without waiting."""
    worker.answers("GET /", of_kafka(version))
    worker.answers(call, reply)

    with pytest.raises(Unsupported, match=rf"has Kafka {version}, but {since}.* needs Kafka 3\.[56] or later"):
        do(connect_to(worker.url))

    assert worker.calls == [call, "GET /"]


@pytest.mark.parametrize(("reply", "version"), [(NOT_FOUND, "3.9.1"), (NOT_ALLOWED, "unknown")])
def test_a_call_that_is_missing_on_a_worker_that_should_have_it_is_reported(
    connect_to: Connect, worker: Worker, reply: Reply, version: str
) -> None:
    """The cause may be a proxy, or a build with an unreadable version: the message names both."""
    worker.answers("GET /", of_kafka(version))
    worker.answers(PATCH, reply)

    with pytest.raises(Unsupported, match=r"does not have this call: changing offsets .* needs Kafka 3\.6 .* base URL"):
        connect_to(worker.url).write_offsets("c", CHANGES)


@pytest.mark.parametrize(
    ("version", "changes", "creates"),
    [
        ("3.5.1", False, False),
        ("3.6.0-SNAPSHOT", True, False),
        ("7.6.1-ce", True, False),
        ("3.7.0", True, True),
        ("8.0.0-ccs", True, True),
        ("3.9.0.redhat-00001", True, True),
        ("unknown", True, True),
    ],
)
def test_support_is_known_before_anything_is_sent(
    connect_to: Connect, worker: Worker, version: str, *, changes: bool, creates: bool
) -> None:
    """No request is sent that the worker can't serve: a change of offsets before 3.6, a creation as STOPPED before 3.7.

    A worker whose version can't be read is sent the request, and answers it.
    """
    worker.answers("GET /", of_kafka(version))
    worker.answers("POST /connectors", Reply(201, {"name": "c", "config": {}, "tasks": [], "type": "source"}))
    store = connect_to(worker.url)

    with nullcontext() if changes else pytest.raises(Unsupported, match=f"Nothing was changed.*Kafka {version}, but"):
        store.require_offset_changes()
    with (
        nullcontext()
        if creates
        else pytest.raises(Unsupported, match=r"needs Kafka 3\.7 or later.*connect-offsets import")
    ):
        store.create("c", {}, initial_state=State.STOPPED)

    assert ("POST /connectors" in worker.calls) == creates
