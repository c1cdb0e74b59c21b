"""The calls of the REST API: what is sent and read, which worker is called, and that no secret leaks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import ConnectorControl, OffsetStore, State, WriteReply
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest, WorkerVersion
from airflow_provider_connect_offsets.connect.rest.endpoint import BasicAuth, BearerToken
from airflow_provider_connect_offsets.exceptions import (
    InvalidInput,
    Rejected,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.masking import MASK
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from tests.support.workers.scripted_worker import Reply, Worker, error

Connect = Callable[..., ConnectRest]
STOP = "PUT /connectors/c/stop"
OK = Reply(200, ["b", "a"])
EXTERNAL = (
    "The Connect framework-managed offsets for this connector have been altered successfully. However, if this "
    "connector manages offsets externally, they will need to be manually altered in the system that the connector uses."
)


def test_it_is_a_store_and_a_control(connect_to: Connect, worker: Worker) -> None:
    """The REST client implements both protocols (the type checker compares the signatures)."""
    as_store: OffsetStore = connect_to(worker.url)
    as_control: ConnectorControl = connect_to(worker.url)

    assert (type(as_store), type(as_control)) == (ConnectRest, ConnectRest)


def test_reading(connect_to: Connect, worker: Worker) -> None:
    """Version, names, type, configuration, state and offsets are read from answers of Connect."""
    worker.answers("GET /", Reply(200, {"version": "4.3.1", "commit": "abc", "kafka_cluster_id": "K"}))
    worker.answers("GET /connectors", OK)
    config = {"connector.class": "X", "name": "c"}
    worker.answers("GET /connectors/c", Reply(200, {"name": "c", "config": config, "tasks": [], "type": "source"}))
    entry = {"partition": {"b": 1, "a": "ü"}, "offset": {"p": 12345678901234567890}}
    worker.answers("GET /connectors/c/offsets", Reply(200, {"offsets": [entry]}))
    store = connect_to(worker.url)

    assert store.version() == WorkerVersion("4.3.1", "K")
    assert store.connectors() == ["a", "b"]
    info = store.info("c")
    assert (info.name, info.type, info.config) == ("c", ConnectorType.SOURCE, config)
    assert store.read_offsets("c") == Offsets.of([Entry('{"a":"ü","b":1}', '{"p":12345678901234567890}')])


@pytest.mark.parametrize("ask", [ConnectRest.info, ConnectRest.status])
def test_an_answer_on_another_connector_is_refused(
    connect_to: Connect, worker: Worker, ask: Callable[[ConnectRest, str], object]
) -> None:
    """A gateway may decode ``%3B`` in a path, and what follows ``;`` is no part of the name then."""
    about_another = Reply(200, {"name": "orders", "config": {}, "tasks": [], "type": "sink"})
    for path in ("", "/status"):
        worker.answers(f"GET /connectors/orders%3Bother{path}", about_another)

    with pytest.raises(Rejected, match=r"connector 'orders;other' is about connector 'orders'\. Nothing was changed"):
        ask(connect_to(worker.url), "orders;other")


def test_what_is_wrong_with_a_configuration(connect_to: Connect, worker: Worker) -> None:
    """By setting, without the value of a secret; what is fine is not named."""

    def judged(name: str, *errors: str) -> dict[str, Any]:
        return {"definition": {}, "value": {"name": name, "value": None, "errors": list(errors)}}

    settings = [
        judged("topics"),
        judged("tasks.max", "Invalid value none", "Not a number."),
        judged("my.password", "Invalid value hunter2 for configuration my.password"),
    ]
    worker.answers("PUT /connector-plugins/a.B/config/validate", Reply(200, {"error_count": 2, "configs": settings}))

    found = connect_to(worker.url).config_problems({"connector.class": "a.B"})

    assert found == ["tasks.max: Invalid value none Not a number.", f"my.password: {MASK}"]


def test_a_partition_that_the_first_answer_lacks(connect_to: Connect, worker: Worker) -> None:
    """A worker lists a source's partitions before it reads its topic to the end; a sink's offsets are its group's."""
    old, new = ({"partition": {"filename": name}, "offset": {"position": 1}} for name in ("old", "new"))
    refused = error(403, "asked once too often")
    of_sink = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1}}
    worker.answers(
        "GET /connectors/c/offsets", Reply(200, {"offsets": [old]}), Reply(200, {"offsets": [old, new]}), refused
    )
    worker.answers("GET /connectors/s/offsets", Reply(200, {"offsets": [of_sink]}), refused)
    store = connect_to(worker.url)

    assert len(store.read_offsets("c")) == 2
    assert len(store.read_offsets("s")) == 1


