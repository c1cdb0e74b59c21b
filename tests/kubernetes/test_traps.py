"""The traps of Strimzi's annotations, each sprung on purpose: the client waits for the right sign, or refuses."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from kubernetes.watch import Watch
from urllib3.exceptions import ProtocolError

from airflow_provider_connect_offsets.clock import SYSTEM_CLOCK
from airflow_provider_connect_offsets.connect.protocols import State
from airflow_provider_connect_offsets.exceptions import NotStopped, Rejected, UnknownConnector
from airflow_provider_connect_offsets.offsets.document import Offsets
from sandbox.kubernetes import Release
from tests.support.strimzi.managed import managed
from tests.support.strimzi.reconciler import Reconciler
from tests.support.strimzi.resources import OFFSETS, annotations_of
from tests.support.strimzi.scene import Strimzi, warning_of
from tests.support.strimzi.strimzi_clients import at, opened, plain, reach

pytestmark = [
    pytest.mark.kubernetes,
    pytest.mark.parametrize("release", [Release.V1], indirect=True, scope="session"),
]


@pytest.mark.parametrize("word", ["", "lst", "alter"])
def test_an_annotation_of_someone_else_is_refused_by_name(strimzi: Strimzi, reconciler: Reconciler, word: str) -> None:
    """Traps 1 and 5: also one that the operator would choke on, and nothing is written to the resource."""
    with plain(strimzi) as made, strimzi.without_intervals():
        strimzi.settled()
        reconciler.away()
        try:
            made.ask(word)
            before = made.read()
            with opened(strimzi, made, timeout=5) as client:
                with pytest.raises(
                    Rejected, match=rf"already has annotations that someone else has set \({OFFSETS}: '{word}'\)"
                ):
                    client.read_offsets(made.connector)
                with pytest.raises(Rejected, match="kubectl annotate -n kafka kafkaconnectors"):
                    client.stop(made.connector)
            assert made.read()["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
        finally:
            strimzi.resources.annotate(made.kind, made.name, {OFFSETS: None})
            reconciler.back()


def test_a_connector_that_the_flow_does_not_have_is_named_at_once(strimzi: Strimzi) -> None:
    """Trap 2: the operator would do nothing, for ever."""
    with managed(strimzi, "KafkaMirrorMaker2") as made, opened(strimzi, made) as client:
        began = time.monotonic()
        with pytest.raises(
            UnknownConnector, match=rf"no connector 'eu->us.MirrorSorceConnector'\. Its connectors: '{made.source}"
        ):
            client.read_offsets("eu->us.MirrorSorceConnector")
        assert time.monotonic() - began < 5
        assert OFFSETS not in annotations_of(made.read())


def test_the_removed_annotation_is_success_whatever_the_status_still_says(
    strimzi: Strimzi, reconciler: Reconciler
) -> None:
    """Traps 3 and 5: someone changes the resource under way, so a warning stands when the operation succeeds."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reach(client, made.connector, State.STOPPED)
        touched: list[str] = []

        def touch(_name: str, _operation: object) -> None:
            if not touched:
                touched.append(made.name)
                strimzi.resources.annotate(made.kind, made.name, {"example.com/touched": "yes"})

        with reconciler.before_operation(touch):
            client.write_offsets(made.connector, at(made, 41))
        assert touched
        assert client.read_offsets(made.connector) == at(made, 41)


def test_an_identical_failure_is_noticed_again(strimzi: Strimzi) -> None:
    """Trap 4: it does not change the status, so no time in it tells of the second attempt."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(NotStopped, match="Strimzi can't alter the offsets of connector"):
                client.write_offsets(made.connector, at(made, 41))
            assert time.monotonic() - began < 20
            assert OFFSETS not in annotations_of(made.read())


def test_a_warning_of_an_earlier_failure_is_not_taken_for_one_of_this_operation(
    strimzi: Strimzi, reconciler: Reconciler
) -> None:
    """Trap 4: the old warning stands until the operator has written the status again."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reach(client, made.connector, State.STOPPED)
        reconciler.settings.status_delay = 1.0
        try:
            with pytest.raises(Rejected, match=r"returned 400 .* See the log of the Connect workers"):
                client.write_offsets(made.connector, Offsets())
            assert warning_of(made.read(), "AlterOffsets") is not None
            client.write_offsets(made.connector, at(made, 41))
        finally:
            reconciler.settings.status_delay = 0.0
        assert client.read_offsets(made.connector) == at(made, 41)


def test_nothing_is_written_while_an_operation_stands(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Trap 5: another client of ours waits with its change, so that the operation runs once."""
    with plain(strimzi) as made, opened(strimzi, made) as client, opened(strimzi, made) as other:
        reach(client, made.connector, State.STOPPED)
        runs: list[str] = []
        threads: list[threading.Thread] = []

        def resume_meanwhile(_name: str, operation: object) -> None:
            runs.append(str(operation))
            if not threads:
                threads.append(threading.Thread(target=other.resume, args=(made.connector,)))
                threads[0].start()
                threads[0].join(1.0)  # it would be done by then, if it did not wait
                assert threads[0].is_alive()

        with reconciler.before_operation(resume_meanwhile):
            client.write_offsets(made.connector, at(made, 41))
            threads[0].join(30)
        assert runs == ["alter"]
        assert made.in_state("RUNNING")


def test_a_wait_for_a_state_writes_nothing_while_an_operation_stands(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Trap 5: nor does it make the operator look again."""
    with plain(strimzi) as made, opened(strimzi, made) as client, strimzi.without_intervals():
        strimzi.settled()
        reconciler.away()
        try:
            made.ask("list")
            before = made.read()["metadata"]["resourceVersion"]
            client.await_status(made.connector, lambda one: one.is_stopped, timeout=5, clock=SYSTEM_CLOCK)
            assert made.read()["metadata"]["resourceVersion"] == before
        finally:
            strimzi.resources.annotate(made.kind, made.name, {OFFSETS: None})
            reconciler.back()


def test_the_annotation_comes_only_after_the_spec_was_acted_on(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Trap 9: the operator would skip the offsets in a pass that changes the configuration as well."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        seen: list[dict[str, Any]] = []
        watch = Watch()
        function, *where = strimzi.resources.watch_arguments(made.kind)

        def record() -> None:
            version = made.read()["metadata"]["resourceVersion"]
            ready.set()
            stream = watch.stream(function, *where, resource_version=version, timeout_seconds=30)
            with suppress(ProtocolError):  # by which a watch that is stopped ends
                seen.extend(event["object"] for event in stream)

        ready = threading.Event()
        recording = threading.Thread(target=record)
        recording.start()
        assert ready.wait(10)
        reconciler.settings.status_delay = 0.5
        try:
            made.change({"config": {**made.read()["spec"]["config"], "refresh.topics.interval.seconds": 77}})
            client.read_offsets(made.connector)
        finally:
            reconciler.settings.status_delay = 0.0
            watch.stop()
            recording.join(40)
        first = next(one for one in seen if OFFSETS in annotations_of(one))
        assert first["status"]["observedGeneration"] == first["metadata"]["generation"]


def test_events_that_the_operator_drops_are_waited_out(strimzi: Strimzi, reconciler: Reconciler) -> None:
    """Trap 10: it comes back to the resource at its next periodic pass."""
    with plain(strimzi) as made, opened(strimzi, made) as client:
        reconciler.drop_events(3)
        reach(client, made.connector, State.STOPPED)
        reconciler.drop_events(3)
        client.write_offsets(made.connector, at(made, 41))
        assert client.read_offsets(made.connector) == at(made, 41)
