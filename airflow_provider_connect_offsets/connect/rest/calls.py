"""How a call travels to a Connect cluster: which worker, how long, how often. Time limits and retries stand only here.

A reading call may be repeated whenever it failed for a passing reason. A changing call is repeated, or sent to the
next worker, only where it is certain that nothing was done: the connection never came about, or the refusal says so.
Whatever is not certain becomes :class:`OutcomeUnknown`, and the caller reads back.
"""

from __future__ import annotations

import json
import logging
import os
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import tenacity
import urllib3.exceptions
from requests.utils import get_environ_proxies

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK, Clock, retrying
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
    ConnectionRefused,
    InvalidInput,
    NotReady,
    OutcomeUnknown,
    Unreachable,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Done:
    """A call that succeeded, with its JSON body (None where there is none)."""

    body: Any


class Transport:
    """Sends calls to the workers of one Connect cluster and turns what comes back into a body or a typed error.

    ``timeout``: for how many seconds a call that may be repeated is begun anew (rebalances, workers that start).
    """

    def __init__(self, endpoint: ConnectEndpoint, *, timeout: float, clock: Clock = SYSTEM_CLOCK) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._clock = clock
        self._worker = 0
        self._verify = _verify(endpoint)
        self._session = _session(endpoint)
        auth = endpoint.auth
        self._tokens = AccessTokens(auth, self._post_form, clock) if isinstance(auth, OAuthClient) else None

    @property
    def url(self) -> str:
        """The base URL of the worker that answered last."""
        return self._endpoint.urls[self._worker]

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    def send(self, call: Call) -> Any:
        """Send ``call`` and return the JSON body of the answer, None where it has none.

        Raises the :class:`StoreError` that fits the refusal.
        """
        retry = tenacity.retry_if_result(lambda outcome: isinstance(outcome, Refusal) and outcome.repeat)
        repeating = retrying(retry, timeout=self._timeout, clock=self._clock, before_sleep=_log_refusal)
        outcome = repeating(self._send_surely, call)
        if isinstance(outcome, Refusal):
            raise outcome.error
        return outcome.body

    def _send_surely(self, call: Call) -> _Done | Refusal:
        """Believe no worker at once that it knows no such connector, or none with a status.

        One that starts says so of each, for a moment: it answers before it has read the configurations. What
        ``if_unknown`` asks for it answers after that (it goes through the herder's queue, as KIP-875's stop does).
        """
        outcome = self._send_once(call)
        if call.if_unknown is None or not isinstance(outcome, Refusal) or not outcome.doubted:
            return outcome
        told = self._send_once(call.if_unknown)
        if isinstance(told, _Done):
            return Refusal(NotReady(f"{outcome.error} It knows the connector, and may still be starting."), repeat=True)
        return outcome if told.doubted and not outcome.repeat else told

    def _send_once(self, call: Call) -> _Done | Refusal:
        """Ask the workers in turn, the one that answered last first, until one has something to say."""
        refusals = []
        for number in self._in_turn():
            outcome = self._ask(self._endpoint.urls[number], call)
            if isinstance(outcome, _Done) or not outcome.elsewhere:
                self._worker = number
                return outcome
            refusals.append(outcome)
        return _nobody(call, refusals)

    def _in_turn(self) -> Iterator[int]:
        count, first = len(self._endpoint.urls), self._worker
        return ((first + step) % count for step in range(count))

    def _ask(self, url: str, call: Call) -> _Done | Refusal:
        try:
            response = self._request(url, call)
            if response.status_code == 401 and self._tokens is not None:
                # Refused, so nothing was done; the token may have been revoked before its time.
                self._tokens.forget()
                response = self._request(url, call)
        except requests.RequestException as error:
            return _failure(url, call, error)
        except Unreachable as error:  # the token endpoint: nothing reached the worker
            return Refusal(error, repeat=True)
        return _read(url, call, response)

    def _request(self, url: str, call: Call) -> requests.Response:
        endpoint = self._endpoint
        headers = self._authorization()
        if call.changes:
            # A change gets a connection of its own: where a worker closes a kept-alive one at that moment, it could
            # not be told apart from an answer that got lost.
            self._session.close()
        return self._session.request(
            call.method,
            url + call.path,
            json=call.body,
            headers=headers,
            timeout=(endpoint.connect_timeout, endpoint.change_timeout if call.changes else endpoint.read_timeout),
            verify=self._verify,
            proxies=_proxies(url),
            allow_redirects=False,  # following one would turn a PUT into a GET
        )

    def _authorization(self) -> dict[str, str]:
        auth = self._endpoint.auth
        if self._tokens is not None:
            return {"Authorization": f"Bearer {self._tokens.current()}"}
        if isinstance(auth, BasicAuth):
            return {"Authorization": basic(auth.login, auth.password)}
        return {"Authorization": f"Bearer {auth.token}"} if isinstance(auth, BearerToken) else {}

    def _post_form(self, url: str, form: dict[str, str], headers: dict[str, str]) -> requests.Response:
        # Not through the session: its headers are meant for Connect's workers alone.
        with requests.Session() as session:
            session.trust_env = False
            session.cert = self._session.cert
            timeout = (self._endpoint.connect_timeout, self._endpoint.read_timeout)
            return session.post(
                url,
                data=form,
                headers=headers,
                timeout=timeout,
                verify=self._verify,
                proxies=_proxies(url),
                allow_redirects=False,
            )