def test_status_shows_tasks_in_order_with_their_traces(connect_to: Connect, worker: Worker) -> None:
    """A failed task has its trace; a connector is stopped only if it is STOPPED without tasks."""
    body = {
        "name": "c",
        "connector": {"state": "RUNNING", "worker_id": "w1:8083"},
        "tasks": [
            {"id": 1, "state": "FAILED", "worker_id": "w2:8083", "trace": "boom"},
            {"id": 0, "state": "RUNNING", "worker_id": "w1:8083"},
        ],
        "type": "sink",
    }
    worker.answers("GET /connectors/c/status", Reply(200, body))

    status = connect_to(worker.url).status("c")

    assert [task.number for task in status.tasks] == [0, 1]
    assert [task.trace for task in status.failed_tasks] == ["boom"]
    assert not status.is_stopped


def test_changing(connect_to: Connect, worker: Worker) -> None:
    """Every change sends what Connect expects, once."""
    config = {"connector.class": "X"}
    shown = Reply(200, {"name": "c", "config": config, "tasks": [], "type": "source"})
    for call in ("PUT /connectors/c/stop", "PUT /connectors/c/pause", "PUT /connectors/c/resume"):
        worker.answers(call, Reply(202))
    worker.answers("POST /connectors", shown)
    worker.answers("GET /", Reply(200, {"version": "3.7.0", "commit": "abc", "kafka_cluster_id": "K"}))
    worker.answers("GET /connectors/c", shown)
    worker.answers("PUT /connectors/c/config", shown)
    worker.answers("DELETE /connectors/c", Reply(204))
    worker.answers("DELETE /connectors/c/offsets", Reply(200, {"message": "reset"}))
    store = connect_to(worker.url)

    store.stop("c")
    store.pause("c")
    store.resume("c")
    store.create("c", config)
    store.create("c", config, initial_state=State.STOPPED)
    store.update_config("c", config)
    assert store.reset_offsets("c") == WriteReply("reset")
    store.delete("c")

    assert [(request.method, request.path, request.body) for request in worker.requests] == [
        ("PUT", "/connectors/c/stop", None),
        ("PUT", "/connectors/c/pause", None),
        ("PUT", "/connectors/c/resume", None),
        ("POST", "/connectors", {"name": "c", "config": config}),
        ("GET", "/", None),
        ("POST", "/connectors", {"name": "c", "config": config, "initial_state": "STOPPED"}),
        ("GET", "/connectors/c", None),
        ("PUT", "/connectors/c/config", config),
        ("DELETE", "/connectors/c/offsets", None),
        ("DELETE", "/connectors/c", None),
    ]


def test_offsets_kept_elsewhere_too_are_reported(connect_to: Connect, worker: Worker) -> None:
    """Connect's warning that the connector may manage offsets itself reaches the caller."""
    worker.answers("PATCH /connectors/c/offsets", Reply(200, {"message": EXTERNAL}))

    assert connect_to(worker.url).write_offsets("c", Offsets()) == WriteReply(EXTERNAL, externally_managed=True)


def test_a_configuration_change_creates_nothing(connect_to: Connect, worker: Worker) -> None:
    """PUT config of an unknown name would create a connector, so it is not sent."""
    worker.answers("GET /connectors/c", error(404, "Connector c not found"))

    with pytest.raises(UnknownConnector):
        connect_to(worker.url).update_config("c", {})

    assert worker.calls == ["GET /connectors/c"]


