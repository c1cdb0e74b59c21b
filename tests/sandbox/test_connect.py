"""The worker runs the connectors that tests and the demo need."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sandbox import Progress, RestRefusal, Sandbox, wait_for, wait_until
from sandbox.connect import ConnectAt
from sandbox.connectors import (
    file_sink_config,
    file_source_config,
    mirror_checkpoint_config,
    mirror_heartbeat_config,
    mirror_source_config,
)
from tests.support.workers.scripted_worker import Reply, error, scripted_worker


@contextmanager
def connector(sandbox: Sandbox, name: str, config: dict[str, str], *, state: str = "RUNNING") -> Iterator[str]:
    """A connector for the length of a test."""
    sandbox.connect.create(name, config, initial_state=state)
    yield name
    sandbox.connect.delete(name)


def test_a_flow_replicates_and_translates(sandbox: Sandbox) -> None:
    """MirrorSource copies records with their times, MirrorHeartbeat beats, and all three run with quick settings."""
    sandbox.source.create_topic("orders", partitions=2)
    sandbox.source.produce("orders", ["a", "b"], keys=["k", "l"], partition=1, timestamps=[1_000, 2_000])
    with (
        connector(sandbox, "flow", mirror_source_config(sandbox, "orders")) as flow,
        connector(sandbox, "checkpoints", mirror_checkpoint_config(sandbox)) as checkpoints,
        connector(sandbox, "beats", mirror_heartbeat_config(sandbox)) as beats,
    ):
        for name in (flow, checkpoints, beats):
            sandbox.connect.wait_state(name, "RUNNING")
        work = sandbox.connect.work
        expected = {"source.orders", "heartbeats"}
        wait_until(lambda: sandbox.target.topics() >= expected, 60, "the topic was not replicated", progress=work)
        late = "the records were not replicated"
        wait_for(lambda: len(sandbox.target.consume("source.orders")), 2, 60, late, progress=work)
        copied = sandbox.target.consume("source.orders")
        wait_until(lambda: sandbox.connect.offsets(flow), 60, "no offset was flushed", progress=work)

    assert [(copy.partition, copy.timestamp_ms, copy.key, copy.value) for copy in copied] == [
        (1, 1_000, b"k", b"a"),
        (1, 2_000, b"l", b"b"),
    ]
    assert "heartbeats" in sandbox.target.topics()
    assert "mm2-offset-syncs.target.internal" in sandbox.source.topics()


def test_a_sink_is_stopped_rewound_and_resumed(sandbox: Sandbox) -> None:
    """The whole round that the package under test is about, by plain REST calls."""
    sandbox.target.create_topic("lines")
    sandbox.target.produce("lines", ["one", "two", "three"])
    path = sandbox.data / "lines.txt"
    with connector(sandbox, "sink", file_sink_config("lines", path)) as sink:
        work: Progress = {"written": path.read_text, **sandbox.connect.work}
        late = "nothing was delivered"
        wait_until(lambda: path.exists() and path.read_text() == "one\ntwo\nthree\n", 60, late, progress=work)
        partition = {"kafka_topic": "lines", "kafka_partition": 0}
        committed = [{"partition": partition, "offset": {"kafka_offset": 3}}]
        wait_for(lambda: sandbox.connect.offsets(sink), committed, 60, "no offset was committed")

        sandbox.connect.stop(sink)
        assert sandbox.connect.status(sink)["tasks"] == []
        said = sandbox.connect.alter(sink, [{"partition": partition, "offset": {"kafka_offset": 2}}])
        assert "altered successfully" in said
        sandbox.connect.resume(sink)
        sandbox.connect.wait_state(sink, "RUNNING", tasks=1)

        wait_for(path.read_text, "one\ntwo\nthree\nthree\n", 60, "the record did not come again", progress=work)


def test_a_source_starts_where_its_offset_says(sandbox: Sandbox) -> None:
    """A connector that was created stopped takes an offset before it ever ran."""
    path = sandbox.data / "input.txt"
    path.write_text("skipped\nread\n")
    config = file_source_config("from-file", path)
    with connector(sandbox, "reader", config, state="STOPPED") as reader:
        sandbox.connect.wait_state(reader, "STOPPED")
        sandbox.connect.alter(reader, [{"partition": {"filename": str(path)}, "offset": {"position": 8}}])
        sandbox.connect.resume(reader)
        work = sandbox.connect.work
        wait_until(lambda: "from-file" in sandbox.target.topics(), 60, "the topic was not created", progress=work)
        wait_until(lambda: sandbox.target.consume("from-file"), 60, "nothing was read", progress=work)

    assert [record.value for record in sandbox.target.consume("from-file")] == [b"read"]


def test_a_connector_pauses_and_forgets(sandbox: Sandbox) -> None:
    """Pausing waits for the tasks; a reset clears what is stored; a failed task is found as FAILED."""
    path = sandbox.data / "paused.txt"
    path.write_text("line\n")
    with connector(sandbox, "pausing", file_source_config("paused", path)) as name:
        sandbox.connect.wait_state(name, "RUNNING", tasks=1)
        work = sandbox.connect.work
        wait_until(lambda: sandbox.connect.offsets(name), 60, "no offset was flushed", progress=work)
        sandbox.connect.pause(name)
        sandbox.connect.stop(name)
        assert "reset successfully" in sandbox.connect.reset(name)
        assert sandbox.connect.offsets(name) == []

    broken = file_sink_config(
        "paused", path, overrides={"value.converter": "org.apache.kafka.connect.json.JsonConverter"}
    )
    with connector(sandbox, "broken", broken) as name:
        status = sandbox.connect.wait_state(name, "FAILED")
        assert "DataException" in status["tasks"][0]["trace"]


def test_names_and_configurations(sandbox: Sandbox) -> None:
    """Any name that Connect takes is reached again, and a configuration can be replaced."""
    name = "an umlaut ü -> here"
    config = file_sink_config("nothing", sandbox.data / "none.txt", overrides={"tasks.max": "2"})
    with connector(sandbox, name, config, state="STOPPED"):
        assert name in sandbox.connect.connectors()
        assert sandbox.connect.config(name) == {**config, "name": name}

        sandbox.connect.update_config(name, {**config, "tasks.max": "3"})

        assert sandbox.connect.config(name)["tasks.max"] == "3"
    assert name not in sandbox.connect.connectors()


def test_a_refusal_carries_its_code_and_words(sandbox: Sandbox) -> None:
    """Tests look at what Connect answered, untouched."""
    with pytest.raises(RestRefusal, match="Connector nobody not found") as refusal:
        sandbox.connect.offsets("nobody")

    assert refusal.value.status_code == 404
    assert json.loads(refusal.value.body)["error_code"] == 404


def test_airflow_finds_the_sandbox(sandbox: Sandbox) -> None:
    """The connections are JSON in the environment, as Airflow reads them."""
    found = {name: json.loads(value) for name, value in sandbox.to_connections().items()}

    connect = found["AIRFLOW_CONN_KAFKA_CONNECT_DEFAULT"]
    assert f"{connect['schema']}://{connect['host']}:{connect['port']}" == sandbox.connect.url
    for name, broker in (("DEFAULT", sandbox.target), ("SOURCE", sandbox.source), ("TARGET", sandbox.target)):
        assert found[f"AIRFLOW_CONN_KAFKA_{name}"]["extra"] == {"bootstrap.servers": broker.bootstrap}
    assert found["AIRFLOW_CONN_SPARK_DEFAULT"] == {"conn_type": "spark", "host": "local[2]"}


def test_what_was_done_though_its_answer_timed_out_is_done() -> None:
    """At a second request Connect says that the connector is there already, or not there any more."""
    late, made = error(500, "Request timed out"), error(409, "Connector slow already exists")
    with scripted_worker() as script:
        script.answers("POST /connectors", late, made)
        script.answers("DELETE /connectors/slow", late, error(404, "Connector slow not found"))
        script.answers("GET /connectors", Reply(body=[]))
        worker = ConnectAt(script.url)

        worker.create("slow", {})
        worker.delete("slow")

        with pytest.raises(RestRefusal, match="already exists"):
            worker.create("slow", {})
