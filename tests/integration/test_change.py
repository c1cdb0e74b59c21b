"""Changes of real connectors: planned on Spark, applied on a real worker, proved by the delivered records."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import Drift, JournalLost, LeftStopped, NotApplied, Overlap
from airflow_provider_connect_offsets.operations.stages import steps
from airflow_provider_connect_offsets.operations.stages.captured import ALTER, RESUME
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.outcome import Result
from tests.support.flows.flows import RECORDS, Changer, MirrorFlow, SinkFlow, world
from tests.support.workers.altered_answers import altering_proxy, read_back_others


def test_first_record_replicated_is_the_requested_one(mirror: MirrorFlow, source_changer: Changer) -> None:
    """Whatever position a MirrorSource is put to, from wherever it stood, that very record is replicated next."""
    for position in (0, 1, RECORDS // 2, mirror.source_end() + 3):  # three more records until it is the log end's turn
        mirror.sandbox.connect.stop(mirror.name)
        elsewhere = {"cluster": "source", "topic": mirror.topic, "partition": 0}
        mirror.sandbox.connect.alter(mirror.name, [{"partition": elsewhere, "offset": {"offset": 29}}])

        first = mirror.first_replicated_after(
            partial(source_changer.change, mirror.name, "offset", str(position), partitions="0")
        )

        assert first == f"0:{position}"


def test_first_record_written_is_the_requested_one(sink: SinkFlow, target_changer: Changer) -> None:
    """Whatever position a sink is put to, from wherever it stood, that very record is written next."""
    for position in (0, 1, RECORDS // 2, sink.end() + 3):
        sink.sandbox.connect.stop(sink.name)
        elsewhere = {"kafka_topic": sink.topic, "kafka_partition": 0}
        sink.sandbox.connect.alter(sink.name, [{"partition": elsewhere, "offset": {"kafka_offset": 30}}])

        first = sink.first_written_after(partial(target_changer.change, sink.name, "offset", str(position)))

        assert first == str(position)


def test_a_running_connector_delivers_as_many_records_again_as_predicted(
    mirror: MirrorFlow, source_changer: Changer
) -> None:
    """What the plan said is what is counted on the target; the connector runs again, and says how long it stood."""
    before = mirror.target_ends()
    run, summary = source_changer.plan(mirror.name, "shift", "-40")

    began = time.monotonic()
    outcome = source_changer.apply(run)
    took = time.monotonic() - began

    mirror.wait_until_caught_up()
    again = sum(mirror.target_ends().values()) - sum(before.values())
    assert again == summary["records_again"] == 80
    assert outcome.result is Result.APPLIED
    assert outcome.final_state == "RUNNING"
    assert outcome.downtime_seconds is not None
    assert 0 < outcome.downtime_seconds < took
    assert [(moved.before_position, moved.stands_position) for moved in outcome.offsets] == [(100, 60), (100, 60)]


def test_what_the_plan_does_not_name_is_unchanged(mirror: MirrorFlow, source_changer: Changer) -> None:
    """A selection of one partition leaves the other one alone."""
    mirror.sandbox.connect.stop(mirror.name)

    source_changer.change(mirror.name, "offset", "7", partitions="1")

    assert mirror.positions() == {0: RECORDS, 1: 7}
    assert mirror.sandbox.connect.status(mirror.name)["connector"]["state"] == "STOPPED"


def test_a_paused_connector_is_paused_again(mirror: MirrorFlow, source_changer: Changer) -> None:
    """It does not run in between: nothing is replicated until someone resumes it."""
    mirror.sandbox.connect.pause(mirror.name)
    before = mirror.target_ends()

    outcome = source_changer.change(mirror.name, "earliest")

    assert outcome.final_state == "PAUSED"
    assert mirror.sandbox.connect.status(mirror.name)["connector"]["state"] == "PAUSED"
    assert mirror.target_ends() == before
    assert mirror.positions() == {}


def test_an_applied_change_is_undone_from_its_own_snapshot(mirror: MirrorFlow, source_changer: Changer) -> None:
    """``to=file`` takes the dataset in which the run that made the change kept where everything stood."""
    mirror.sandbox.connect.stop(mirror.name)
    run, _summary = source_changer.plan(mirror.name, "shift", "-30")
    source_changer.apply(run)
    assert mirror.positions() == {0: 70, 1: 70}

    source_changer.change(mirror.name, "file", run.connector_offsets)

    assert mirror.positions() == {0: RECORDS, 1: RECORDS}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "the file is empty"),
        ('{"offsets": [{"partition"', "the file is not valid JSON, or was cut off"),
        ('{"somebody-else": []}', "somebody-else"),
        ('{"offsets": [{"partition": {"kafka_topic": "t"}, "offset": {"kafka_offset": {"a": 1}}}]}', "kafka_offset"),
    ],
)
def test_a_file_without_offsets_of_the_connector_is_refused(
    sink: SinkFlow, target_changer: Changer, tmp_path: Path, content: str, sentence: str
) -> None:
    """One sentence that names the file's flaw, and everything stays as it is."""
    before = world(sink.sandbox)
    file = tmp_path / "offsets.json"
    file.write_text(content)

    _run, summary = target_changer.plan(sink.name, "file", file.as_uri())

    assert len(summary["errors"]) == 1
    assert sink.name in summary["errors"][0]
    assert sentence in summary["errors"][0]
    before.assert_stands()


