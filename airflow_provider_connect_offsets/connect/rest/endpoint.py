"""Addresses, credentials and timeouts of a Connect cluster's REST API, as a value."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from airflow_provider_connect_offsets.exceptions import InvalidInput

log = logging.getLogger(__name__)

# A worker ends a change after 90 s; with a shorter timeout its outcome would stay unknown.
WORKER_TIMEOUT = 90.0
#: Bytes of an answer, decompressed, unless a connection says otherwise.
LARGEST_ANSWER = 16 << 20


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """HTTP basic authentication."""

    login: str
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A fixed bearer token."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """OAuth 2 client credentials (RFC 6749, 4.4), with which tokens are fetched at ``token_url``."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None

    def __post_init__(self) -> None:
        """Raise :class:`InvalidInput` for an invalid ``token_url``."""
        _web_address(self.token_url, what="the OAuth token URL")


Auth: TypeAlias = BasicAuth | BearerToken | OAuthClient


@dataclass(frozen=True, slots=True)
class ConnectEndpoint:
    """Addresses of the workers of one Connect cluster, and how to call them.

    Attributes:
        urls: Base URLs of workers, tried in turn.
        auth: Credentials; None for none.
        ca: Path of a PEM file with trusted certificate authorities; None for the environment's or the default.
        client_cert: Path of a PEM file with the client's certificate; None for none.
        client_key: Path of a PEM file with its key; None if ``client_cert`` has it.
        headers: Headers of every call.
        connect_timeout: Seconds to wait for a connection.
        read_timeout: Seconds to wait for the answer to a reading call.
        change_timeout: Seconds to wait for the answer to a changing call; more than the 90 s after which a worker ends
            it. An answer has to be complete within its timeout and ``connect_timeout`` together.
        largest_answer: Bytes that an answer may have, decompressed; a list of offsets 16 times as many.
    """

    urls: tuple[str, ...]
    auth: Auth | None = None
    ca: str | None = None
    client_cert: str | None = None
    client_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    change_timeout: float = WORKER_TIMEOUT + 10
    largest_answer: int = LARGEST_ANSWER

    def __post_init__(self) -> None:
        """Normalise the URLs; raises :class:`InvalidInput` for invalid values."""
        if not self.urls:
            raise InvalidInput("A Connect endpoint needs the URL of at least one worker, like http://connect:8083.")
        object.__setattr__(self, "urls", tuple(_base_url(url) for url in self.urls))
        if self.client_key and not self.client_cert:
            raise InvalidInput("client_key is set, but not client_cert. Set client_cert to the key's certificate.")
        if min(self.connect_timeout, self.read_timeout, self.change_timeout) <= 0:
            raise InvalidInput("Timeouts of a Connect endpoint must be greater than 0 seconds.")
        if self.largest_answer <= 0:
            raise InvalidInput("answer_limit of a Connect endpoint must be greater than 0 MiB.")
        if isinstance(self.auth, BearerToken):
            _check_headers({"Authorization": self.auth.token})
        _check_headers(self.headers)

    def unencrypted(self) -> tuple[str, ...]:
        """Return the other machines' addresses to which credentials or headers are sent over http."""
        sent = self.urls if self.auth is not None or self.headers else ()
        of_tokens = (self.auth.token_url,) if isinstance(self.auth, OAuthClient) else ()
        return tuple(filter(is_unencrypted, (*sent, *of_tokens)))

    def at(self, urls: tuple[str, ...], *, configured: tuple[str, ...]) -> ConnectEndpoint:
        """Return the endpoint for URLs of workers that were read from Kafka, so that anyone may have written them.

        Credentials and headers are sent only to hosts of the configured URLs, and over http only to hosts that are
        configured with it.

        Args:
            urls: URLs read from Kafka. If any of them may get credentials, only those are kept; else all of them,
                without credentials.
            configured: URLs that a person configured.

        Raises:
            InvalidInput: A URL is invalid.
        """
        observed, known = replace(self, urls=urls), [urlsplit(_base_url(url)) for url in configured]
        if self.auth is None and not self.headers:
            return observed
        trusted = tuple(url for url in observed.urls if _is_trusted(urlsplit(url), known))
        if trusted:
            return replace(observed, urls=trusted)
        log.warning(
            "Login, token and headers are not sent to %s. This address was read from Kafka, and no configured URL has "
            "the same host, or only with https instead of http. Configure the workers' own URLs.",
            ", ".join(observed.urls),
        )
        return replace(observed, auth=None, headers={})


def is_unencrypted(url: str) -> bool:
    """Whether a URL is an address of another machine over http; False for what is no URL."""
    try:
        address = urlsplit(url)
    except ValueError:
        return False
    return address.scheme == "http" and not _is_here(address.hostname or "")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost" or host.endswith(".localhost")


def _is_trusted(url: SplitResult, configured: list[SplitResult]) -> bool:
    schemes = {one.scheme for one in configured if one.hostname == url.hostname}
    return bool(schemes) and (url.scheme == "https" or "http" in schemes)


def _base_url(url: str) -> str:
    parts = _web_address(url, what="the URL of a Connect worker")
    if parts.query or parts.fragment:
        raise InvalidInput(
            f"{without_secrets(url)} can't be the base URL of a worker: leave out '?' or '#' and what follows."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _web_address(url: str, *, what: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or unbalanced brackets
        valid = False
    if not valid:
        raise InvalidInput(f"{without_secrets(url)!r} can't be {what}: it must look like http://host:port.")
    if "@" in parts.netloc:
        raise InvalidInput(
            f"Leave login and password out of {what} {without_secrets(url)}: they have fields of their own."
        )
    return parts


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        usable = isinstance(name, str) and isinstance(value, str) and name.strip() == name != ""
        # The value may be a credential, so the message must not show it.
        if not usable or not f"{name}{value}".isprintable() or not f"{name}{value}".isascii():
            raise InvalidInput(
                f"Header {name!r} can't be sent: its name and value must be ASCII text in a single line."
            )


def without_secrets(url: str) -> str:
    """Return ``url`` without login, password, query and fragment, so that it may be shown."""
    head, slashes, rest = url.partition("://")
    rest = rest if slashes else head
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    shown = (authority + slash + path).partition("?")[0].partition("#")[0]
    return f"{head}://{shown}" if slashes else shown
