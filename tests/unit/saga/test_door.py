"""The door: who goes forward, who undoes, what an earlier attempt has made already, and who may change anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_connect_offsets.exceptions import Drift, NotApplied, Overlap
from airflow_provider_connect_offsets.fencing import ask
from airflow_provider_connect_offsets.saga import Operation, Stage, operate, settle
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Lease
from airflow_provider_connect_offsets.saga.record import SagaState
from airflow_provider_connect_offsets.saga.stage import JsonMap
from airflow_provider_connect_offsets.workspace import files
from airflow_provider_connect_offsets.workspace.journals.audit import AuditLog
from airflow_provider_connect_offsets.workspace.journals.journal_store import JournalStore
from tests.support.faults.dead_holders import Time
from tests.support.faults.made_up_operations import MINE, OTHER, MadeUpRegistry, die, operation
from tests.support.faults.made_up_stages import (
    ALTER,
    STOP,
    Killed,
    MadeUpStage,
    PlainExplanation,
    World,
)

pytestmark = pytest.mark.usefixtures("dying")


def test_the_same_run_goes_forward(world: World, journal: Journal) -> None:
    """Its operation is made, and not made once more."""
    die(world, journal, "capture resume x")

    ended = operate(operation(world, journal), MINE)

    assert (ended.is_earlier, ended.sentences) == (True, ("a change was settled: done",))
    assert "undo alter x" not in world.calls
    assert world.in_effect["resume x"]


def test_another_run_undoes_without_a_resume_in_between(world: World, journal: Journal) -> None:
    """The connector never runs on what nobody wants: its stop, and its prior state, are the next saga's."""
    die(world, journal, "capture resume x")

    ended = operate(operation(world, journal), OTHER)

    assert ended.left[0].is_undone
    assert world.calls.index("undo alter x") < world.calls.index("capture alter x")
    assert {"undo stop x", "capture stop x"} & set(world.calls) == set()
    assert ended.record is not None
    assert ended.record.stage("stop x").captured == {"was": False}
    dead = journal.record_of("dag/mine", "key")
    assert dead is not None
    assert dead.state is SagaState.UNDONE


def test_what_was_to_be_taken_over_is_restored_if_the_next_run_refuses(world: World, journal: Journal) -> None:
    """Its plan may be outdated: then the connector gets its prior state, as before any change."""
    die(world, journal, "capture resume x")

    def refuse(_left: object) -> Sequence[Stage]:
        raise Drift("outdated")

    with pytest.raises(Drift, match="outdated"):
        operate(operation(world, journal, stages=refuse), OTHER)

    assert world.in_effect == {"stop x": False, "alter x": False}
    assert journal.read_left() is None


def test_who_dies_between_the_undo_and_the_next_saga_hides_nothing(world: World, journal: Journal) -> None:
    """What was not undone is still left."""
    die(world, journal, "capture resume x")

    def end(_left: object) -> Sequence[Stage]:
        world.die()
        raise AssertionError

    with pytest.raises(Killed):
        operate(operation(world, journal, stages=end), OTHER)
    world.dead = False
    files.write_json(journal.file(journal.newest_generation(), "lease"), Lease(OTHER, 1, 0).as_json())

    left = settle(journal, MINE, MadeUpRegistry(world))

    assert left is not None
    assert left.record.owner == MINE
    assert world.in_effect == {"stop x": False, "alter x": False}


def test_a_teardown_settles_what_its_run_has_left_and_nothing_else(world: World, journal: Journal) -> None:
    """If nothing was left, it makes no generation."""
    die(world, journal, "capture resume x")

    assert settle(journal, OTHER, MadeUpRegistry(world), run=OTHER.run) is None
    left = settle(journal, MINE, MadeUpRegistry(world), run=MINE.run)
    assert left is not None
    assert left.record.state is SagaState.UNDONE

    before = journal.newest_generation()
    assert settle(journal, MINE, MadeUpRegistry(world), run=MINE.run) is None
    assert settle(journal, MINE, MadeUpRegistry(world)) is None
    assert journal.newest_generation() == before


def test_a_cleared_run_is_not_made_again(world: World, journal: Journal) -> None:
    """Its result still stands, so nothing is called."""
    operate(operation(world, journal), MINE)
    world.calls = []

    again = operate(operation(world, journal), MINE)

    assert again.is_earlier
    assert world.calls == []


def test_a_cleared_run_names_the_run_that_came_since(world: World, journal: Journal) -> None:
    """What is stored is that one's; nothing is called applied."""
    operate(operation(world, journal), MINE)
    world.in_effect = {}
    operate(operation(world, journal, key="another"), OTHER)

    with pytest.raises(
        Drift, match=r"an earlier attempt of this run has completed .*, and run 'dag/other' has begun a change"
    ):
        operate(operation(world, journal), MINE)


