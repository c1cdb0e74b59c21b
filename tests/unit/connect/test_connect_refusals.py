"""The meaning of each refusal of a Connect worker, and how often the call is sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import (
    AccessDenied,
    NotReady,
    NotStopped,
    OutcomeUnknown,
    RebalanceInProgress,
    Rejected,
    StoreError,
    UnknownConnector,
)
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from tests.support.workers.scripted_worker import JETTY_404, FakeTime, Reply, Worker, error

Connect = Callable[..., ConnectRest]
CHANGES = Offsets.of([Entry.of({"kafka_topic": "orders", "kafka_partition": 0}, {"kafka_offset": 7})])
READ = "GET /connectors/c/offsets"
PATCH = "PATCH /connectors/c/offsets"
STOP = "PUT /connectors/c/stop"
INFO = "GET /connectors/c"
UNKNOWN = error(404, "Connector c not found")
KNOWN = Reply(200, {"name": "c", "config": {}, "tasks": [], "type": "sink"})

STALE = (
    "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config change)"
)
NO_LEADER = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
NOT_LEADER = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
REBALANCE_EXPECTED = "Request cannot be completed because a rebalance is expected"
NOT_STOPPED = (
    "Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified "
    "connector by issuing a 'PUT' request to the '/connectors/c/stop' endpoint"
)
GROUP_NOT_EMPTY = (
    "Failed to alter consumer group offsets for connector c either because its tasks haven't stopped completely yet or "
    "the consumer group was resurrected by zombie sink tasks. If the connector is in a stopped state, this operation "
    "can be safely retried. If it doesn't eventually succeed, the Connect cluster may need to be restarted to get rid "
    "of the zombie sink tasks."
)


@pytest.mark.parametrize(
    ("reply", "meaning"),
    [
        (UNKNOWN, UnknownConnector),
        (error(500, "No connector `c` configured"), UnknownConnector),
        (error(400, NOT_STOPPED), NotStopped),
        (error(400, "Partitions / offsets need to be provided for an alter offsets request"), Rejected),
        (error(500, "Cannot deserialize value of type `java.util.LinkedHashMap`"), Rejected),
        (error(500, 'Unrecognized field "offset"'), Rejected),
        (error(500, "Failed to perform zombie fencing for source connector prior to modifying offsets"), Rejected),
        (
            error(500, "Failed to modify offsets for connector c because it doesn't support external modification"),
            Rejected,
        ),
        (error(500, "The 'offset' key in a MirrorSourceConnector offset must be an integer"), Rejected),
        (error(500, "Failed to modify offsets for sink connector c"), Rejected),
        (error(500, "Failed to alter consumer group offsets for connector c"), Rejected),
        (error(500, "Offsets may only contain primitive types as values, but field f contains class"), Rejected),
        (error(500, "Request timed out"), OutcomeUnknown),
        (error(500, "Request timed out. The worker is currently altering offsets."), OutcomeUnknown),
        (error(500, "Timed out while attempting to alter consumer group offsets"), OutcomeUnknown),
        (error(500, "IO Error trying to forward REST request: java.net.ConnectException"), OutcomeUnknown),
        (error(500, "Unexpected status code when handling forwarded request: 302"), OutcomeUnknown),
        (error(500, "Error writing target state to Kafka"), OutcomeUnknown),
        (error(500, "Error writing connector configuration to Kafka"), OutcomeUnknown),
        (error(500, "Error removing connector configuration from Kafka"), OutcomeUnknown),
        (Reply(401, {"error_code": 401, "message": "User cannot access the resource."}), AccessDenied),
        (Reply(403, "<html>Forbidden</html>"), AccessDenied),
        (Reply(400, "<html>Ambiguous URI path separator</html>"), Rejected),
        (Reply(502, "<html>Bad Gateway</html>"), OutcomeUnknown),
        (Reply(503, "<html>Service Unavailable</html>"), OutcomeUnknown),
        (Reply(200, "<html>Please log in</html>"), OutcomeUnknown),
        (Reply(200, {"unexpected": True}), OutcomeUnknown),
        (Reply(302, "", location="http://user:hidden@login.example.com/?next=1"), NotReady),
        (Reply(hang_up=True), OutcomeUnknown),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else f"{value.status} {str(value.body)[:60]}",
)
def test_a_refused_change_has_its_meaning_and_is_never_repeated(
    connect_to: Connect, worker: Worker, reply: Reply, meaning: type[StoreError]
) -> None:
    """A refusal that is not known to be safe raises its error at once, with the server's words."""
    worker.answers(PATCH, reply)
    worker.answers(INFO, UNKNOWN)

    with pytest.raises(StoreError) as caught:
        connect_to(worker.url).write_offsets("c", CHANGES)

    assert type(caught.value) is meaning
    assert worker.calls == ([PATCH, INFO] if meaning is UnknownConnector else [PATCH])
    assert "'c'" in str(caught.value)
    assert "hidden" not in str(caught.value)
    if isinstance(reply.body, dict) and "message" in reply.body and reply.status not in (401, 403):
        assert reply.body["message"] in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        error(409, STALE),
        error(409, NO_LEADER),
        error(409, NOT_LEADER),
        error(500, REBALANCE_EXPECTED),
        error(500, GROUP_NOT_EMPTY),
        Reply(404, JETTY_404),
    ],
    ids=["stale", "no leader", "not leader", "rebalance expected", "group not empty", "still starting"],
)
def test_a_change_is_repeated_where_the_refusal_says_nothing_was_done(
    connect_to: Connect, worker: Worker, reply: Reply
) -> None:
    """The client waits for rebalances, non-empty groups and starting workers, and then the change succeeds."""
    worker.answers(PATCH, reply, reply, Reply(200, {"message": "altered"}))

    assert connect_to(worker.url).write_offsets("c", CHANGES).message == "altered"

    assert worker.calls == [PATCH] * 3
    assert [request.body for request in worker.requests] == [CHANGES.as_json()] * 3