def test_nothing_to_change_stops_nothing(mirror: MirrorFlow, source_changer: Changer) -> None:
    """A plan without changes is not applied at all."""
    outcome = source_changer.change(mirror.name, "latest")

    assert outcome.result is Result.UNCHANGED
    assert outcome.downtime_seconds is None


def test_a_moved_sink_skips_from_where_it_stopped(sink: SinkFlow, target_changer: Changer) -> None:
    """A relative request counts from the stopped position, not from that of the plan."""
    target_changer.change(sink.name, "shift", "-50")
    sink.wait_until_caught_up()
    run, _summary = target_changer.plan(sink.name, "shift", "-10")
    sink.sandbox.target.produce(sink.topic, [str(RECORDS + number) for number in range(5)])
    sink.wait_until_caught_up()
    written = len(sink.lines())

    target_changer.apply(run)

    sink.wait_until_caught_up()
    assert sink.lines()[written:] == [str(number) for number in range(RECORDS - 5, RECORDS + 5)]


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "STOPPED"])
def test_a_read_back_that_disagrees_puts_everything_back(
    mirror: MirrorFlow, source_changer: Changer, state: str
) -> None:
    """Prior offsets and prior state are back, and the error says so."""
    if state != "RUNNING":
        {"PAUSED": mirror.sandbox.connect.pause, "STOPPED": mirror.sandbox.connect.stop}[state](mirror.name)
    before = world(mirror.sandbox)
    with altering_proxy(mirror.sandbox.connect.url, read_back_others(times=1)) as url:
        lied_to = replace(source_changer, worker=url)
        run, _summary = lied_to.plan(mirror.name, "offset", "10")

        with pytest.raises(NotApplied, match=f"'{mirror.name}' was not applied.*prior offsets were restored"):
            lied_to.apply(run)

    before.assert_stands()


def test_what_can_not_be_proved_stays_stopped_until_someone_comes(mirror: MirrorFlow, source_changer: Changer) -> None:
    """If neither planned nor prior offsets are read back, the next change restores the prior offsets first."""
    with altering_proxy(mirror.sandbox.connect.url, read_back_others(times=99)) as url:
        lied_to = replace(source_changer, worker=url)
        run, _summary = lied_to.plan(mirror.name, "offset", "10")

        with pytest.raises(LeftStopped, match=r"stays STOPPED.*PATCH /connectors/") as caught:
            lied_to.apply(run, name="test/lied-to")

    assert mirror.sandbox.connect.status(mirror.name)["connector"]["state"] == "STOPPED"
    body = str(caught.value).split("kept in ")[1].split(",")[0]
    kept = json.loads(Path(body.removeprefix("file://")).read_text())
    assert {entry["offset"]["offset"] for entry in kept["offsets"]} == {RECORDS - 1}

    outcome = source_changer.change(mirror.name, "shift", "-1", partitions="0")

    assert any("test/lied-to" in warning and "undone" in warning for warning in outcome.warnings)
    assert outcome.prior_state == outcome.final_state == "RUNNING"
    mirror.wait_until_caught_up()


