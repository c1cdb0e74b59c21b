"""The REST client on a real Connect worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.connect.rest.client import ConnectRest
from airflow_provider_connect_offsets.connect.rest.endpoint import ConnectEndpoint
from airflow_provider_connect_offsets.exceptions import (
    InvalidInput,
    NotStopped,
    Rejected,
    UnknownConnector,
)
from airflow_provider_connect_offsets.offsets.document import Entry, JsonMap, Offsets
from airflow_provider_connect_offsets.offsets.families import ConnectorType
from sandbox import Sandbox, wait_for, wait_until


@pytest.fixture
def connect(sandbox: Sandbox) -> Iterator[ConnectRest]:
    """The store under test, where the first of two workers is down; connectors that a test made go with it."""
    with ConnectRest(ConnectEndpoint(("http://127.0.0.1:1", sandbox.connect.url))) as store:
        before = set(store.connectors())
        yield store
        for name in set(store.connectors()) - before:
            store.delete(name)


@pytest.fixture
def new_name() -> str:
    """A connector name no one has, with everything in it that a path can carry."""
    return f"c {uuid4().hex[:8]} ü->x?#;&+"


def _sink(topic: str) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "file": f"/dev/null/{topic}",  # never opened: the connector stays stopped
        "topics": topic,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }


def _running_sink(topic: str) -> dict[str, str]:
    config = _sink(topic)
    del config["file"]  # to standard output
    return config


def _mirror(sandbox: Sandbox) -> dict[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "primary",
        "target.cluster.alias": "backup",
        "source.cluster.bootstrap.servers": sandbox.source.bootstrap,
        "target.cluster.bootstrap.servers": sandbox.target.bootstrap,
        "topics": "nothing",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
    }


def _at(topic: str, partition: int, offset: Any) -> Entry:
    where: JsonMap = {"kafka_topic": topic, "kafka_partition": partition}
    return Entry.of(where, None if offset is None else {"kafka_offset": offset})


def _stand_still(connect: ConnectRest, name: str) -> None:
    status = {"its status": lambda: connect.status(name)}
    wait_until(lambda: connect.status(name).is_stopped, 60, f"{name} did not stand still", progress=status)


def test_a_new_sink_gets_its_offsets_before_it_runs(connect: ConnectRest, topic: str, new_name: str) -> None:
    """Created as STOPPED, written, read back, changed in one partition only, reset."""
    created = connect.create(new_name, _sink(topic), initial_state=State.STOPPED)
    assert (created.name, created.type, created.group_id) == (new_name, ConnectorType.SINK, f"connect-{new_name}")
    _stand_still(connect, new_name)

    assert connect.read_offsets(new_name) == Offsets()
    reply = connect.write_offsets(new_name, Offsets.of([_at(topic, 0, 4), _at(topic, 1, 0)]))
    assert not reply.externally_managed
    assert (
        connect.read_offsets(new_name).by_partition() == Offsets.of([_at(topic, 0, 4), _at(topic, 1, 0)]).by_partition()
    )

    connect.write_offsets(new_name, Offsets.of([_at(topic, 1, None)]))
    assert connect.read_offsets(new_name).by_partition() == Offsets.of([_at(topic, 0, 4)]).by_partition()

    connect.reset_offsets(new_name)
    assert connect.read_offsets(new_name).by_partition() == {}
    connect.reset_offsets(new_name)


def test_a_connector_is_controlled(connect: ConnectRest, topic: str, new_name: str) -> None:
    """Its status is known at once; it stops, pauses and resumes; offsets change only while it is STOPPED."""
    connect.create(new_name, _running_sink(topic))
    assert connect.status(new_name).state in State
    wait_for(lambda: len(connect.status(new_name).tasks), 1, 60, "no task came up")

    with pytest.raises(NotStopped, match="must be in the STOPPED state"):
        connect.write_offsets(new_name, Offsets.of([_at(topic, 0, 4)]))

    connect.pause(new_name)
    wait_for(lambda: connect.status(new_name).state, State.PAUSED, 60, "it did not pause")
    with pytest.raises(NotStopped):
        connect.reset_offsets(new_name)

    connect.stop(new_name)
    _stand_still(connect, new_name)
    connect.write_offsets(new_name, Offsets.of([_at(topic, 0, 4)]))
    connect.update_config(new_name, {**_running_sink(topic), "tasks.max": "1"})
    assert connect.info(new_name).config["tasks.max"] == "1"
    _stand_still(connect, new_name)  # a new configuration makes it UNASSIGNED for a moment

    connect.resume(new_name)
    wait_for(lambda: connect.status(new_name).state, State.RUNNING, 60, "it did not resume")
    connect.delete(new_name)
    wait_until(lambda: new_name not in connect.connectors(), 60, "it did not go")


def test_mirror_source_offsets(connect: ConnectRest, sandbox: Sandbox, new_name: str) -> None:
    """A source's offsets are written and removed; a wrong one is refused in the connector's own words."""
    connect.create(new_name, _mirror(sandbox), initial_state=State.STOPPED)
    _stand_still(connect, new_name)
    where: JsonMap = {"cluster": "primary", "topic": "orders", "partition": 0}
    entry = Entry.of(where, {"offset": 41})

    reply = connect.write_offsets(new_name, Offsets.of([entry]))
    assert not reply.externally_managed
    assert connect.read_offsets(new_name) == Offsets.of([entry])

    with pytest.raises(Rejected, match="for the 'offset' key, which must be an integer") as caught:
        connect.write_offsets(new_name, Offsets.of([Entry.of(where, {"offset": "41"})]))
    assert repr(new_name) in str(caught.value)
    with pytest.raises(Rejected, match="need to be provided"):
        connect.write_offsets(new_name, Offsets())

    connect.write_offsets(new_name, Offsets.of([Entry.of(where, None)]))
    assert connect.read_offsets(new_name).by_partition() == {}


def test_refusals_of_a_sink(connect: ConnectRest, topic: str, new_name: str) -> None:
    """A topic that isn't there and a second connector of that name are refused, and say why."""
    connect.create(new_name, _sink(topic), initial_state=State.STOPPED)
    _stand_still(connect, new_name)

    with pytest.raises(Rejected, match="topic or partition does not exist"):
        connect.write_offsets(new_name, Offsets.of([_at("no-such-topic", 0, 4)]))
    with pytest.raises(Rejected, match="integer"):
        connect.write_offsets(new_name, Offsets.of([_at(topic, 0, "four")]))
    with pytest.raises(Rejected, match="already exists"):
        connect.create(new_name, _sink(topic))
    with pytest.raises(Rejected, match="Failed to find any class"):
        connect.create(f"{new_name}2", {"connector.class": "org.example.Nothing"})


def test_an_unknown_connector_is_named_at_once(connect: ConnectRest) -> None:
    """No call waits for a connector that isn't there, nor makes one."""
    calls: tuple[Callable[[str], object], ...] = (
        connect.status,
        connect.info,
        connect.read_offsets,
        connect.reset_offsets,
        connect.stop,
        connect.pause,
        connect.resume,
        connect.delete,
        lambda name: connect.update_config(name, {}),
    )
    for call in calls:
        with pytest.raises(UnknownConnector, match="'no such'"):
            call("no such")
    assert "no such" not in connect.connectors()


def test_the_worker_says_who_it_is(connect: ConnectRest) -> None:
    """Version and cluster id are there."""
    version = connect.version()

    assert version.version.partition(".")[0].isdigit()
    assert version.kafka_cluster_id


def test_a_name_with_a_slash_is_refused(connect: ConnectRest) -> None:
    """Jetty would answer with HTML."""
    with pytest.raises(InvalidInput):
        connect.stop("a/b")
