"""Records that brokers delete during a change: what is written, undone and reported at each step."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_connect_offsets.exceptions import (
    Drift,
    InvalidRequest,
    LeftStopped,
    NotApplied,
    RecordsDeleted,
)
from airflow_provider_connect_offsets.offsets.document import Entry, Offsets
from airflow_provider_connect_offsets.operations.connector import outcomes, stepwise
from airflow_provider_connect_offsets.operations.connector.plans import read_plan
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.workspace.files import list_names
from airflow_provider_connect_offsets.workspace.layout import rewinds_root
from airflow_provider_connect_offsets.workspace.outcome import Result
from sandbox import Sandbox, wait_until
from sandbox.work import work_of_program
from tests.support.faults.reset_cell import ResetCell
from tests.support.flows.flow_changer import FlowChanger
from tests.support.flows.flows import RECORDS, Changer, MirrorFlow, SinkFlow, world
from tests.support.programs import change_process
from tests.support.workers.gate import Fate, Gate, Point, Side, open_gate

AFTER_THE_WRITE = Point("PATCH", "/offsets", Side.AFTER)
AS_IT_RESUMES = Point("PUT", "/resume", Side.BEFORE)
INSTEAD_OF_THE_WRITE = Point("PATCH", "/offsets", Side.BEFORE)


@contextmanager
def at(point: Point, sandbox: Sandbox, happens: Callable[[], None], *, fate: Fate = Fate.PASSES) -> Iterator[str]:
    """A worker's URL behind which ``happens`` at one request of the change."""

    def fault() -> Fate:
        happens()
        return fate

    gate = Gate(sandbox.connect.url, point, fault)
    with open_gate(gate) as url:
        yield url
    assert gate.reached.is_set(), "the change never came to that point"


def test_deleted_before_the_stop(mirror: MirrorFlow, source_changer: Changer) -> None:
    """That is drift: nothing is written, and the error names partition, position and the new log start offset."""
    run, _summary = source_changer.plan(mirror.name, "offset", "10")
    mirror.sandbox.source.delete_records(mirror.topic, {1: 25})
    before = world(mirror.sandbox)

    with pytest.raises(
        Drift,
        match=rf"Nothing was written: '{mirror.name}', topic '{mirror.topic}', partition 1: .*position 10 "
        r"was deleted.*log starts at 25.*[Pp]lan again",
    ):
        source_changer.apply(run)

    before.assert_stands()


def test_deleted_where_nothing_would_be_stored(mirror: MirrorFlow, source_changer: Changer) -> None:
    """Position 0 of a MirrorSource is the absence of an offset, and a promise all the same."""
    run, _summary = source_changer.plan(mirror.name, "earliest")
    mirror.sandbox.source.delete_records(mirror.topic, {0: 25})
    before = world(mirror.sandbox)

    with pytest.raises(Drift, match=r"partition 0: .*position 0 was deleted"):
        source_changer.apply(run)

    before.assert_stands()


def test_offsets_of_a_topic_that_is_gone_can_be_removed(
    mirror: MirrorFlow, source_changer: Changer, tmp_path: Path
) -> None:
    """Nothing is to be delivered from there; a topic that goes after a position in it was planned is drift."""
    gone = {"cluster": "source", "topic": f"gone-{mirror.topic}", "partition": 0}
    mirror.sandbox.connect.stop(mirror.name)
    mirror.sandbox.connect.alter(mirror.name, [{"partition": gone, "offset": {"offset": 5}}])
    requested = tmp_path / "requested.csv"
    requested.write_text(f"gone-{mirror.topic},0,\n")

    assert source_changer.change(mirror.name, "file", requested.as_uri()).result is Result.APPLIED
    assert mirror.positions() == {0: RECORDS, 1: RECORDS}

    run, _summary = source_changer.plan(mirror.name, "offset", "10")
    mirror.sandbox.source.delete_topic(mirror.topic)
    with pytest.raises(Drift, match=r"Nothing was written: .*partition 0 does not exist any more"):
        source_changer.apply(run)
    assert mirror.positions() == {0: RECORDS, 1: RECORDS}


def test_deleted_after_the_write(mirror: MirrorFlow, source_changer: Changer) -> None:
    """What was written is undone, and the connector runs where it was."""
    before = world(mirror.sandbox)
    run, _summary = source_changer.plan(mirror.name, "offset", "10")
    deletes = lambda: mirror.sandbox.source.delete_records(mirror.topic, {1: 25})  # noqa: E731

    with (
        at(AFTER_THE_WRITE, mirror.sandbox, deletes) as url,
        pytest.raises(NotApplied, match=r"partition 1: .*position 10 was deleted.*prior offsets were restored"),
    ):
        replace(source_changer, worker=url).apply(run)

    before.assert_stands()