def test_offsets_that_someone_else_moved_back_are_drift(mirror: MirrorFlow, source_changer: Changer) -> None:
    """Nothing is written, and the connector is left as it was."""
    run, _summary = source_changer.plan(mirror.name, "offset", "50")
    mirror.sandbox.connect.stop(mirror.name)
    partition = {"cluster": "source", "topic": mirror.topic, "partition": 1}
    mirror.sandbox.connect.alter(mirror.name, [{"partition": partition, "offset": {"offset": 19}}])
    before = world(mirror.sandbox)

    with pytest.raises(Drift, match=r'changed by someone else.*"partition":1'):
        source_changer.apply(run)

    before.assert_stands()


def test_a_second_change_fails_at_once_and_names_the_first(mirror: MirrorFlow, source_changer: Changer) -> None:
    """While one run has the connector leased, another one touches nothing."""
    run, _summary = source_changer.plan(mirror.name, "offset", "50")
    before = world(mirror.sandbox)
    first = Owner.here(run="nightly/2026-01-31", task="apply")

    with (
        source_changer.journal(mirror.name).claim(first),
        pytest.raises(Overlap, match="being changed by run 'nightly/2026-01-31'"),
    ):
        source_changer.apply(run, name="manual/1")

    before.assert_stands()


@pytest.mark.parametrize("stage", [ALTER, RESUME])
def test_a_journal_that_can_no_longer_be_written(
    sink: SinkFlow, target_changer: Changer, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """From the stop on, all is undone from memory, and the sentence names the file."""
    before, write_json = world(sink.sandbox), files.write_json
    failed: list[str] = []
    run, _summary = target_changer.plan(sink.name, "earliest")

    def write(uri: str, value: Any) -> None:
        begun = uri.endswith(".record.json") and [one["title"] for one in value["stages"] if one["progress"] == "begun"]
        if begun and (failed or stage in begun):
            failed.append(uri)
            raise OSError(30, "Read-only file system")
        write_json(uri, value)

    with monkeypatch.context() as broken:
        broken.setattr(files, "write_json", write)
        with pytest.raises(
            (JournalLost, NotApplied), match=rf"The journal of '{sink.name}' can't be written: .*Read-only"
        ):
            target_changer.apply(run)

    assert failed
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    before.assert_stands()
    assert target_changer.change(sink.name, "earliest").result is Result.APPLIED


def test_a_journal_that_fails_as_the_undoing_begins(
    sink: SinkFlow, target_changer: Changer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's answers are wrong at first, and the workspace is gone when that is noticed."""
    before, write_json, prove = world(sink.sandbox), files.write_json, steps.prove
    run, _summary = target_changer.plan(sink.name, "earliest")

    def disproved(*_arguments: Any) -> None:
        broken.setattr(steps, "prove", prove)
        broken.setattr(files, "write_json", write)
        raise NotApplied("on purpose.")

    def write(uri: str, value: Any) -> None:
        if uri.endswith(".record.json"):
            raise OSError(30, "Read-only file system")
        write_json(uri, value)

    with monkeypatch.context() as broken:
        broken.setattr(steps, "prove", disproved)
        with pytest.raises(NotApplied, match=r"on purpose\. Its prior offsets were restored and read back"):
            target_changer.apply(run)

    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    before.assert_stands()


def test_an_attempt_that_had_applied_is_never_repeated(mirror: MirrorFlow, source_changer: Changer) -> None:
    """A task that died after the change, before it could say so, finds it done however often it is tried again."""
    run, _summary = source_changer.plan(mirror.name, "shift", "-10")
    source_changer.apply(run, name="test/thrice")
    mirror.wait_until_caught_up()
    ends = mirror.target_ends()

    second = source_changer.apply(run, name="test/thrice")
    source_changer.take_back(run, name="test/thrice")
    third = source_changer.apply(run, name="test/thrice")

    assert second.result is third.result is Result.APPLIED
    assert "earlier attempt" in third.message
    assert (third.prior_state, third.final_state) == ("RUNNING", "RUNNING")
    assert mirror.target_ends() == ends
