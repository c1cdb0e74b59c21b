"""Sends calls to the workers of a Connect cluster, with all timeouts and retries of the REST API.

A call that reads is repeated whenever it failed for a temporary reason. A call that changes something is repeated, or
sent to the next worker, only if it certainly had no effect: no connection was made, or the refusal proves it. Any other
failure raises :class:`~.exceptions.OutcomeUnknown`, and the caller reads the state back. Before each request that
changes something, :mod:`~.fencing` checks whether this process may still do so.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import requests
import tenacity
from requests.utils import get_environ_proxies

from airflow_provider_connect_offsets import fencing
from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, make_attempts
from airflow_provider_connect_offsets.connect.rest import unanswered
from airflow_provider_connect_offsets.connect.rest.bounded import Reply, send
from airflow_provider_connect_offsets.connect.rest.bounded import session as bounded_session
from airflow_provider_connect_offsets.connect.rest.endpoint import (
    BasicAuth,
    BearerToken,
    ConnectEndpoint,
    OAuthClient,
    without_secrets,
)
from airflow_provider_connect_offsets.connect.rest.refusals import Answer, Call, Refusal, refusal_of
from airflow_provider_connect_offsets.connect.rest.tokens import AccessTokens, basic
from airflow_provider_connect_offsets.exceptions import (
    InvalidInput,
    NobodyThere,
    NotReady,
    Unreachable,
)

log = logging.getLogger(__name__)
# A list of offsets may be this many times as large as any other answer.
_LISTS = 16
_LARGEST_TOKEN = 1 << 20


@dataclass(frozen=True, slots=True)
class _Done:
    """A call that succeeded, with its JSON body (None if it has none)."""

    body: Any


class Transport:
    """Sends calls to the workers of one Connect cluster and returns bodies or raises store errors.

    Args:
        endpoint: Addresses and credentials of the cluster.
        timeout: Seconds during which a call that may be repeated is repeated (rebalances, workers that start).
        clock: Measures the timeout.
        patient: Whether a call is repeated even if nobody is, and nobody ever was, at any address.

    Raises:
        InvalidInput: A file of the endpoint does not exist.
    """

    def __init__(
        self, endpoint: ConnectEndpoint, *, timeout: float, clock: Clock = SYSTEM_CLOCK, patient: bool = True
    ) -> None:
        self._endpoint = endpoint
        self._is_patient = patient
        self._timeout = timeout
        self._clock = clock
        self._worker = 0
        self._verify = _verify(endpoint)
        self._proxies = {url: dict(get_environ_proxies(url)) for url in endpoint.urls}
        self._session = _session(endpoint)
        auth = endpoint.auth
        self._tokens = AccessTokens(auth, self._post_form, clock) if isinstance(auth, OAuthClient) else None

    @property
    def url(self) -> str:
        """Base URL of the worker that answered last."""
        return self._endpoint.urls[self._worker]

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def send(self, call: Call) -> Any:
        """Send ``call`` and return the JSON body of the answer, None if it has none.

        Raises:
            StoreError: The call was refused or not answered; see :mod:`.refusals`.
        """
        retry = tenacity.retry_if_result(lambda outcome: isinstance(outcome, Refusal) and outcome.repeat)
        reported = _Reported(self._clock, self._timeout)
        repeating = make_attempts(retry, timeout=self._timeout, clock=self._clock, wait=_Pause(), before_sleep=reported)
        outcome = repeating(self._send_surely, call)
        if isinstance(outcome, Refusal):
            raise outcome.error
        return outcome.body

    def _send_surely(self, call: Call) -> _Done | Refusal:
        """Send a call, and confirm an answer that the connector, or its status, is unknown.

        A starting worker gives this answer for every connector until it has read the configurations. It answers the
        call ``if_unknown`` only after that, because this call goes through the herder's queue (like KIP-875's stop).
        """
        outcome = self._send_once(call)
        if call.if_unknown is None or not isinstance(outcome, Refusal) or not outcome.doubted:
            return outcome
        confirmation = self._send_once(call.if_unknown)
        if isinstance(confirmation, _Done):
            known = f"{outcome.error} But the worker knows the connector, so it may still be starting."
            return Refusal(NotReady(known), repeat=True)
        return outcome if confirmation.doubted and not outcome.repeat else confirmation

    def _send_once(self, call: Call) -> _Done | Refusal:
        """Send the call to the workers in turn, first to the one that answered last, until one answers."""
        refusals = []
        for number in self._in_turn():
            outcome = self._ask(self._endpoint.urls[number], call)
            if isinstance(outcome, _Done) or not outcome.elsewhere:
                self._worker, self._is_patient = number, True
                return outcome
            refusals.append(outcome)
        nobody = unanswered.combine_refusals(call, refusals)
        if nobody.absent and not self._is_patient:
            return replace(nobody, error=NobodyThere(str(nobody.error)), repeat=False)
        self._is_patient = True
        return nobody

    def _in_turn(self) -> Iterator[int]:
        count, first = len(self._endpoint.urls), self._worker
        return ((first + step) % count for step in range(count))

    def _ask(self, url: str, call: Call) -> _Done | Refusal:
        try:
            response = self._request(url, call)
            if response.status == 401 and self._tokens is not None:
                # Refused, so nothing was done; the token may have been revoked before its time.
                self._tokens.forget()
                response = self._request(url, call)
        except requests.RequestException as error:
            return unanswered.refusal_of_failure(url, call, error)
        except Unreachable as error:  # the token endpoint: nothing reached the worker
            return Refusal(error, repeat=True)
        return _read(url, call, response)

    def _request(self, url: str, call: Call) -> Reply:
        endpoint = self._endpoint
        timeout = endpoint.change_timeout if call.changes else endpoint.read_timeout
        headers = self._authorization()
        if call.changes:
            # A change gets a new connection: if a worker closed a kept-alive one just then, that would look like a lost
            # answer.
            self._session.close()
            fencing.ask()
        return send(
            self._session,
            call.method,
            url + call.path,
            seconds=endpoint.connect_timeout + timeout,
            largest=endpoint.largest_answer * (_LISTS if call.lists_offsets else 1),
            json=call.body,
            headers=headers,
            timeout=(endpoint.connect_timeout, timeout),
            verify=self._verify,
            proxies=self._proxies[url],
            allow_redirects=False,  # following one would turn a PUT into a GET
        )

    def _authorization(self) -> dict[str, str]:
        auth = self._endpoint.auth
        if self._tokens is not None:
            return {"Authorization": f"Bearer {self._tokens.current_token()}"}
        if isinstance(auth, BasicAuth):
            return {"Authorization": basic(auth.login, auth.password)}
        return {"Authorization": f"Bearer {auth.token}"} if isinstance(auth, BearerToken) else {}

    def _post_form(self, url: str, form: dict[str, str], headers: dict[str, str]) -> Reply:
        endpoint = self._endpoint
        # Not through the session, whose headers are for Connect's workers alone.
        with bounded_session() as session:
            session.cert = self._session.cert
            return send(
                session,
                "POST",
                url,
                seconds=endpoint.connect_timeout + endpoint.read_timeout,
                largest=_LARGEST_TOKEN,
                data=form,
                headers=headers,
                timeout=(endpoint.connect_timeout, endpoint.read_timeout),
                verify=self._verify,
                proxies=dict(get_environ_proxies(url)),
                allow_redirects=False,
            )


def _session(endpoint: ConnectEndpoint) -> requests.Session:
    # Without trust_env: REQUESTS_CA_BUNDLE would override the connection's ``ca``, and .netrc would add a login. Of the
    # environment only proxies (_proxies) and a default CA bundle (_verify) are used.
    session = bounded_session()
    session.headers.update({"Accept": "application/json", **endpoint.headers})
    if endpoint.client_cert is not None:
        session.cert = (endpoint.client_cert, endpoint.client_key) if endpoint.client_key else endpoint.client_cert
    return session


def _verify(endpoint: ConnectEndpoint) -> str | bool:
    """Return the CA bundle of the endpoint, else of the environment, else True: then requests uses its own bundle."""
    for what, path in (("ca", endpoint.ca), ("client_cert", endpoint.client_cert), ("client_key", endpoint.client_key)):
        if path is not None and not Path(path).exists():
            raise InvalidInput(f"{what} of the Connect endpoint is {path}, a file that does not exist on this machine.")
    return endpoint.ca or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True


class _Pause(tenacity.wait.wait_base):
    """The wait before another attempt: at most 0.1 s, as a connector may be down; at most 1 s if nobody answers."""

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        """Return how long to wait."""
        refused = retry_state.outcome.result() if retry_state.outcome else None
        error = refused.error if isinstance(refused, Refusal) else None
        is_silent = isinstance(error, Unreachable) and not isinstance(error, NotReady)
        return min(0.01 * 2.0 ** min(retry_state.attempt_number, 10), 1.0 if is_silent else 0.1)


class _Reported:
    """Logs why a call is repeated: at once, then at intervals that grow to 10 s, so that the log is not flooded."""

    def __init__(self, clock: Clock, timeout: float) -> None:
        self._clock, self._until = clock, clock.now() + timeout
        self._next, self._interval = clock.now(), 1.0

    def __call__(self, state: tenacity.RetryCallState) -> None:
        """Log the refusal, if the interval has passed."""
        now = self._clock.now()
        if state.outcome is None or now < self._next:
            return
        self._next, self._interval = now + self._interval, min(self._interval * 2, 10.0)
        log.info("%s Trying again for up to %.0f s.", state.outcome.result().error, self._until - now)


def _read(url: str, call: Call, reply: Reply) -> _Done | Refusal:
    text = reply.body.decode("utf-8", errors="replace")
    location = without_secrets(reply.location)
    if 200 <= reply.status < 300:
        try:
            return _Done(json.loads(text) if text else None)
        except (ValueError, RecursionError):
            log.debug("%s answered %s without JSON", url, reply.status)
    return refusal_of(call, Answer(url, reply.status, text, location))