def test_a_type_nobody_knows_is_reported(connect_to: Connect, worker: Worker) -> None:
    """A connector whose plugin is missing has no type; that is an error, not a guess."""
    worker.answers("GET /connectors/c", Reply(200, {"name": "c", "config": {}, "tasks": [], "type": "unknown"}))

    with pytest.raises(Rejected, match="plugin is not installed"):
        connect_to(worker.url).info("c")


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("with space", "with%20space"),
        ("a->b.Mirror", "a-%3Eb.Mirror"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("50%?#&+;", "50%25%3F%23%26%2B%3B"),
        ("x" * 300, "x" * 300),
    ],
)
def test_names_are_percent_encoded(connect_to: Connect, worker: Worker, name: str, path: str) -> None:
    """Every name that Connect can reach is sent as one path segment."""
    worker.answers(f"PUT /connectors/{path}/stop", Reply(204))

    connect_to(worker.url).stop(name)

    assert worker.calls == [f"PUT /connectors/{path}/stop"]


@pytest.mark.parametrize("name", ["", " ", ".", "..", "a/b"])
def test_names_that_no_path_reaches_are_refused_before_anything_is_sent(
    connect_to: Connect, worker: Worker, name: str
) -> None:
    """A name that leads to another path is never sent."""
    store = connect_to(worker.url)
    for call in (store.stop, store.read_offsets, store.delete, lambda name: store.create(name, {})):
        with pytest.raises(InvalidInput, match="must not be empty"):
            call(name)
    assert worker.calls == []


@pytest.mark.parametrize("name", ["a%b", "a%2Fb", "a\\b", "a\nb", "a\x7fb"])
def test_no_connector_is_created_that_could_not_be_reached_again(
    connect_to: Connect, worker: Worker, name: str
) -> None:
    """Connect accepts such names, but its web server refuses every path to them."""
    with pytest.raises(InvalidInput, match="could not reach it afterwards"):
        connect_to(worker.url).create(name, {})
    assert worker.calls == []


def test_a_base_url_may_have_a_path(connect_to: Connect, worker: Worker) -> None:
    """Connect can be reached below a gateway's path."""
    worker.answers("GET /gateway/connectors", OK)

    assert connect_to(f"{worker.url}/gateway/").connectors() == ["a", "b"]


@pytest.mark.parametrize(
    ("auth", "header"),
    [
        (BasicAuth("me", "päss:word"), "Basic bWU6cMOkc3M6d29yZA=="),
        (BearerToken("tok-en"), "Bearer tok-en"),
    ],
)
def test_credentials_and_headers_are_sent(connect_to: Connect, worker: Worker, auth: Any, header: str) -> None:
    """Basic authentication, tokens and custom headers reach the worker."""
    worker.answers("GET /connectors", OK)

    connect_to(worker.url, auth=auth, headers={"X-Tenant": "orders"}).connectors()

    assert worker.requests[0].headers["Authorization"] == header
    assert worker.requests[0].headers["X-Tenant"] == "orders"


@pytest.mark.parametrize(
    "reply",
    [Reply(401, ""), error(500, "Request timed out"), Reply(hang_up=True), error(409, "stale"), Reply(502, "x")],
)
def test_no_secret_is_in_any_message_or_log(
    connect_to: Connect, worker: Worker, caplog: pytest.LogCaptureFixture, reply: Reply
) -> None:
    """For every kind of failure, neither the error nor the log shows a credential."""
    caplog.set_level(logging.DEBUG)
    worker.answers(STOP, reply)
    secrets = {"auth": BasicAuth("me", "s3cret"), "headers": {"X-Key": "s3cret"}}
    store = connect_to(worker.url, **secrets, timeout=1)

    with pytest.raises(StoreError) as caught:
        store.stop("c")

    assert "s3cret" not in str(caught.value) + repr(caught.value) + caplog.text
    assert "bWU6" not in str(caught.value) + caplog.text
