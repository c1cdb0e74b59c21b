"""URLs of a worker's REST API, by the worker's settings. Sources: ``RestServer``, ``RestServerConfig``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from airflow_provider_connect_offsets.connect.storage.java.settings import Settings

_LISTENER = re.compile(r"^(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)$")
_ANYWHERE = {"", "0.0.0.0", "::", "0:0:0:0:0:0:0:0"}  # noqa: S104 - replaced, not bound
_HERE = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class _Listener:
    scheme: str
    host: str
    port: int

    @property
    def url(self) -> str:
        host = _HERE if self.host in _ANYWHERE else self.host
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def rest_urls(worker: Settings) -> tuple[str, ...]:
    """Return the URL that the worker advertises, then those it listens on; a wildcard address becomes this machine's.

    Raises:
        InvalidInput: ``listeners`` or a port is invalid.
    """
    listeners = [_parse(worker, listener) for listener in worker.get_list("listeners")] or [_default(worker)]
    every = [_advertised_listener(worker, listeners), *listeners]
    return tuple(dict.fromkeys(listener.url for listener in every if listener.port > 0))


def _default(worker: Settings) -> _Listener:
    """Return the listener if ``listeners`` is not set: by the settings of workers before 3.0, else the default."""
    return _Listener("http", worker.get("rest.host.name") or "", _port(worker, "rest.port") or 8083)


def _advertised_listener(worker: Settings, listeners: list[_Listener]) -> _Listener:
    """Return the advertised listener (``RestServer.advertisedUrl``), based on the first listener of its scheme.

    Without ``rest.advertised.listener`` the scheme is http if any listener has it.
    """
    schemes = [listener.scheme for listener in listeners]
    scheme = (worker.get_nonempty("rest.advertised.listener") or ("http" if "http" in schemes else schemes[0])).lower()
    first = next((listener for listener in listeners if listener.scheme == scheme), listeners[0])
    return replace(
        first,
        scheme=scheme,
        host=worker.get_nonempty("rest.advertised.host.name") or first.host,
        port=_port(worker, "rest.advertised.port") or first.port,
    )


def _parse(worker: Settings, listener: str) -> _Listener:
    match = _LISTENER.match(listener)
    if match is None or match[1].lower() not in {"http", "https"}:
        raise worker.refusal(f"listeners has {listener!r}. Write a listener as http://host:port.")
    return _Listener(match[1].lower(), match[2], int(match[3]))


def _port(worker: Settings, setting: str) -> int | None:
    value = worker.get(setting) or ""
    if value and not value.isdecimal():
        raise worker.refusal(f"{setting} is {value!r}, but must be the number of a port.")
    return int(value) if value else None
