"""What it means that nobody answered a call, or not completely: whether it was sent, and whether it may be repeated."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import requests
import urllib3.exceptions

from airflow_provider_connect_offsets.connect.rest.bounded import TooLarge, TooLate
from airflow_provider_connect_offsets.connect.rest.refusals import Call, Refusal, refusal_of_lost
from airflow_provider_connect_offsets.exceptions import ConnectionRefused, NotReady, Unreachable


def refusal_of_failure(url: str, call: Call, error: requests.RequestException) -> Refusal:
    """Return the refusal for a call without a complete answer."""
    chain = list(_chain(error))
    untrusted = any(isinstance(link, ssl.SSLCertVerificationError) for link in chain)
    unsent = untrusted or isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError)
    unsent = unsent or any(isinstance(link, urllib3.exceptions.NewConnectionError) for link in chain)
    what = f"Can't {call.purpose}: {url} does not answer ({_reason(error, chain)})."
    if call.changes and not unsent:
        return refusal_of_lost(call, what)
    # A proxy that refuses a connection is no evidence about the worker behind it.
    refused = not isinstance(error, requests.exceptions.ProxyError) and any(
        isinstance(link, ConnectionRefusedError) for link in chain
    )
    kind = ConnectionRefused if refused else Unreachable
    absent = refused or any(isinstance(link, urllib3.exceptions.NameResolutionError) for link in chain)
    may_pass = not untrusted and not isinstance(error, TooLarge)
    return Refusal(kind(what), repeat=may_pass, elsewhere=True, absent=absent)


def _reason(error: requests.RequestException, chain: list[BaseException]) -> str:
    """Return a short reason; the messages of the libraries are long and show what was sent."""
    if isinstance(error, requests.ConnectTimeout):
        return "no connection within the connect timeout"
    if isinstance(error, TooLate | TooLarge):
        return str(error)
    if isinstance(error, requests.ReadTimeout):
        return "no answer within the read timeout"
    for link in chain:
        if isinstance(link, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {link.verify_message}; check ca"
        if isinstance(link, OSError) and link.strerror and not isinstance(link, requests.RequestException):
            return str(link.strerror).lower()
    return "the connection was lost" if isinstance(error, requests.ConnectionError) else type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and the causes that requests and urllib3 wrapped in it.

    ``__context__`` is not followed: it may be an error that the caller was handling.
    """
    yield error
    for inner in (*error.args, getattr(error, "reason", None), error.__cause__):
        if isinstance(inner, BaseException):
            yield from _chain(inner)


def combine_refusals(call: Call, refusals: list[Refusal]) -> Refusal:
    """Combine the refusals of all workers."""
    start = f"Can't {call.purpose}: "
    reasons = " ".join(str(refusal.error).removeprefix(start) for refusal in refusals)
    repeat = any(refusal.repeat for refusal in refusals)
    if any(isinstance(refusal.error, NotReady) for refusal in refusals):
        return Refusal(NotReady(start + reasons), repeat=repeat)
    refused = all(isinstance(refusal.error, ConnectionRefused) for refusal in refusals)
    kind = ConnectionRefused if refused else Unreachable
    advice = "Check host, port and scheme of the connection, and that Kafka Connect runs there."
    absent = all(refusal.absent for refusal in refusals)
    return Refusal(kind(f"{start}{reasons} {advice}"), repeat=repeat, absent=absent)
