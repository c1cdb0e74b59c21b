"""The record on which a sink has failed is found and skipped, and no other, on real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, TypeAlias
from uuid import uuid4

import pytest

from airflow_provider_connect_offsets.exceptions import InvalidRequest, NotSkipped, PlanRefused
from airflow_provider_connect_offsets.observe.failed_records import Way
from sandbox import Sandbox, wait_for
from sandbox.connectors import file_source_config
from tests.support.flows.flows import Changer
from tests.support.flows.poisoned import BROKEN, CAST, GOOD, JSON, KEYS_ARE_TEXT, Poisoned, lines, rows

pytestmark = pytest.mark.jobs
Start: TypeAlias = Callable[..., Poisoned]


@pytest.fixture
def changer(sandbox: Sandbox, workspace: str) -> Changer:
    """Opens clients; nothing is planned on Spark here."""
    spark: Any = None
    return Changer(spark, workspace, sandbox.connect.url, sandbox.target, str(sandbox.target.cluster_id()), timeout=30)


@pytest.fixture
def start(sandbox: Sandbox, changer: Changer) -> Iterator[Start]:
    """Starts sinks that fail, and deletes them at the end."""
    started: list[Poisoned] = []

    def one(values: Sequence[str], settings: Mapping[str, str], **more: Any) -> Poisoned:
        started.append(Poisoned.start(sandbox, changer, values, settings, **more))
        return started[-1]

    yield one
    for sink in started:
        sink.remove()


def test_only_the_record_that_is_no_json_is_skipped(start: Start) -> None:
    """13 records before it are delivered, all after it too, each once; it is kept; its configuration is as before."""
    sink = start([*rows(0, GOOD), BROKEN, *rows(GOOD, 6)], JSON)
    with ExitStack() as stack:
        done = sink.work(stack).skip()

    assert done.places == ((sink.topic, 0, GOOD),)
    sink.wait_until_delivered(lines(0, GOOD + 6))
    assert sink.state == ["RUNNING", "RUNNING"]
    assert sink.settings == sink.config
    [kept] = sink.kept
    assert (kept["offset"], kept["value"], kept["key"]) == (GOOD, BROKEN.encode(), None)
    assert kept["way"] == Way.REPORTED
    assert kept["why"] == "VALUE_CONVERTER: JsonConverter raises DataException"
    assert not [name for name in sink.sandbox.target.topics() if name.startswith("connect-offsets-poison")]


def test_it_is_found_by_reading_where_it_is_the_next_record(start: Start, sandbox: Sandbox) -> None:
    """A dry run changes nothing and names it, though 2 records lie before it; when none does, no run is needed."""
    sink = start([*rows(0, 7), BROKEN, *rows(7, 3)], {**JSON, **KEYS_ARE_TEXT}, position=5)
    before = sink.position, sink.settings
    with ExitStack() as stack:
        tried = sink.work(stack, dry_run=True).find()

    [likely] = tried.records
    assert (likely.place, likely.passed, likely.way) == ((sink.topic, 0, 7), 2, Way.READ)
    assert (sink.position, sink.settings, sink.state) == (*before, ["RUNNING", "FAILED"])
    assert sink.kept == []
    with ExitStack() as stack:
        work = sink.work(stack)
        found = work.find()
        [kept] = sink.kept
        sandbox.connect.stop(sink.name)
        sandbox.connect.call("PUT", f"/connectors/{sink.name}/resume")
        sandbox.connect.wait_state(sink.name, "FAILED", tasks=1)
        again = work.skip(approved=[one.place for one in found.records])

    assert [one.place for one in found.records] == [(sink.topic, 0, 7)] == list(again.places)
    assert kept["value"] == BROKEN.encode()
    sink.wait_until_delivered(lines(5, 5))
    assert sink.settings == sink.config


def test_a_transformation_that_fails_is_reported_by_connect(start: Start) -> None:
    """Reading can't see it; a setting of the run that the sink had of its own is restored, and no other is left."""
    own = {"errors.deadletterqueue.topic.name": "its-own", "errors.deadletterqueue.topic.replication.factor": "1"}
    good = [str(number) for number in range(GOOD)]
    sink = start([*good, "no number", "7"], {**CAST, **own})
    with ExitStack() as stack:
        done = sink.work(stack, keep_content=False).skip()

    assert done.places == ((sink.topic, 0, GOOD),)
    sink.wait_until_delivered([*good, "7"])
    assert sink.settings == sink.config
    [kept] = sink.kept
    assert kept["why"] == "TRANSFORMATION: Cast$Value raises DataException"
    assert (kept["value"], kept["message"], kept["headers"], kept["value_size"]) == (None, None, None, 9)
    assert len(kept["digest"]) == 64


