"""While a connector is down, its resource is read once for what follows at once, and listed as often as needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_provider_connect_offsets.clock import Clock
from airflow_provider_connect_offsets.connect.strimzi.resources import CustomResource, ResourceKind
from airflow_provider_connect_offsets.exceptions import Conflict
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets

pytest.importorskip("kubernetes")  # which an extra brings
FIRST, SECOND = '{"partition":0}', '{"partition":1}'


class Server:
    """An API server with one KafkaConnector; time passes by itself alone."""

    def __init__(self) -> None:
        self.time = 0.0
        self.reads = 0
        self.changes: list[CustomResource] = []
        self.is_changed = False

    def clock(self) -> Clock:
        def sleep(seconds: float) -> None:
            self.time += seconds

        return Clock(now=lambda: self.time, sleep=sleep)

    def resource(self, version: int) -> CustomResource:
        metadata = {
            "name": "orders",
            "namespace": "kafka",
            "uid": "u",
            "resourceVersion": str(version),
            "generation": 1,
            "labels": {"strimzi.io/cluster": "connect"},
        }
        body = {"metadata": metadata, "spec": {"class": "C"}, "status": {"observedGeneration": 1}}
        return CustomResource(ResourceKind.CONNECTOR, body)

    def find(self, kind: ResourceKind, name: str) -> CustomResource:
        self.reads += kind is ResourceKind.CONNECTOR
        return self.resource(self.reads) if name == "orders" else CustomResource(kind, {"metadata": {"name": name}})

    def patch(self, resource: CustomResource, _operations: object) -> CustomResource:
        if self.is_changed:
            raise Conflict("changed")
        return resource

    def changes_of(self, _resource: CustomResource, *, seconds: float) -> Iterator[CustomResource]:
        if not self.changes:
            self.time += seconds
        yield from self.changes


def cluster_of(server: Any) -> Any:
    from airflow_provider_connect_offsets.connect.strimzi.clusters import StrimziCluster

    return StrimziCluster(server, "KafkaConnect/connect", clock=server.clock())


def test_a_resource_that_was_seen_is_read_again_after_a_moment_only() -> None:
    server = Server()
    cluster = cluster_of(server)
    for _ in range(3):
        cluster.latest_resource("orders")
    assert server.reads == 1
    server.time += 0.6
    cluster.latest_resource("orders")
    assert server.reads == 2
    cluster.forget("orders")
    cluster.latest_resource("orders")
    assert server.reads == 3


def test_a_wait_begins_with_what_was_seen_and_ends_as_seen() -> None:
    server = Server()
    cluster = cluster_of(server)
    cluster.locate("orders")
    server.changes = [server.resource(7)]
    found = cluster.await_resource("orders", lambda one: one.resource_version == "7", timeout=5, clock=server.clock())
    assert (found.resource_version, cluster.latest_resource("orders").resource_version, server.reads) == ("7", "7", 1)


def test_a_watch_that_has_ended_is_followed_by_a_reading() -> None:
    server = Server()
    cluster = cluster_of(server)
    cluster.locate("orders")
    cluster.await_resource("orders", lambda one: one.resource_version == "2", timeout=50, clock=server.clock())
    assert server.reads == 2


def test_a_patch_that_is_refused_lets_the_resource_be_read_anew() -> None:
    from airflow_provider_connect_offsets.connect.strimzi.operation import OffsetOperations

    server: Any = Server()
    cluster = cluster_of(server)
    operations = OffsetOperations(server, cluster, timeout=1, clock=server.clock())
    server.is_changed = True
    with pytest.raises(Conflict):
        operations.patch("orders", lambda _: [{}])
    assert server.reads > 2


class Operations:
    """Offset operations of a source, whose worker does not know its second partition at the first listing."""

    def __init__(self) -> None:
        self.stored = {FIRST: '{"offset":1}', SECOND: '{"offset":2}'}
        self.known = {FIRST}
        self.lists = 0

    def list(self, _connector: str) -> Offsets:
        self.lists += 1
        entries = [Entry(key, value) for key, value in self.stored.items() if key in self.known]
        self.known = set(self.stored)
        return Offsets.of(entries)

    def alter(self, _connector: str, changes: Offsets) -> None:
        self.stored |= {one.partition: one.offset for one in changes if one.offset is not None}

    def reset(self, _connector: str) -> None:
        self.stored = {}


@pytest.fixture
def listing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client, and its operations."""
    from airflow_provider_connect_offsets.connect.strimzi.client import ConnectStrimzi

    client: Any = ConnectStrimzi.__new__(ConnectStrimzi)
    client._written, client._operations = {}, Operations()
    monkeypatch.setattr(ConnectStrimzi, "_begin_operation", lambda *_: None)
    return client


def test_a_source_is_listed_twice_at_first_and_once_then(listing: Any) -> None:
    assert set(listing.read_offsets("orders").by_partition()) == {FIRST, SECOND}
    assert listing._operations.lists == 2
    listing.read_offsets("orders")
    assert listing._operations.lists == 3


def test_a_partition_that_was_written_and_is_lacking_is_listed_again(listing: Any) -> None:
    listing.read_offsets("orders")
    third = '{"partition":2}'
    listing.write_offsets("orders", Offsets.of([Entry(third, '{"offset":3}')]))
    assert third in listing.read_offsets("orders").by_partition()
    assert listing._operations.lists == 4


def test_after_a_reset_nothing_is_known(listing: Any) -> None:
    listing.read_offsets("orders")
    listing.reset_offsets("orders")
    assert listing.read_offsets("orders").by_partition() == {}
    assert listing._operations.lists == 4


def test_after_an_uncertain_write_nothing_is_known(listing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    listing.read_offsets("orders")

    def lost(*_: object) -> None:
        raise Conflict("lost")

    monkeypatch.setattr(listing._operations, "alter", lost)
    with pytest.raises(Conflict):
        listing.write_offsets("orders", Offsets.of([Entry(FIRST, '{"offset":3}')]))
    listing.read_offsets("orders")
    assert listing._operations.lists == 4