def test_deleted_as_it_resumes(sink: SinkFlow, target_changer: Changer) -> None:
    """The offsets are as planned and it runs, but no attempt, and no outcome, calls that applied."""
    run, _summary = target_changer.plan(sink.name, "offset", "10")
    plan, owner = read_plan(run), Owner.here(run="test/run", task="apply")
    said = rf"'{sink.name}', topic '{sink.topic}', partition 0: .*position 10.*log starts at 25.*10 to 24"
    deletes = lambda: sink.sandbox.target.delete_records(sink.topic, {0: 25})  # noqa: E731

    with at(AS_IT_RESUMES, sink.sandbox, deletes) as url, pytest.raises(RecordsDeleted, match=said) as caught:
        replace(target_changer, worker=url).apply(run)

    record = target_changer.journal(sink.name).record_of("test/run", outcomes.key_of(plan))
    outcome = outcomes.of_failed(plan, owner, caught.value, record)
    assert outcome.result is Result.RECORDS_DELETED
    assert (outcome.prior_state, outcome.final_state) == ("RUNNING", "RUNNING")
    assert [moved.stands_position for moved in outcome.offsets] == [10]
    sink.wait_until_caught_up()
    with pytest.raises(RecordsDeleted, match=said):
        target_changer.apply(run)  # the same task once more
    assert target_changer.take_back(run, name="test/run") is None


def test_prior_records_deleted_before_they_are_restored(sink: SinkFlow, target_changer: Changer) -> None:
    """Invariant 3: it stays STOPPED, and the error says what resuming it would skip, and how to."""
    run, _summary = target_changer.plan(sink.name, "offset", "10")

    def deletes() -> None:
        sink.sandbox.target.produce(sink.topic, ["never read"] * 5)
        sink.sandbox.target.delete_records(sink.topic, {0: RECORDS + 5})

    with (
        at(INSTEAD_OF_THE_WRITE, sink.sandbox, deletes, fate=Fate.IS_LOST) as url,
        pytest.raises(
            LeftStopped,
            match=rf"stays STOPPED.*prior offsets.*position {RECORDS} .*log starts at {RECORDS + 5}"
            rf".*PUT /connectors/{sink.name}/resume",
        ),
    ):
        replace(target_changer, worker=url).apply(run)

    assert sink.sandbox.connect.status(sink.name)["connector"]["state"] == "STOPPED"
    sink.sandbox.connect.resume(sink.name)
    sink.sandbox.connect.wait_state(sink.name, "RUNNING", tasks=1)
    outcome = target_changer.change(sink.name, "latest")  # no deadlock: what was resumed by hand is given up
    assert any("someone else resumed" in warning for warning in outcome.warnings)


def test_prior_records_deleted_of_a_stopped_connector(sink: SinkFlow, target_changer: Changer) -> None:
    """Nothing is resumed, so the prior offsets are restored; the error says what is gone."""
    sink.sandbox.connect.stop(sink.name)
    before = world(sink.sandbox)
    run, _summary = target_changer.plan(sink.name, "offset", "10")

    def deletes() -> None:
        sink.sandbox.target.produce(sink.topic, ["never read"] * 5)
        sink.sandbox.target.delete_records(sink.topic, {0: RECORDS + 5})

    with (
        at(INSTEAD_OF_THE_WRITE, sink.sandbox, deletes, fate=Fate.IS_LOST) as url,
        pytest.raises(NotApplied, match=rf"position {RECORDS} .*log starts at {RECORDS + 5}"),
    ):
        replace(target_changer, worker=url).apply(run)

    before.assert_stands()


