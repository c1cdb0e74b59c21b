"""What a wait for Strimzi's operator makes of its conditions, and of watches that end before their time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.connect.strimzi.refusals import is_refused
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind


def _not_ready(reason: str, message: str) -> CustomResource:
    condition = {"type": "NotReady", "status": "True", "reason": reason, "message": message}
    metadata = {"name": "orders", "namespace": "kafka", "generation": 2}
    return CustomResource(
        ResourceKind.CONNECTOR, {"metadata": metadata, "status": {"observedGeneration": 2, "conditions": [condition]}}
    )


@pytest.mark.parametrize(
    ("reason", "message", "refused"),
    [
        ("ConnectRestException", "PUT /connectors/orders/config returned 400 (Bad Request): no topics", True),
        ("ConnectRestException", "PUT /connectors/orders/config returned 403 (Forbidden): ", True),
        ("ConnectRestException", "PUT /connectors/orders/config returned 409 (Conflict): rebalance", False),
        ("ConnectRestException", "PUT /connectors/orders/config returned 500 (Server Error): ", False),
        ("ConnectException", "", False),
        ("TimeoutException", "Exceeded timeout of 300000ms while waiting for KafkaMirrorMaker2 to be ready", False),
        ("IOException", "Connection reset by peer", False),
        ("ConnectTimeoutException", "connection timed out after 4000 ms", False),
    ],
)
def test_only_what_connect_has_refused_is_final(reason: str, message: str, *, refused: bool) -> None:
    """A worker that is away for a moment is waited for, whatever the operator says of it."""
    assert is_refused(_not_ready(reason, message)) is refused


@dataclass
class Server:
    """An API server behind a proxy that ends each watch after a tenth of a second, and time that passes by itself."""

    time: float = 0.0
    reads: int = 0
    nudges: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.time += seconds

    def read(self) -> CustomResource:
        self.reads += 1
        return _not_ready("ConnectException", "")

    def changes_of(self, resource: CustomResource, *, seconds: float) -> Iterator[CustomResource]:
        del resource
        self.time += min(0.1, seconds)
        yield from ()


def test_a_watch_that_ends_early_writes_nothing() -> None:
    """The operator is made to look again when it is time: after 1, 2, 4, 8 and 16 s; and reads keep a pause."""
    watching = pytest.importorskip(
        "airflow_provider_connect_offsets.connect.strimzi.watching"
    )  # an extra brings its client
    server = Server()
    clock = Clock(now=lambda: server.time, sleep=server.sleep)

    watching.await_resource(
        server,
        server.read,
        lambda _: False,
        timeout=40,
        clock=clock,
        nudge=(1.0, lambda _: server.nudges.append(server.time)),
    )

    assert server.nudges == pytest.approx([1, 3, 7, 15, 31], abs=0.2)
    assert server.reads < 90
