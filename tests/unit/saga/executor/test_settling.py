"""Sagas that end before their time, and what settles them."""

from __future__ import annotations

import pytest

from airflow_provider_connect_offsets.exceptions import (
    Interfered,
    NotApplied,
    NotUndone,
    StoreError,
    Unforeseen,
)
from airflow_provider_connect_offsets.saga import Executor, Toward
from airflow_provider_connect_offsets.saga.journal import Journal
from airflow_provider_connect_offsets.saga.lease import Owner
from airflow_provider_connect_offsets.saga.record import SagaState
from airflow_provider_connect_offsets.workspace import files
from tests.support.faults.made_up_stages import (
    OWNER,
    STOP,
    Killed,
    MadeUpStage,
    PlainExplanation,
    World,
    assert_whole,
    attempt,
    executor,
    settle,
)


def test_a_resume_that_shows_late(world: World, journal: Journal) -> None:
    """It was requested and is found not done; as it shows after all, nothing can be undone: it is finished."""
    leave_late(world, journal, NotUndone("x was resumed"))

    assert_whole(world, "plain", settle(world, journal, "plain", Toward.BACK))

    assert world.in_effect["resume x"]
    assert "undo stop x" not in world.calls


def test_a_resume_that_shows_once_something_was_undone(world: World, journal: Journal) -> None:
    """What is stored is unknown then, so it is not called done; it is left to the person who has resumed it."""
    leave_late(world, journal, Interfered("x was resumed"))

    assert settle(world, journal, "plain", Toward.BACK) is SagaState.ABANDONED


def leave_late(world: World, journal: Journal, refusal: Interfered) -> None:
    """Killed after the request to resume, which shows only when the first undo is refused."""

    def shows() -> None:
        world.in_effect["resume x"] = True
        raise refusal

    world.begin_anew("after resume x")
    with pytest.raises(Killed):
        attempt(world, journal, "plain")
    world.faults = {"find resume x": lambda: world.in_effect.update({"resume x": False}), "undo alter x": shows}


def test_a_stage_that_can_not_be_undone_prevents_the_undo_of_those_before_it(world: World, journal: Journal) -> None:
    """A connector whose offsets can't be restored is not resumed; the next process tries again."""

    def fail() -> None:
        raise StoreError("no way")

    world.faults = {"after alter x": fail, "undo alter x": fail}
    with pytest.raises(StoreError, match="no way"):
        attempt(world, journal, "plain")
    assert (world.in_effect["stop x"], world.in_effect["alter x"]) == (True, True)

    assert settle(world, journal, "plain", Toward.BACK) is SagaState.UNDONE
    assert_whole(world, "plain", SagaState.UNDONE)


def test_an_error_that_nobody_foresaw_keeps_no_other_connector_down(world: World, journal: Journal) -> None:
    """It is named, the other connector is as before, and the next process undoes the rest."""

    def fail() -> None:
        raise ZeroDivisionError("of all things")

    world.faults = {"after alter x": fail, "undo alter x": fail}
    with pytest.raises(Unforeseen, match=r"The undo of 'alter x' failed: ZeroDivisionError: of all things\."):
        attempt(world, journal, "two connectors")
    assert (world.in_effect["stop x"], world.in_effect["stop y"]) == (True, False)

    assert settle(world, journal, "two connectors", Toward.BACK) is SagaState.UNDONE
    assert_whole(world, "two connectors", SagaState.UNDONE)


def test_the_offsets_to_resume_on_are_gone_after_the_pivot(world: World, journal: Journal) -> None:
    """It can't go forward, so it is undone as far as possible, by itself and by the next process."""

    def lose() -> None:
        world.in_effect["alter x"] = False

    world.faults["after empty topic"] = lose
    with pytest.raises(NotApplied, match="undone: alter x is not in effect"):
        attempt(world, journal, "with a pivot")
    assert_whole(world, "with a pivot", SagaState.UNDONE)

    world.begin_anew("capture resume x")
    with pytest.raises(Killed):
        attempt(world, journal, "with a pivot")
    lose()
    assert settle(world, journal, "with a pivot", Toward.FORWARD) is SagaState.UNDONE
    assert_whole(world, "with a pivot", SagaState.UNDONE)


def test_what_someone_else_has_taken_over_is_left_to_them(world: World, journal: Journal) -> None:
    """Nothing is left to do."""

    def taken() -> None:
        raise Interfered("someone else resumed it")

    world.faults["before resume x"] = world.die
    with pytest.raises(Killed):
        attempt(world, journal, "plain")
    world.faults["undo alter x"] = taken

    assert settle(world, journal, "plain", Toward.BACK) is SagaState.ABANDONED
    with journal.claim(OWNER) as entry:
        assert entry.record.state is SagaState.CLAIMED


def test_a_saga_is_left_open_and_settled_by_another_run(world: World, journal: Journal) -> None:
    """Between two tasks only the journal keeps it; another run that comes instead of the second task undoes it."""
    with journal.claim(OWNER, keep=60) as entry:
        change = executor(world, entry, "plain")
        entry.begin(OWNER, operation="a failover", key="key", stages=change.stages[:1])
        change.make(change.stages[0])
    assert world.in_effect == {"stop x": True}
    files.remove_tree(entry.file("lease"))
    files.write_bytes(
        entry.file("lease"),
        b'{"owner": {"run": "dag/run", "task": "t", "host": "h", "pid": 0}, "heard_at": 1, "until": 1}',
    )

    stranger = Owner.here(run="dag/other", task="apply")
    with journal.claim(stranger) as found:
        assert [one.title for one in found.record.stages] == ["stop"]
        stages = [MadeUpStage(world, *STOP)]
        settled = Executor(found, stages, PlainExplanation()).settle(Toward.FORWARD)

    assert settled.record.state is SagaState.UNDONE
    assert world.in_effect == {"stop x": False}