def test_deleted_between_single_steps(mirror: MirrorFlow, source_changer: Changer) -> None:
    """Each step reads the log starts again: before the write, before the resume, and at the end."""
    run, _summary = source_changer.plan(mirror.name, "offset", "10")
    plan, owner = read_plan(run), Owner.here(run="test/steps", task="step")
    journal, connect = source_changer.journal(mirror.name), mirror.sandbox.connect
    with source_changer.clients() as clients:

        def begin() -> None:
            stepwise.begin(plan, clients, owner, seconds=600)
            connect.stop(mirror.name)

        begin()
        stepwise.alter(plan, clients, owner, seconds=600)
        mirror.sandbox.source.delete_records(mirror.topic, {0: 11})
        with pytest.raises(Drift, match=r"partition 0: .*position 10 was deleted"):
            stepwise.read_back(journal.resource, clients, owner, seconds=600)
        taken_back = stepwise.undo(plan, clients, owner)
        assert taken_back is not None
        assert taken_back.result is Result.RESTORED
        mirror.wait_until_caught_up()

        begin()
        with pytest.raises(Drift, match=r"Nothing was written: .*partition 0: .*position 10 was deleted"):
            stepwise.alter(plan, clients, owner, seconds=600)
        stepwise.undo(plan, clients, owner)
        partition = f'{{"cluster":"source","partition":0,"topic":"{mirror.topic}"}}'
        connect.stop(mirror.name)
        with pytest.raises(InvalidRequest, match=r"Nothing was written: .*position 10 was deleted"):
            source_changer.alter(clients, mirror.name, Offsets.of([Entry(partition, '{"offset":9}')]))
        connect.resume(mirror.name)


def test_deleted_after_the_last_single_step(mirror: MirrorFlow, source_changer: Changer) -> None:
    """The teardown finds the connector running on the plan's offsets, and does not call that applied."""
    run, _summary = source_changer.plan(mirror.name, "offset", "10")
    plan, owner = read_plan(run), Owner.here(run="test/steps", task="step")
    journal = source_changer.journal(mirror.name)
    with source_changer.clients() as clients:
        stepwise.begin(plan, clients, owner, seconds=600)
        mirror.sandbox.connect.stop(mirror.name)
        stepwise.alter(plan, clients, owner, seconds=600)
        stepwise.read_back(journal.resource, clients, owner, seconds=600)
        mirror.sandbox.source.delete_records(mirror.topic, {0: 11})
        mirror.sandbox.connect.resume(mirror.name)
        mirror.sandbox.connect.wait_state(mirror.name, "RUNNING", tasks=1)

        ended = stepwise.undo(plan, clients, owner)

    assert ended is not None
    assert ended.result is Result.RECORDS_DELETED
    assert "partition 0: " in ended.message


def test_deleted_before_a_killed_change_is_finished(mirror: MirrorFlow, source_changer: Changer) -> None:
    """Offsets that a dead attempt proved are not resumed on: the next one restores, and says drift."""
    before = world(mirror.sandbox)
    run, _summary = source_changer.plan(mirror.name, "offset", "10")
    process: list[subprocess.Popen[bytes]] = []

    def kill() -> None:
        process[0].kill()

    with at(AS_IT_RESUMES, mirror.sandbox, kill, fate=Fate.IS_LOST) as url:
        script = [sys.executable, "-m", change_process.__name__, run.uri, url]
        kafka = mirror.sandbox.source.bootstrap
        process.append(subprocess.Popen([*script, kafka, kafka, source_changer.workspace, "15"]))
        late = "the change was not killed"
        work = work_of_program(process[0].pid)
        wait_until(lambda: process[0].poll() is not None, 60, late, progress=work)
        assert process[0].returncode == -signal.SIGKILL
    mirror.sandbox.source.delete_records(mirror.topic, {1: 25})

    with pytest.raises(Drift, match=r"partition 1: .*position 10 was deleted"):
        source_changer.apply(run, name="faults")

    before.assert_stands()


@pytest.mark.mirror
def test_deleted_while_a_flow_is_reset(sandbox: Sandbox, source_changer: Changer, workspace: str) -> None:
    """A reset stops nothing for good either; offsets of records that are gone make no offset mapping."""
    cell = ResetCell.start(sandbox)
    topic = cell.topics[0]
    changer = FlowChanger.on(sandbox, workspace, source_changer.spark)
    try:
        run, _summary = changer.plan(cell.params, "offset", "5")
        sandbox.source.delete_records(topic, {0: 6})
        with pytest.raises(Drift, match=r"Nothing was written: .*partition 0: .*position 5 was deleted"):
            changer.apply(run)
        cell.wait_until_caught_up()
        cell.wait_until_running()

        run, _summary = changer.plan(cell.params, "offset", "10")
        deletes = lambda: sandbox.source.delete_records(topic, {1: 12})  # noqa: E731
        point = Point("PUT", f"/connectors/{cell.source_connector}/resume", Side.BEFORE)
        with (
            at(point, sandbox, deletes) as url,
            pytest.raises(RecordsDeleted, match=r"partition 1: .*position 10.*log starts at 12"),
        ):
            replace(changer, worker=url).apply(run)
        assert not list_names(rewinds_root(workspace, cluster=changer.cluster_id, connector=cell.source_connector))
        cell.wait_until_running()
    finally:
        cell.close()