@pytest.mark.parametrize(
    ("reply", "meaning"),
    [
        (error(409, STALE), RebalanceInProgress),
        (error(500, GROUP_NOT_EMPTY), NotStopped),
        (Reply(404, JETTY_404), NotReady),
    ],
)
def test_the_timeout_is_bounded(
    connect_to: Connect, worker: Worker, time: FakeTime, reply: Reply, meaning: type[StoreError]
) -> None:
    """A refusal that lasts longer than the timeout is raised by its meaning."""
    worker.answers(PATCH, reply)
    store = connect_to(worker.url, timeout=10)

    with pytest.raises(StoreError) as caught:
        store.write_offsets("c", CHANGES)

    assert type(caught.value) is meaning
    assert 5 < sum(time.slept) <= 10
    assert len(worker.calls) == len(time.slept) + 1


def test_a_connector_that_exists_is_not_a_rebalance(connect_to: Connect, worker: Worker) -> None:
    """Creating a connector twice is refused at once, although Connect has the same status for a rebalance."""
    worker.answers("POST /connectors", error(409, "Connector c already exists"))

    with pytest.raises(Rejected, match="Connector c already exists"):
        connect_to(worker.url).create("c", {"connector.class": "X"})

    assert worker.calls == ["POST /connectors"]


@pytest.mark.parametrize(
    ("reply", "repeated"),
    [
        (error(409, STALE), True),
        (error(500, REBALANCE_EXPECTED), True),
        (error(500, "Request timed out"), True),
        (error(500, "IO Error trying to forward REST request: null"), True),
        (Reply(404, JETTY_404), True),
        (Reply(502, "<html>"), True),
        (Reply(hang_up=True), True),
        (UNKNOWN, False),
        (error(500, "Failed to retrieve offsets"), False),
        (Reply(401, ""), False),
        (Reply(200, "<html>Please log in</html>"), False),
        (Reply(200, {"no": "offsets"}), False),
    ],
    ids=lambda value: f"{value.status} {str(value.body)[:40]}" if isinstance(value, Reply) else str(value),
)
def test_a_reading_call_is_repeated_after_what_passes(
    connect_to: Connect, worker: Worker, reply: Reply, *, repeated: bool
) -> None:
    """Reads are repeated after temporary failures and fail at once after others."""
    worker.answers(READ, reply, Reply(200, {"offsets": []}))
    worker.answers(INFO, UNKNOWN)
    store = connect_to(worker.url)

    if repeated:
        assert store.read_offsets("c") == Offsets()
        assert len(worker.calls) == 3  # a source's offsets are requested twice
    else:
        with pytest.raises(StoreError):
            store.read_offsets("c")
        assert worker.calls == ([READ, INFO] if reply is UNKNOWN else [READ])