def test_a_cleared_run_finds_that_its_result_was_taken_back(world: World, journal: Journal) -> None:
    """Someone whom no journal knows has done it."""
    operate(operation(world, journal), MINE)
    world.in_effect["alter x"] = False

    with pytest.raises(Drift, match=r"its result no longer stands: alter x was taken back\."):
        operate(operation(world, journal), MINE)


def test_nothing_is_changed_after_the_lease_is_lost(world: World, journal: Journal) -> None:
    """The lease is checked before each request; the error names what may have been done, and nothing is undone."""
    asked: list[str] = []

    def taken_over() -> None:
        ask()
        asked.append("while the lease was held")
        lease = Lease(OTHER, 1, 20)
        files.create_bytes(journal.file(journal.newest_generation() + 1, "lease"), files.to_json(lease.as_json()))
        ask()

    world.faults = {"before alter x": taken_over}

    with pytest.raises(Overlap, match=r"taken over by run 'dag/other'.*It had begun: stop 'x', alter 'x'\. Its last"):
        operate(operation(world, journal), MINE)

    assert asked == ["while the lease was held"]
    assert not [call for call in world.calls if call.startswith("undo")]
    ask()  # outside of operations nothing is asked


def test_all_prior_states_are_requested_before_any_is_awaited(tmp_path: Path) -> None:
    """A connector may need another one to start: a MirrorCheckpoint its MirrorSource."""
    calls: list[str] = []

    class Requested(MadeUpStage):
        def request_undo(self, captured: JsonMap, undoing: Any) -> None:
            del captured, undoing
            calls.append(f"request {self.subject}")

        def undo(self, captured: JsonMap, undoing: Any) -> str:
            calls.append(f"await {self.subject}")
            return super().undo(captured, undoing)

    world = World()
    stops = [Requested(world, "stop", name, STOP[2], STOP[3]) for name in ("x", "y", "z")]
    last = Requested(world, *ALTER)

    def fail() -> None:
        raise NotApplied("no")

    world.faults = {"before alter x": fail}
    journal = Journal(tmp_path.as_uri(), cluster="c", resource="x")
    how = Operation(journal, "a failover", lambda _left: [*stops, last], PlainExplanation(), MadeUpRegistry(world))

    with pytest.raises(NotApplied):
        operate(how, MINE)

    assert calls == ["await x", "request z", "request y", "request x", "await z", "await y", "await x"]


def test_only_the_stops_are_taken_over(world: World, journal: Journal) -> None:
    """A resume that was requested and never showed is not the next saga's: that one can still be undone."""
    die(world, journal, "before resume x")
    world.in_effect["alter x"] = False  # not what the dead run has read back, so that it can't go forward

    def fail() -> None:
        raise NotApplied("no")

    world.faults = {"after alter x": fail}
    with pytest.raises(NotApplied):
        operate(operation(world, journal), MINE)

    assert world.in_effect == {"stop x": False, "alter x": False}


def test_the_end_of_what_was_taken_over_is_recorded_too(world: World, tmp_path: Path, time: Time) -> None:
    """Also if its stops are inherited: then nothing of it was settled by itself."""
    store = JournalStore(tmp_path.as_uri(), audit=(tmp_path / "audit").as_uri())
    journal = Journal(store, cluster="c", resource="a sink", wall=time, age=time.age, clock=time.clock)
    die(world, journal, "capture resume x")
    operate(operation(world, journal), OTHER)

    log = AuditLog.of(store)
    assert log.verify().problems == ()
    assert [(one.event, one.run, one.result) for one in log.records()] == [
        ("begun", MINE.run, "forward"),
        ("ended", MINE.run, "undone"),
        ("begun", OTHER.run, "forward"),
        ("ended", OTHER.run, "done"),
    ]


def test_nothing_is_claimed_if_there_is_nothing_to_do(world: World, journal: Journal) -> None:
    """Unless something was left; another run's lease is respected all the same."""
    nothing = replace(operation(world, journal, stages=lambda _left: ()), is_empty=True)

    assert operate(nothing, MINE).record is None
    assert journal.newest_generation() == 0
    with journal.claim(OTHER), pytest.raises(Overlap, match="dag/other"):
        operate(nothing, MINE)
    die(world, journal, "capture resume x")
    assert operate(nothing, OTHER).left[0].is_undone
    assert world.in_effect == {"stop x": False, "alter x": False}
