"""OAuth 2 access tokens by client credentials: fetched when first needed, kept until shortly before they expire."""

from __future__ import annotations

import base64
from collections.abc import Callable

import requests

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.connect.rest.endpoint import OAuthClient, without_secrets
from airflow_provider_connect_offsets.exceptions import AccessDenied, Unreachable

# Renewed this long before the end, so that no token expires on its way to the leader.
_MARGIN = 30.0
_UNSTATED_LIFETIME = 60.0


def basic(login: str, password: str) -> str:
    """Write an ``Authorization`` header for basic authentication (in UTF-8, as RFC 7617 advises)."""
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode("ascii")


class AccessTokens:
    """The current token of one OAuth client. ``post`` sends a form: URL, fields, headers."""

    def __init__(
        self,
        client: OAuthClient,
        post: Callable[[str, dict[str, str], dict[str, str]], requests.Response],
        clock: Clock,
    ) -> None:
        self._client = client
        self._post = post
        self._clock = clock
        self._token = ""
        self._good_until = float("-inf")

    def current(self) -> str:
        """Give a token that is still good.

        Raises :class:`AccessDenied` where the client is refused one, :class:`Unreachable` where nobody answers.
        """
        if self._clock.now() >= self._good_until:
            self._fetch()
        return self._token

    def forget(self) -> None:
        """Fetch a new one next time: the present one was refused."""
        self._good_until = float("-inf")

    def _fetch(self) -> None:
        client = self._client
        form = {"grant_type": "client_credentials"} | ({"scope": client.scope} if client.scope else {})
        asked_at = self._clock.now()
        try:
            response = self._post(
                client.token_url, form, {"Authorization": basic(client.client_id, client.client_secret)}
            )
        except requests.RequestException as error:
            # Not chained: the library's text may show the whole request.
            kind = type(error).__name__
            text = f"The OAuth token endpoint {self._shown} gives no answer ({kind}). Check its URL."
            raise Unreachable(text) from None
        self._token, lifetime = self._read(response)
        self._good_until = asked_at + lifetime - min(_MARGIN, lifetime / 2)

    @property
    def _shown(self) -> str:
        return without_secrets(self._client.token_url)

    def _read(self, response: requests.Response) -> tuple[str, float]:
        if response.status_code >= 500:
            text = f"The OAuth token endpoint {self._shown} answers {response.status_code}; try again later."
            raise Unreachable(text)
        try:
            body = response.json()
            return str(body["access_token"]), float(body.get("expires_in") or _UNSTATED_LIFETIME)
        except (ValueError, KeyError, TypeError, AttributeError):
            code = _error_code(response)
            text = f"The OAuth token endpoint {self._shown} gives client {self._client.client_id!r} no token ({code})."
            raise AccessDenied(f"{text} Check client id, client secret and scope.") from None


def _error_code(response: requests.Response) -> str:
    """Give RFC 6749's error code; never the rest of the body, which may repeat what was sent."""
    try:
        code = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        return f"status {response.status_code}"
    return f"status {response.status_code}, {str(code)[:80]}"
