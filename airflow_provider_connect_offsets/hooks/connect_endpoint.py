"""The endpoint of a Connect cluster's REST API, read from a ``kafka_connect`` connection."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from typing import Any

from airflow.sdk import Connection
from airflow.sdk.log import mask_secret

from airflow_provider_connect_offsets.connect.rest.endpoint import (
    LARGEST_ANSWER,
    WORKER_TIMEOUT,
    Auth,
    BasicAuth,
    BearerToken,
    ConnectEndpoint,
    OAuthClient,
    without_secrets,
)
from airflow_provider_connect_offsets.exceptions import InvalidInput
from airflow_provider_connect_offsets.get_provider_info import get_provider_info
from airflow_provider_connect_offsets.hooks.connections import extra_of, name_errors

log = logging.getLogger(__name__)

CONN_TYPE = "kafka_connect"
DEFAULT_PORT = 8083
#: The fields of the form; any other field of an extra is a mistake.
EXTRA_FIELDS = frozenset(get_provider_info()["connection-types"][0]["conn-fields"])
# The storage of offsets, for control=storage: a connection with one of these needs no host.
STORAGE_FIELDS = frozenset({"offsets_topic", "offsets_file"})
# The resource of Strimzi, for control=strimzi: a connection with one of these needs no host.
STRIMZI_FIELDS = frozenset({"strimzi_cluster", "strimzi_namespace"})
EXAMPLE = "--conn-type kafka_connect --conn-schema http --conn-host connect.example.com --conn-port 8083"


def endpoint_of(connection: Connection, *, observed: tuple[str, ...] = ()) -> ConnectEndpoint:
    """Return the endpoint that ``connection`` describes, and have its secrets masked in logs.

    Args:
        connection: A ``kafka_connect`` connection.
        observed: URLs of workers that were read from Kafka, in place of the connection's host; see
            :meth:`ConnectEndpoint.at`.

    Raises:
        InvalidInput: A field can't be used; the message names the connection and the field.
    """
    extra = extra_of(connection)
    _mask(connection, extra)
    with name_errors(connection):
        if observed:
            configured = _urls(connection) if connection.host else ()
            endpoint = _endpoint(connection, extra, observed).at(observed, configured=configured)
        else:
            endpoint = _endpoint(connection, extra, _urls(connection))
    if unencrypted := endpoint.unencrypted():
        log.warning(
            "Airflow connection %r sends credentials or headers unencrypted to %s. Use https.",
            connection.conn_id,
            ", ".join(map(without_secrets, unencrypted)),
        )
    return endpoint


def _endpoint(connection: Connection, extra: Mapping[str, Any], urls: tuple[str, ...]) -> ConnectEndpoint:
    refuse_unknown_fields(extra)
    read_timeout = _number(extra, "read_timeout", default=30.0)
    return ConnectEndpoint(
        urls=urls,
        auth=_auth(connection, extra),
        ca=text_of(extra, "ca"),
        client_cert=text_of(extra, "client_cert"),
        client_key=text_of(extra, "client_key"),
        headers=_headers(extra),
        connect_timeout=_number(extra, "connect_timeout", default=5.0),
        read_timeout=read_timeout,
        # Longer than the worker's own limit: otherwise the result of a change stays unknown.
        change_timeout=max(read_timeout, WORKER_TIMEOUT + 10),
        largest_answer=int(_number(extra, "answer_limit", default=LARGEST_ANSWER >> 20, of="MiB") * (1 << 20)),
    )


def refuse_unknown_fields(extra: Mapping[str, Any]) -> None:
    """Raise :class:`InvalidInput` for a field that nothing reads, like a misspelt one."""
    unknown = sorted(set(extra) - EXTRA_FIELDS)
    if unknown:
        known = ", ".join(sorted(EXTRA_FIELDS))
        raise InvalidInput(f"Its extra has unknown fields: {', '.join(unknown)}. Known fields: {known}.")


def _urls(connection: Connection) -> tuple[str, ...]:
    """Read the workers' URLs; ``host`` may name several, each with its own scheme, port or path."""
    hosts = [host.strip() for host in (connection.host or "").split(",") if host.strip()]
    if not hosts:
        raise InvalidInput("It has no host. Give a Connect worker, or several separated by commas.")
    return tuple(_url(host, scheme=connection.schema or "http", port=connection.port or DEFAULT_PORT) for host in hosts)


def _url(host: str, *, scheme: str, port: int) -> str:
    own_scheme, separator, rest = host.partition("://")
    scheme, rest = (own_scheme, rest) if separator else (scheme, host)
    authority, slash, path = rest.partition("/")
    has_port = ":" in authority.rpartition("]")[2]  # not the colons of an IPv6 address
    return f"{scheme}://{authority}{'' if has_port else f':{port}'}{slash}{path}"


def _auth(connection: Connection, extra: Mapping[str, Any]) -> Auth | None:
    token, token_url, scope = (text_of(extra, name) for name in ("token", "oauth_token_url", "oauth_scope"))
    login, password = connection.login or "", connection.password or ""
    if token and (token_url or login or password):
        raise InvalidInput("It has a token and another way to log in; keep one of them.")
    if token:
        return BearerToken(token)
    if token_url:
        if not login or not password:
            raise InvalidInput("oauth_token_url needs the client id as login and the client secret as password.")
        return OAuthClient(token_url, client_id=login, client_secret=password, scope=scope)
    if scope:
        raise InvalidInput("It has oauth_scope, but no oauth_token_url.")
    if password and not login:
        raise InvalidInput("It has a password, but no login.")
    return BasicAuth(login, password) if login else None


def _headers(extra: Mapping[str, Any]) -> dict[str, str]:
    """Read ``headers``, an object or its JSON (a connection given as a URI has only strings)."""
    value = extra.get("headers", {})
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, dict):
        raise InvalidInput('headers must be a JSON object with string values, like {"X-Tenant": "orders"}.')
    return value


def text_of(extra: Mapping[str, Any], name: str) -> str | None:
    """Return a string of the extra, None if it is missing; raises :class:`InvalidInput` for another value."""
    value = extra.get(name)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string.")
    return value


def _number(extra: Mapping[str, Any], name: str, *, default: float, of: str = "seconds") -> float:
    value = extra.get(name, default)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidInput(f"{name} must be a number of {of}, not {value!r}.")
    return number


def _mask(connection: Connection, extra: Mapping[str, Any]) -> None:
    """Mask secrets in logs; Airflow itself masks by the names of fields, and a header may have any name."""
    secrets = [connection.password, extra.get("token"), extra.get("headers")]
    try:
        secrets += _headers(extra).values()
    except InvalidInput as error:
        log.debug("No header to mask: %s", error)  # raised again when the headers are used
    for secret in secrets:
        if isinstance(secret, str) and secret:
            mask_secret(secret)
