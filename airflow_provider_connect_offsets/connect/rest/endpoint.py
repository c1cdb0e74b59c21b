"""A Connect cluster's REST API: its workers' addresses, who asks, and how long to wait. A value; nothing is opened."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

from airflow_provider_connect_offsets.exceptions import InvalidInput

log = logging.getLogger(__name__)

# A worker gives up on a change after 90 s; whoever stops listening earlier never learns what became of it.
WORKER_TIMEOUT = 90.0


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
    """OAuth 2 client credentials (RFC 6749, 4.4): a token is fetched at ``token_url`` and renewed before it expires."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None

    def __post_init__(self) -> None:
        """Refuse an address that is none; raises :class:`InvalidInput`."""
        _web_address(self.token_url, what="the OAuth token URL")


Auth: TypeAlias = BasicAuth | BearerToken | OAuthClient


@dataclass(frozen=True, slots=True)
class ConnectEndpoint:
    """Where the workers of one Connect cluster listen, and how to talk to them.

    ``urls``: base URLs of workers, tried in turn. ``ca``, ``client_cert``, ``client_key``: paths of PEM files.
    ``read_timeout``: how long one reading call may take; ``change_timeout``: the same for a changing one, longer than
    the 90 s after which the worker itself gives up.
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

    def __post_init__(self) -> None:
        """Normalise the URLs; raises :class:`InvalidInput` for what can't work."""
        if not self.urls:
            raise InvalidInput("A Connect endpoint needs the URL of at least one worker, like http://connect:8083.")
        object.__setattr__(self, "urls", tuple(_base_url(url) for url in self.urls))
        if self.client_key and not self.client_cert:
            raise InvalidInput("client_key is given without client_cert: name the certificate that belongs to the key.")
        if min(self.connect_timeout, self.read_timeout, self.change_timeout) <= 0:
            raise InvalidInput("Timeouts of a Connect endpoint must be greater than 0 seconds.")
        _check_headers(self.headers)

    def at(self, found: tuple[str, ...], *, configured: tuple[str, ...]) -> ConnectEndpoint:
        """The endpoint of workers whose addresses were ``found`` in Kafka, where more people write than log in here.

        Login, token and headers go to hosts of the ``configured`` URLs alone, and over http to those alone that are
        configured with it. Where any of ``found`` is such a one, only these are asked; else all of them, without
        credentials. Raises :class:`InvalidInput` for a URL that can't be one.
        """
        there, known = replace(self, urls=found), [urlsplit(_base_url(url)) for url in configured]
        if self.auth is None and not self.headers:
            return there
        trusted = tuple(url for url in there.urls if _is_trusted(urlsplit(url), known))
        if trusted:
            return replace(there, urls=trusted)
        log.warning(
            "Login, token and headers are not sent to %s: this was read from Kafka, and no URL that is configured "
            "names that host (with https, or both with http). Configure the workers' own URLs.",
            ", ".join(there.urls),
        )
        return replace(there, auth=None, headers={})


def _is_trusted(found: SplitResult, configured: list[SplitResult]) -> bool:
    schemes = {one.scheme for one in configured if one.hostname == found.hostname}
    return bool(schemes) and (found.scheme == "https" or "http" in schemes)


def _base_url(url: str) -> str:
    parts = _web_address(url, what="the URL of a Connect worker")
    if parts.query or parts.fragment:
        raise InvalidInput(f"{without_secrets(url)} is no worker's base URL: leave out what follows '?' or '#'.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _web_address(url: str, *, what: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or brackets that don't close
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
        if not usable or any(character in name + value for character in "\r\n\0"):
            raise InvalidInput(f"Header {name!r} can't be sent: names and values are texts of a single line.")


def without_secrets(url: str) -> str:
    """Give ``url`` as it may be shown: without login, password, query and fragment."""
    head, slashes, rest = url.partition("://")
    rest = rest if slashes else head
    authority, slash, path = rest.partition("/")
    authority = authority.rpartition("@")[2]
    shown = (authority + slash + path).partition("?")[0].partition("#")[0]
    return f"{head}://{shown}" if slashes else shown
