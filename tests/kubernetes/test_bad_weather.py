"""Bad weather while a connector is down: a change is made all the same, and the operator is not stormed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from kubernetes.client.rest import RESTClientObject

from airflow_provider_connect_offsets.connect.strimzi.kubernetes_api import KubernetesApi
from sandbox import Connect
from sandbox.kubernetes import Release
from tests.support.faults.faulty_clients import Faults, Outage
from tests.support.strimzi.changes import SHARE, assert_changed, change, new_workspace, ready
from tests.support.strimzi.managed import KINDS
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import plain

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]
Begin = Callable[[pytest.MonkeyPatch], None]
AWAY, SLOW = 1.5, 0.045  # seconds without a worker, and of a call


def worker_away(patch: pytest.MonkeyPatch) -> None:
    """Nobody answers the operator for a while."""
    until, answer = time.monotonic() + AWAY, Connect.call

    def call(self: Connect, *arguments: Any, **named: Any) -> Any:
        if time.monotonic() < until:
            raise requests.ConnectionError
        return answer(self, *arguments, **named)

    patch.setattr(Connect, "call", call)


def watches_closed(patch: pytest.MonkeyPatch) -> None:
    """A proxy ends each watch at once."""

    def closed(*_: object, **__: object) -> Iterator[object]:
        yield from ()

    patch.setattr(KubernetesApi, "changes_of", closed)


def far_away(patch: pytest.MonkeyPatch) -> None:
    """Each call of the API server takes longer, those of the operator as well."""
    send = RESTClientObject.request

    def request(self: RESTClientObject, *arguments: Any, **named: Any) -> Any:
        time.sleep(SLOW)
        return send(self, *arguments, **named)

    patch.setattr(RESTClientObject, "request", request)


WEATHER = (worker_away, watches_closed, far_away)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("begin", WEATHER)
def test_a_change_is_made_in_bad_weather(
    strimzi: Strimzi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: Begin, kind: str
) -> None:
    """It begins at one call after another."""
    with plain(strimzi, kind) as made:
        before, counted, begun = made.read(), Faults(), 0
        ready(made)
        change(made, new_workspace(tmp_path), counted, monkeypatch)
        for at in range(len(counted.calls))[WEATHER.index(begin) :: SHARE]:
            ready(made)
            with monkeypatch.context() as patch:
                faults = Faults(Outage.WORKER_KILLED, at, world=lambda patch=patch: begin(patch))  # type: ignore[misc]
                with faults.naming("change", "nobody"):
                    change(made, new_workspace(tmp_path), faults, monkeypatch)
            begun += faults.happened  # there may be fewer calls than there were
            assert_changed(made, before)
            assert faults.calls.count("annotate") <= counted.calls.count("annotate") + 5
        assert begun
