"""OAuth client credentials: one token for many calls, renewed in time, and never shown."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import OAuthClient
from airflow_provider_connect_offsets.exceptions import AccessDenied, OutcomeUnknown, Unreachable
from tests.support.workers.scripted_worker import FakeTime, Reply, Worker

Connect = Callable[..., ConnectRest]
OK = Reply(200, [])


@pytest.fixture
def issuer(start_worker: Callable[..., Worker]) -> Worker:
    """A token endpoint that issues a new token each time, good for 300 s."""
    issuer = start_worker()
    tokens = [Reply(200, {"access_token": f"t{n}", "expires_in": 300, "token_type": "Bearer"}) for n in range(1, 9)]
    issuer.answers("POST /token", *tokens)
    return issuer


@pytest.fixture
def oauth(issuer: Worker) -> OAuthClient:
    """A client of that endpoint."""
    return OAuthClient(f"{issuer.url}/token", "id", "s3cret", scope="connect")


def _sent_tokens(worker: Worker) -> list[str]:
    return [request.headers["Authorization"] for request in worker.requests]


def test_a_token_is_kept_until_shortly_before_it_expires(
    connect_to: Connect, worker: Worker, issuer: Worker, oauth: OAuthClient, time: FakeTime
) -> None:
    """Many calls, one token; the next one is fetched 30 s before the end."""
    worker.answers("GET /connectors", OK)
    store = connect_to(worker.url, auth=oauth, headers={"X-Key": "for Connect only"})

    store.connectors()
    time.seconds += 269
    store.connectors()
    time.seconds += 2
    store.connectors()

    assert _sent_tokens(worker) == ["Bearer t1", "Bearer t1", "Bearer t2"]
    asked = issuer.requests[0]
    assert asked.body == "grant_type=client_credentials&scope=connect"
    assert asked.headers["Authorization"] == "Basic aWQ6czNjcmV0"
    assert "X-Key" not in asked.headers


def test_a_revoked_token_is_replaced_once(connect_to: Connect, worker: Worker, oauth: OAuthClient) -> None:
    """A 401 did nothing, so even a change is sent again, with a new token."""
    worker.answers("PUT /connectors/c/stop", Reply(401, ""), Reply(204))

    connect_to(worker.url, auth=oauth).stop("c")

    assert _sent_tokens(worker) == ["Bearer t1", "Bearer t2"]


def test_credentials_that_stay_refused_are_denied(connect_to: Connect, worker: Worker, oauth: OAuthClient) -> None:
    """Where the new token is refused as well, that is the answer."""
    worker.answers("PUT /connectors/c/stop", Reply(401, ""))

    with pytest.raises(AccessDenied, match="401"):
        connect_to(worker.url, auth=oauth).stop("c")

    assert len(worker.calls) == 2


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(401, {"error": "invalid_client", "error_description": "s3cret is wrong"}), "status 401, invalid_client"),
        (Reply(400, {"error": "invalid_scope"}), "status 400, invalid_scope"),
        (Reply(200, {"nothing": 1}), "status 200"),
        (Reply(200, "<html>"), "status 200"),
    ],
)
def test_a_refused_client_is_denied(
    connect_to: Connect, worker: Worker, issuer: Worker, oauth: OAuthClient, reply: Reply, text: str
) -> None:
    """The error names the token endpoint, the client and the OAuth error, and shows no secret; Connect isn't asked."""
    issuer.answers("POST /token", reply)

    with pytest.raises(AccessDenied, match=text) as caught:
        connect_to(worker.url, auth=oauth).stop("c")

    assert "'id'" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert worker.calls == []


def test_a_token_endpoint_that_is_down_is_waited_for(
    connect_to: Connect, worker: Worker, issuer: Worker, oauth: OAuthClient, time: FakeTime
) -> None:
    """Without a token nothing was sent to Connect, so it is tried again, and never an unknown outcome."""
    worker.answers("PUT /connectors/c/stop", Reply(204))
    token = Reply(200, {"access_token": "t"})
    issuer.answers("POST /token", Reply(503, ""), Reply(hang_up=True), token)
    connect_to(worker.url, auth=oauth).stop("c")
    assert len(time.slept) == 2

    issuer.answers("POST /token", Reply(hang_up=True))
    with pytest.raises(Unreachable, match="OAuth token endpoint") as caught:
        connect_to(worker.url, auth=oauth, timeout=1).stop("c")
    assert not isinstance(caught.value, OutcomeUnknown)
