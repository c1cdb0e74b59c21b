"""When real operators pass over a resource, what a pass does besides, and our client, which copes with it."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from sandbox import Sandbox, wait_for, wait_until
from sandbox.connectors import file_sink_config
from sandbox.kubernetes import Release
from tests.support.strimzi.desired import Operation
from tests.support.strimzi.managed import Managed, managed
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import OFFSETS, annotations_of
from tests.support.strimzi.scene import Strimzi
from tests.support.strimzi.strimzi_clients import change_offsets, opened, plain, reach

pytestmark = pytest.mark.kubernetes

FROM_1_0 = pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session")
ALL = pytest.mark.parametrize("release", list(Release), indirect=True, scope="session")


@FROM_1_0
def test_passes_of_one_cluster_follow_each_other(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Those of another one do not wait for them."""
    with _three(strimzi) as (slow, waiting, flow):
        with _busy(reconciler, slow):
            waiting.ask(Operation.LIST)
            _await_lock(reconciler, waiting)
            flow.ask(Operation.LIST).done()
            assert OFFSETS in annotations_of(waiting.read())

        waiting.done()


@FROM_1_0
def test_a_pass_that_waits_too_long_for_the_lock_is_given_up(
    strimzi: Strimzi, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next periodic one makes up for it."""
    with _three(strimzi) as (slow, waiting, _):
        monkeypatch.setattr(reconciler.settings, "lock_timeout", 0.0)
        with _busy(reconciler, slow):
            waiting.ask(Operation.LIST)
            _await_lock(reconciler, waiting)
        reconciler.settle()
        assert OFFSETS in annotations_of(waiting.read())

        reconciler.sweep()
        assert OFFSETS not in annotations_of(waiting.read())


@FROM_1_0
def test_a_client_waits_for_the_pass_after_one_that_is_given_up(
    strimzi: Strimzi, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its change ends right."""
    caplog.set_level("INFO")
    with plain(strimzi) as made, ThreadPoolExecutor(1) as beside:
        with _three(strimzi) as (slow, _, _):
            monkeypatch.setattr(reconciler.settings, "lock_timeout", 0.0)
            with _busy(reconciler, slow):
                change = beside.submit(change_offsets, made)
                _await_lock(reconciler, made)
            reconciler.settle()
            assert "is given up" in caplog.text
        change.result(60)


@FROM_1_0
def test_each_operation_of_a_mirror_maker_costs_a_whole_pass(
    strimzi: Strimzi, reconciler: Reconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that changes offsets waits for each."""
    with managed(strimzi, "KafkaMirrorMaker2") as flow, strimzi.without_intervals():
        flow.to_state("stopped").offer(json.dumps({"offsets": [flow.offset(7)]}))
        strimzi.settled()
        monkeypatch.setattr(reconciler.settings, "mirror_cost", 0.5)
        for operation in (Operation.ALTER, Operation.LIST, Operation.RESET):
            began = time.monotonic()
            flow.ask(operation).done()
            assert time.monotonic() - began >= 0.5
            reconciler.settle()
        assert strimzi.offsets_in(flow.listed, flow.data_key) == [flow.offset(7)]

        flow.to_state("running")
        change_offsets(flow)


@ALL
def test_the_version_of_a_plugin_is_a_setting_of_the_connector(strimzi: Strimzi, release: Release) -> None:
    """In the config it is deprecated, and ignored later; 0.45 has no field for it."""
    connect, setting = strimzi.connect, "connector.plugin.version"
    assert connect is not None
    with managed(strimzi, "KafkaConnector") as made:
        plugins, spec = connect.call("GET", "/connector-plugins"), made.read()["spec"]
        version = next(one["version"] for one in plugins if one["class"] == spec["class"])

        def configured(lag: str, config: Mapping[str, str | None], **fields: str) -> str | None:
            made.change({"config": {**spec["config"], "offset.lag.max": lag, **config}, **fields})
            late = "the config is not written"
            wait_for(lambda: connect.config(made.connector).get("offset.lag.max"), lag, 60, late)
            return connect.config(made.connector).get(setting)

        assert configured("5", {setting: version}) == (None if release is Release.V1 else version)
        unknown = release is Release.V1BETA2
        assert configured("6", {setting: None}, version=version) == (None if unknown else version)
        made.in_state("RUNNING")
        change_offsets(made)


@FROM_1_0
def test_what_has_failed_is_restarted_as_often_as_its_resource_says(
    strimzi: Strimzi, reconciler: Reconciler, sandbox: Sandbox, tmp_path: Path
) -> None:
    """Its status counts the restarts, until it has recovered; a client changes its offsets all the same."""
    name, topic, file = f"sink-{uuid.uuid4().hex[:8]}", f"events-{uuid.uuid4().hex[:8]}", tmp_path / "later" / "lines"
    sandbox.target.create_topic(topic)
    sandbox.target.produce(topic, ["0", "1", "2"])
    config = file_sink_config(topic, file)
    class_name = config.pop("connector.class")
    spec = {"autoRestart": {"enabled": True, "maxRestarts": 2}}
    strimzi.connector(name, class_name, {key: config[key] for key in ("topics", "file")}, spec=spec)

    def restarts() -> dict[str, Any]:
        restarts: dict[str, Any] = strimzi.read("KafkaConnector", name)["status"].get("autoRestart", {})
        return restarts

    def states() -> list[str]:
        return [task["state"] for task in strimzi.read("KafkaConnector", name)["status"]["connectorStatus"]["tasks"]]

    wait_until(lambda: restarts().get("count") == 2 and states() == ["FAILED"], 60, "it was not restarted twice")
    reconciler.sweep()
    assert (restarts()["count"], restarts()["connectorName"], states()) == (2, name, ["FAILED"])

    file.parent.mkdir()
    third = Entry.of({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 2})
    with opened(strimzi) as client:
        reach(client, name, State.STOPPED)
        client.write_offsets(name, Offsets.of([third]))
        reach(client, name, State.RUNNING)
    wait_until(lambda: file.exists() and file.read_text() == "2\n", 60, "it does not begin at the third record")
    wait_until(lambda: not restarts(), 60, "the restarts are still counted")
    strimzi.delete("KafkaConnector", name)


@FROM_1_0
def test_the_restarts_of_a_mirror_maker_are_counted_by_connector(
    strimzi: Strimzi, reconciler: Reconciler, sandbox: Sandbox
) -> None:
    """Its task fails, as it can't produce anything."""
    name = f"flow-{uuid.uuid4().hex[:8]}"
    sandbox.source.create_topic(name)
    config = {"producer.override.bootstrap.servers": "nowhere.invalid:9092", "replication.factor": 1}
    source = {"tasksMax": 1, "config": config, "autoRestart": {"enabled": True, "maxRestarts": 1}}
    mirror = {"topicsPattern": name, "sourceConnector": source}
    strimzi.mirror_maker(name, mirror, source=name, target="us")

    def restarts() -> list[tuple[str, int, list[str]]]:
        status = strimzi.read("KafkaMirrorMaker2", name)["status"]
        tasks = [task["state"] for one in status.get("connectors", []) for task in one["tasks"]]
        return [(one["connectorName"], one["count"], tasks) for one in status.get("autoRestartStatuses", [])]

    once = [(f"{name}->us.MirrorSourceConnector", 1, ["FAILED"])]
    wait_for(restarts, once, 60, "it was not restarted")
    reconciler.sweep()
    assert restarts() == once
    strimzi.delete("KafkaMirrorMaker2", name)


@contextmanager
def _three(strimzi: Strimzi) -> Iterator[tuple[Managed, Managed, Managed]]:
    """Two connectors of one KafkaConnect and one of a KafkaMirrorMaker2, for which nothing is left to do."""
    with (
        managed(strimzi, "KafkaConnector") as one,
        managed(strimzi, "KafkaConnector") as two,
        managed(strimzi, "KafkaMirrorMaker2") as flow,
    ):
        for each in (one, two, flow):
            each.in_state("RUNNING")
        with strimzi.without_intervals():
            strimzi.settled()
            yield one, two, flow


@contextmanager
def _busy(reconciler: Reconciler, connector: Managed) -> Iterator[None]:
    """While the block lasts, an operation on a connector holds the lock of its cluster."""
    begun, over = threading.Event(), threading.Event()

    def hold(name: str, _operation: Operation) -> None:
        if name == connector.connector:
            begun.set()
            over.wait(60)

    with reconciler.before_operation(hold):
        connector.ask(Operation.LIST)
        try:
            assert begun.wait(30)
            yield
        finally:
            over.set()


def _await_lock(reconciler: Reconciler, connector: Managed) -> None:
    wait_until(lambda: reconciler.is_awaited(connector.kind, connector.read()), 30, "no pass waits for the lock")
