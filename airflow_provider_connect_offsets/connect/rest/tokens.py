"""OAuth 2 access tokens by client credentials, fetched when first needed and renewed shortly before they expire."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable

import requests

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.connect.rest.bounded import Reply
from airflow_provider_connect_offsets.connect.rest.endpoint import OAuthClient, without_secrets
from airflow_provider_connect_offsets.exceptions import AccessDenied, Unreachable

# Seconds before expiry at which a token is renewed, so that none expires while a call is forwarded to the leader.
_MARGIN = 30.0
_UNSTATED_LIFETIME = 60.0


def basic(login: str, password: str) -> str:
    """Return an ``Authorization`` header for basic authentication (in UTF-8, as RFC 7617 advises)."""
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode("ascii")


class AccessTokens:
    """The current token of one OAuth client.

    Args:
        client: Token URL and credentials.
        post: Sends a form, given URL, fields and headers.
        clock: Measures the lifetime of tokens.
    """

    def __init__(
        self,
        client: OAuthClient,
        post: Callable[[str, dict[str, str], dict[str, str]], Reply],
        clock: Clock,
    ) -> None:
        self._client = client
        self._post = post
        self._clock = clock
        self._token = ""
        self._valid_until = float("-inf")

    def current_token(self) -> str:
        """Return a valid token.

        Raises:
            AccessDenied: The client gets no token.
            Unreachable: The token endpoint does not answer, or answers with a server error.
        """
        if self._clock.now() >= self._valid_until:
            self._fetch()
        return self._token

    def forget(self) -> None:
        """Fetch a new token next time, because the present one was refused."""
        self._valid_until = float("-inf")

    def _fetch(self) -> None:
        client = self._client
        form = {"grant_type": "client_credentials"} | ({"scope": client.scope} if client.scope else {})
        requested_at = self._clock.now()
        try:
            response = self._post(
                client.token_url, form, {"Authorization": basic(client.client_id, client.client_secret)}
            )
        except requests.RequestException as error:
            # Not chained, because the library's message may show the whole request.
            kind = type(error).__name__
            raise Unreachable(f"{self._endpoint} does not answer ({kind}). Check its URL.") from None
        self._token, lifetime = self._read(response)
        self._valid_until = requested_at + lifetime - min(_MARGIN, lifetime / 2)

    @property
    def _endpoint(self) -> str:
        return f"The OAuth token endpoint {without_secrets(self._client.token_url)}"

    def _read(self, reply: Reply) -> tuple[str, float]:
        if reply.status >= 500:
            raise Unreachable(f"{self._endpoint} answers {reply.status}; try again later.")
        try:
            body = json.loads(reply.body)
            token, lifetime = _check_token(body["access_token"]), float(body.get("expires_in") or _UNSTATED_LIFETIME)
            return token, lifetime if math.isfinite(lifetime) else _UNSTATED_LIFETIME
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            code = _error_code(reply)
            text = f"{self._endpoint} gives client {self._client.client_id!r} no token ({code})."
            raise AccessDenied(f"{text} Check client id, client secret and scope.") from None


def _check_token(token: object) -> str:
    """Return a token that can be sent in a header; raises :class:`TypeError` for anything else."""
    if not isinstance(token, str) or not token or not token.isascii() or not token.isprintable():
        raise TypeError("no token")
    return token


def _error_code(reply: Reply) -> str:
    """Return RFC 6749's error code, without the rest of the body, which may repeat what was sent."""
    try:
        code = json.loads(reply.body)["error"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return f"status {reply.status}"
    return f"status {reply.status}, {str(code)[:80]}"
