"""The record on which a failed sink stands is found and skipped, and no other, on real workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import pytest

from airflow_provider_connect_offsets.observe.failed_records import Way
from sandbox import Sandbox
from tests.support.flows.flows import Changer
from tests.support.flows.poisoned import BROKEN, GOOD, JSON, KEYS_ARE_TEXT, Poisoned, lines, rows

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
    sink = start([*rows(0, 5), *rows(5, 2), BROKEN, *rows(7, 3)], {**JSON, **KEYS_ARE_TEXT}, first=5)
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
    sink.wait_until_delivered(lines(0, 10))
    assert sink.settings == sink.config