def test_it_gives_up_after_max_skips(start: Start) -> None:
    """The second record is named, kept, and not skipped; approved records alone are skipped; with room both are."""
    sink = start([*rows(0, 3), BROKEN, *rows(3, 3), BROKEN + "!", *rows(6, 3)], JSON)
    with ExitStack() as stack, pytest.raises(NotSkipped) as gave_up:
        sink.work(stack, max_skips=1).skip()

    assert f"max_skips (1) records were skipped. Skipped: topic '{sink.topic}', partition 0, offset 3." in str(
        gave_up.value
    )
    assert f"Now it fails on topic '{sink.topic}', partition 0, offset 7" in str(gave_up.value)
    assert (sink.position, [row["offset"] for row in sink.kept]) == (7, [3, 7])
    assert sink.settings == sink.config
    with ExitStack() as stack, pytest.raises(PlanRefused, match="offset 7, but nobody has approved"):
        replace(sink, run="test/another").work(stack).skip(approved=[(sink.topic, 0, 3)])
    assert sink.position == 7
    with ExitStack() as stack:  # a later attempt of the first task knows what that one has skipped
        done = sink.work(stack, max_skips=2).skip()
    assert [place[2] for place in done.places] == [3, 7]
    sink.wait_until_delivered(lines(0, 9))


def test_another_failure_skips_nothing(start: Start) -> None:
    """If a sink's file can't be created, no record is to blame, and the sink is left alone."""
    sink = start(rows(0, 3), {"file": "/no/such/folder/file.txt"})
    with ExitStack() as stack, pytest.raises(NotSkipped, match="has not failed on converting or transforming a record"):
        sink.work(stack).skip()

    assert (sink.state, sink.settings, sink.kept) == (["RUNNING", "FAILED"], sink.config, [])


def test_a_paused_sink_does_not_run(sandbox: Sandbox, start: Start) -> None:
    """Who paused it does not want records to be delivered; it stays as it is."""
    sink = start(["1", "no number"], CAST)
    sandbox.connect.call("PUT", f"/connectors/{sink.name}/pause")
    wait_for(lambda: sink.state[0], "PAUSED", 30, "it is not paused", progress=sandbox.connect.work)
    with ExitStack() as stack, pytest.raises(InvalidRequest, match="is PAUSED, but it must run to find the record"):
        sink.work(stack).skip()

    assert (sink.state, sink.settings, sink.delivered) == (["PAUSED", "FAILED"], sink.config, [])


def test_a_sink_that_has_not_failed_is_left_alone(sandbox: Sandbox, start: Start) -> None:
    """So is a sink that is stopped; a source connector is refused."""
    source = f"poisoned-{uuid4().hex[:8]}"
    sandbox.connect.create(source, file_source_config(source, sandbox.data / f"{source}.txt"), initial_state="STOPPED")
    sink = start([*rows(0, 2), BROKEN], JSON)
    with ExitStack() as stack:
        sink.work(stack).skip()
        healthy = sink.work(stack).skip()
        sandbox.connect.stop(sink.name)
        stopped = sink.work(stack).find()
        with pytest.raises(InvalidRequest, match=r"is a source connector\. Only a sink fails on a record"):
            replace(sink, name=source).work(stack).find()
    sandbox.connect.delete(source)
    assert healthy.sentence.endswith(f"'{sink.name}' is RUNNING.")
    assert "there is nothing to skip" in stopped.sentence