def _session(endpoint: ConnectEndpoint) -> requests.Session:
    session = requests.Session()
    # With trust_env, REQUESTS_CA_BUNDLE would win over the connection's own ``ca``, and .netrc over having no login.
    # What is wanted of the environment is taken on purpose: proxies (_proxies) and a CA bundle as a default (_verify).
    session.trust_env = False
    session.headers.update({"Accept": "application/json", **endpoint.headers})
    if endpoint.client_cert is not None:
        session.cert = (endpoint.client_cert, endpoint.client_key) if endpoint.client_key else endpoint.client_cert
    return session


def _verify(endpoint: ConnectEndpoint) -> str | bool:
    """Give the CA bundle that counts: the endpoint's own, else the environment's, else what requests ships with."""
    for what, path in (("ca", endpoint.ca), ("client_cert", endpoint.client_cert), ("client_key", endpoint.client_key)):
        if path is not None and not Path(path).exists():
            raise InvalidInput(f"File {path}, named as {what} of the Connect endpoint, does not exist on this machine.")
    return endpoint.ca or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True


def _proxies(url: str) -> dict[str, str]:
    return dict(get_environ_proxies(url))


def _log_refusal(state: tenacity.RetryCallState) -> None:
    if state.outcome is not None:
        log.info("%s Trying again in %.1f s.", state.outcome.result().error, state.upcoming_sleep)


def _read(url: str, call: Call, response: requests.Response) -> _Done | Refusal:
    text = response.content.decode("utf-8", errors="replace")
    location = without_secrets(response.headers.get("Location", ""))
    if 200 <= response.status_code < 300:
        try:
            return _Done(json.loads(text) if text else None)
        except (ValueError, RecursionError):
            log.debug("%s answered %s with something else than JSON", url, response.status_code)
    return refusal_of(call, Answer(url, response.status_code, text, location))


def _failure(url: str, call: Call, error: requests.RequestException) -> Refusal:
    """Tell what it means that no whole answer came."""
    chain = list(_chain(error))
    untrusted = any(isinstance(link, ssl.SSLCertVerificationError) for link in chain)
    unsent = untrusted or isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError)
    unsent = unsent or any(isinstance(link, urllib3.exceptions.NewConnectionError) for link in chain)
    what = f"Can't {call.purpose}: {url} gives no answer ({_reason(error, chain)})."
    if call.changes and not unsent:
        text = "Whether it was done, or still will be, is unknown: read the present state before anything else."
        return Refusal(OutcomeUnknown(f"{what} {text}"))
    # A proxy that refuses says nothing of the worker behind it.
    refused = not isinstance(error, requests.exceptions.ProxyError) and any(
        isinstance(link, ConnectionRefusedError) for link in chain
    )
    kind = ConnectionRefused if refused else Unreachable
    return Refusal(kind(what), repeat=not untrusted, elsewhere=True)


def _reason(error: requests.RequestException, chain: list[BaseException]) -> str:
    """Say in a few words why; the libraries' own texts are long, and show what was sent."""
    if isinstance(error, requests.ConnectTimeout):
        return "no connection within the connect timeout"
    if isinstance(error, requests.ReadTimeout):
        return "none came within the read timeout"
    for link in chain:
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {link.verify_message}; check ca"
        if isinstance(link, OSError) and link.strerror and not isinstance(link, requests.RequestException):
            return str(link.strerror).lower()
    return "the connection broke off" if isinstance(error, requests.ConnectionError) else type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Walk to the causes that requests and urllib3 wrapped.

    Not along ``__context__``: that leads into whatever the caller was handling when it called.
    """
    yield error
    for inner in (*error.args, getattr(error, "reason", None), error.__cause__):
        if isinstance(inner, BaseException):
            yield from _chain(inner)


def _nobody(call: Call, refusals: list[Refusal]) -> Refusal:
    """Make one refusal of those of all workers."""
    start = f"Can't {call.purpose}: "
    told = " ".join(str(refusal.error).removeprefix(start) for refusal in refusals)
    repeat = any(refusal.repeat for refusal in refusals)
    if any(isinstance(refusal.error, NotReady) for refusal in refusals):
        return Refusal(NotReady(start + told), repeat=repeat)
    refused = all(isinstance(refusal.error, ConnectionRefused) for refusal in refusals)
    kind = ConnectionRefused if refused else Unreachable
    advice = "Check host, port and scheme of the connection, and that Kafka Connect runs there."
    return Refusal(kind(f"{start}{told} {advice}"), repeat=repeat)
