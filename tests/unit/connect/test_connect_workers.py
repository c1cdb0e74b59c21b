"""Several Connect workers, and workers that do not answer: which calls are sent again, and to which worker."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest
import requests

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.exceptions import (
    NobodyThere,
    NotReady,
    OutcomeUnknown,
    RebalanceInProgress,
    StoreError,
    Unreachable,
)
from tests.support.workers.endless import HEAD, fixed, server
from tests.support.workers.scripted_worker import FakeTime, Reply, Worker

Connect = Callable[..., ConnectRest]
STOP = "PUT /connectors/c/stop"
OK = Reply(200, ["b", "a"])


def test_the_next_worker_gets_the_request_if_one_is_gone(
    connect_to: Connect, start_worker: Callable[..., Worker], closed_url: str
) -> None:
    """A worker that is down is skipped, also by changes, and is not called first again."""
    first, second = start_worker(), start_worker()
    second.answers(STOP, Reply(204))
    second.answers("GET /connectors", OK)
    store = connect_to(closed_url, first.url, second.url)  # the first of the two is still starting: Jetty's 404

    store.stop("c")
    assert store.connectors() == ["a", "b"]

    assert first.calls == [STOP]
    assert second.calls == [STOP, "GET /connectors"]


def test_a_change_that_may_have_arrived_goes_to_no_other_worker(
    connect_to: Connect, start_worker: Callable[..., Worker]
) -> None:
    """If the answer is lost after the request was sent, the outcome is unknown; nothing is sent twice."""
    first, second = start_worker(), start_worker()
    first.answers(STOP, Reply(hang_up=True))
    second.answers(STOP, Reply(204))

    with pytest.raises(OutcomeUnknown, match="First check the current state"):
        connect_to(first.url, second.url).stop("c")

    assert (first.calls, second.calls) == ([STOP], [])


def test_a_read_may_go_to_another_worker_after_any_failure(
    connect_to: Connect, start_worker: Callable[..., Worker]
) -> None:
    """Reading from the next worker is harmless."""
    first, second = start_worker(), start_worker()
    first.answers("GET /connectors", Reply(hang_up=True))
    second.answers("GET /connectors", OK)

    assert connect_to(first.url, second.url).connectors() == ["a", "b"]


def test_a_change_without_an_answer_in_time_is_an_unknown_outcome(
    connect_to: Connect, worker: Worker, closed_url: str
) -> None:
    """A read timeout of a change is neither failure nor success, also while a connection error is handled."""
    worker.answers(STOP, Reply(wait=True))
    store = connect_to(worker.url, change_timeout=0.1)

    def stop_while_another_error_is_handled() -> None:
        try:
            requests.get(closed_url, timeout=5)
        except requests.ConnectionError:
            store.stop("c")

    with pytest.raises(OutcomeUnknown, match=r"'c'.*read timeout"):
        stop_while_another_error_is_handled()

    assert worker.calls == [STOP]


def test_a_read_without_an_answer_in_time_is_unreachable(connect_to: Connect, worker: Worker) -> None:
    """A worker that does not answer is reported within the read timeout."""
    worker.answers("GET /connectors", Reply(wait=True))

    with pytest.raises(Unreachable, match="read timeout"):
        connect_to(worker.url, read_timeout=0.05, timeout=0).connectors()


def test_nobody_there_names_every_address(connect_to: Connect, closed_url: str, time: FakeTime) -> None:
    """If all connections are refused, the error has each URL and the reason, after the timeout."""
    with pytest.raises(Unreachable) as caught:
        connect_to(closed_url, "http://no-such-host.invalid:8083", timeout=5).stop("c")

    assert type(caught.value) is Unreachable
    assert f"{closed_url} does not answer (connection refused)" in str(caught.value)
    assert "http://no-such-host.invalid:8083 does not answer" in str(caught.value)
    assert "stop connector 'c'" in str(caught.value)
    assert 0 < sum(time.slept) <= 5


def test_a_change_is_sent_once_the_worker_is_back(
    connect_to: Connect, time: FakeTime, start_worker: Callable[..., Worker], closed_url: str
) -> None:
    """A refused connection is tried again, also for changes: nothing was sent."""
    workers: list[Worker] = []

    def come_back() -> None:
        workers.append(start_worker(port=int(closed_url.rpartition(":")[2])))
        workers[0].answers(STOP, Reply(204))

    time.meanwhile = come_back

    connect_to(closed_url).stop("c")

    assert [worker.calls for worker in workers] == [[STOP]]


def test_a_connection_that_never_comes_about_is_given_up(connect_to: Connect) -> None:
    """A worker with a full queue of connections is Unreachable after the connect timeout, also for changes."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.settimeout(0)
            one.connect_ex(listening.getsockname())
        try:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            with pytest.raises(Unreachable, match="no connection within the connect timeout"):
                connect_to(url, connect_timeout=0.1, timeout=0).stop("c")
        finally:
            for one in waiting:
                one.close()


@pytest.mark.parametrize("timeout", [60.0, 300.0])
def test_a_long_wait_is_a_short_log(
    connect_to: Connect, closed_url: str, time: FakeTime, caplog: pytest.LogCaptureFixture, timeout: float
) -> None:
    """A wrong port made a line each tenth of a second; a worker that is asked less often is found within a second."""
    caplog.set_level("INFO")

    with pytest.raises(Unreachable):
        connect_to(closed_url, timeout=timeout).connectors()

    lines = [record.getMessage() for record in caplog.records if "Trying again" in record.getMessage()]
    assert "does not answer (connection refused)" in lines[0]
    assert lines[0].endswith(f"Trying again for up to {timeout:.0f} s.")
    assert len(lines) <= 5 + timeout / 10
    assert max(time.slept) <= 1
    assert len(time.slept) < timeout + 10


@pytest.mark.parametrize(
    ("reply", "error"),
    [(Reply(409, {"error_code": 409, "message": "rebalance"}), RebalanceInProgress), (Reply(404, "Jetty's"), NotReady)],
    ids=["rebalance", "starting"],
)
def test_a_worker_that_answers_is_asked_ten_times_a_second(
    connect_to: Connect, worker: Worker, time: FakeTime, reply: Reply, error: type[StoreError]
) -> None:
    """A connector may be down meanwhile."""
    worker.answers("GET /connectors", reply)

    with pytest.raises(error):
        connect_to(worker.url, timeout=2).connectors()

    assert max(time.slept) <= 0.1


@pytest.mark.parametrize("url", ["", "http://no-such-host.invalid:8083"], ids=["closed port", "unknown name"])
def test_who_only_observes_does_not_wait_for_nobody(
    connect_to: Connect, closed_url: str, time: FakeTime, url: str
) -> None:
    """A typo in a connection shows at once; another worker that answers is enough."""
    with pytest.raises(NobodyThere, match="Check host, port and scheme of the connection"):
        connect_to(url or closed_url, patient=False).connectors()

    assert time.slept == []


def test_a_worker_that_was_there_is_waited_for(connect_to: Connect, time: FakeTime) -> None:
    """A worker that has answered before may be restarting."""
    with server(fixed(HEAD + b'\r\n["a"]')) as url:
        store = connect_to(url, patient=False)
        assert store.connectors() == ["a"]

    with pytest.raises(Unreachable) as raised:
        store.connectors()

    assert not isinstance(raised.value, NobodyThere)
    assert sum(time.slept) > 50