def test_a_new_connector_gets_its_status_a_moment_later(connect_to: Connect, worker: Worker) -> None:
    """The status is read again while the connector exists."""
    status = {"name": "c", "connector": {"state": "RUNNING", "worker_id": "w"}, "tasks": [], "type": "sink"}
    worker.answers("GET /connectors/c/status", error(404, "No status found for connector c"), Reply(200, status))
    worker.answers(INFO, KNOWN)

    assert connect_to(worker.url).status("c").state == "RUNNING"


def test_the_status_of_an_unknown_connector_says_so_at_once(
    connect_to: Connect, worker: Worker, time: FakeTime
) -> None:
    """Connect has the same answer for a new and an unknown connector; the client waits only for a new one."""
    worker.answers("GET /connectors/c/status", error(404, "No status found for connector c"))
    worker.answers(INFO, UNKNOWN)

    with pytest.raises(UnknownConnector, match="Connector c not found"):
        connect_to(worker.url).status("c")

    assert time.slept == []


@pytest.mark.parametrize(
    ("call", "says", "then", "do"),
    [
        (PATCH, "No connector `c` configured", Reply(200, {"message": ""}), lambda it: it.write_offsets("c", CHANGES)),
        (STOP, "Unknown connector c", Reply(204, ""), lambda it: it.stop("c")),
        ("PUT /connectors/c/pause", "Unknown connector c", Reply(202, ""), lambda it: it.pause("c")),
        ("PUT /connectors/c/resume", "Unknown connector c", Reply(202, ""), lambda it: it.resume("c")),
        (READ, "Connector c not found", Reply(200, {"offsets": []}), lambda it: it.read_offsets("c")),
        ("DELETE /connectors/c", "Connector c not found", Reply(204, ""), lambda it: it.delete("c")),
    ],
    ids=["alter", "stop", "pause", "resume", "read", "delete"],
)
def test_a_worker_that_has_just_started_is_not_believed_that_there_is_no_such_connector(
    connect_to: Connect, worker: Worker, *, call: str, says: str, then: Reply, do: Callable[[ConnectRest], object]
) -> None:
    """It answers before it has read the configurations; its answer on the configuration itself counts."""
    worker.answers(call, error(404, says), then)
    worker.answers(INFO, KNOWN)

    do(connect_to(worker.url))

    assert worker.calls[:3] == [call, INFO, call]


def test_a_worker_that_never_gets_to_know_a_connector_is_reported_as_not_ready(
    connect_to: Connect, worker: Worker, time: FakeTime
) -> None:
    """Its two answers contradict each other until the timeout ends, so the connector is not reported as unknown."""
    worker.answers("PUT /connectors/c/resume", error(404, "Unknown connector c"))
    worker.answers(INFO, KNOWN)

    with pytest.raises(NotReady, match=r"Unknown connector c.*knows the connector, so it may still be starting"):
        connect_to(worker.url, timeout=10).resume("c")

    assert 5 < sum(time.slept) <= 10


def test_messages_say_what_to_do_next(connect_to: Connect, worker: Worker) -> None:
    """Connect's short refusals get a hint; a 404 that is not Connect's names the base URL."""
    worker.answers(PATCH, error(500, "Failed to alter consumer group offsets for connector c"))
    with pytest.raises(Rejected, match=r"partition does not exist, or the worker has no right to alter this group"):
        connect_to(worker.url).write_offsets("c", CHANGES)

    with pytest.raises(NotReady, match=rf"{worker.url} answers 404 without.*Check the base URL"):
        connect_to(worker.url, timeout=2).connectors()


def test_redirects_are_not_followed(connect_to: Connect, worker: Worker) -> None:
    """A redirect would turn a PUT into a GET; it is reported instead."""
    worker.answers(STOP, Reply(302, "", location="https://u:hidden@other.example.com/x?token=hidden"))

    with pytest.raises(NotReady, match=r"redirects to https://other\.example\.com/x") as caught:
        connect_to(worker.url).stop("c")

    assert "hidden" not in str(caught.value)
    assert worker.calls == [STOP]
